/* Sizes for people: binary units. */
#ifndef MV_BASE_SIZE_H
#define MV_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define MV_SIZE_TEXT  32
#define MV_SIZE_UNITS 7

/* "B", "KiB", ..., "EiB": 1024 of one are one of the next. For what has rules of its own, such as
 * the ticks of an axis. */
extern const char *const mv_size_units[MV_SIZE_UNITS];

/* "512 B", "2.00 KiB", "1.19 GiB": three significant digits. Returns `text`. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes);

/* The same with a sign: "-3.00 MiB". */
const char *mv_size_signed_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* A difference: "+312 MiB", "-1.00 KiB", "0 B". */
const char *mv_size_change_text(char text[MV_SIZE_TEXT], int64_t bytes);

/* "27 %", "0.4 %" of a whole; 0 % of none. */
const char *mv_percent_text(char text[MV_SIZE_TEXT], uint64_t part, uint64_t whole);

/* "4096", "512M", "1.5GiB", "2 kb": units are binary, of either case. False when it is no size. */
bool mv_size_parse(const char *text, uint64_t *bytes);

#endif
