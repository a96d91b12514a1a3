/* Mutators that understand a format, so that a changed file is usually still a file of that format.
 * There is one for each form of the fuzz targets' inputs. libFuzzer calls them through
 * custom_mutator.c.
 *
 *     size = mvt_mutate(&mvt_format_pickle, data, size, room, seed);
 *
 * changes the `size` bytes at `data`, where there is room for `room` bytes, and returns the new
 * size, at most `room`. If the bytes are not in the format, or no change fits, the bytes stay
 * unchanged and the result is 0. The same bytes, room and seed always give the same result. */
#pragma once

#include "base/cursor.h"

typedef struct mvt_format mvt_format;

size_t mvt_mutate(const mvt_format *format, uint8_t *data, size_t size, size_t room, uint64_t seed);

/* Inserts parts of `b` into a copy of `a`, with the same rules. */
size_t mvt_cross(const mvt_format *format, mv_span a, mv_span b, uint8_t *out, size_t room,
                 uint64_t seed);

extern const mvt_format mvt_format_pickle, mvt_format_msgpack, mvt_format_container;

/* Live files without most of their zeros, as fuzz_live.c reads them. */
extern const mvt_format mvt_format_live;

/* A format chosen at random, without looking at the first bytes. Bytes after the end of a pickle or
 * a msgpack value stay where they are, or are changed as bytes, because targets keep parameters
 * there. */
extern const mvt_format mvt_format_any;
