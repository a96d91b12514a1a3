/* Scales with round numbers. */
#ifndef MV_AXIS_H
#define MV_AXIS_H

#include <stddef.h>
#include <stdint.h>

#define MV_TICK_TEXT 32

/* A round step so that `most` bytes have between 4 and 9 ticks: a power of two. */
uint64_t mv_axis_byte_step(uint64_t most);

/* "0", "512 MiB", "1.5 GiB": exact for multiples of a step from mv_axis_byte_step. */
const char *mv_axis_bytes(uint64_t bytes, char text[MV_TICK_TEXT]);

/* A round step (1, 2 or 5 times a power of ten) so that `count` has at most `ticks` ticks. */
uint64_t mv_axis_count_step(uint64_t count, uint32_t ticks);

/* "950", "12k", "1.5M". */
const char *mv_axis_count(uint64_t count, char text[MV_TICK_TEXT]);

/* "1,977,515". */
const char *mv_axis_exact(uint64_t count, char text[MV_TICK_TEXT]);

/* "850 us", "12.3 ms", "4.215 s", "125.0 s": in the unit that suits `longest`, so that the labels
 * of one axis compare. "?" for a time before the start. */
const char *mv_axis_time(int64_t microseconds, int64_t longest, char text[MV_TICK_TEXT]);

#endif
