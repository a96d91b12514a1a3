/* Axes with round numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"

#define MV_TICK_TEXT MV_COUNT_TEXT

/* Returns a round step, which is a power of two, for an axis from 0 to `most` bytes. The axis has
 * at most MV_BYTE_TICKS ticks, and at least 5 if `most` is 4 or more. */
#define MV_BYTE_TICKS 9
uint64_t mv_axis_byte_step(uint64_t most);

/* Writes the ticks of that axis, starting with 0, and returns their number. A caller that added up
 * steps itself would wrap around near 2^64. */
uint32_t mv_axis_byte_ticks(uint64_t most, uint64_t ticks[MV_BYTE_TICKS]);

/* Writes a label such as "0", "512 MiB" or "1.5 GiB". It is exact for multiples of a step from
 * mv_axis_byte_step. */
const char *mv_axis_bytes(uint64_t bytes, char text[MV_TICK_TEXT]);

/* Returns a round step (1, 2 or 5 times a power of ten) at which `count` has at most `ticks` ticks.
 * If no step is large enough (2^63 and 1 tick), returns the largest such step that fits in 64
 * bits. */
uint64_t mv_axis_count_step(uint64_t count, uint32_t ticks);

/* Writes a number such as "1,977,515". */
static inline const char *mv_axis_exact(uint64_t count, char text[MV_TICK_TEXT])
{
    return mv_count_text(text, count);
}

/* Writes a time such as "850 us", "12.3 ms", "4.215 s" or "125.0 s", in the unit that suits
 * `longest`, so that the labels of an axis can be compared. "?" for a time before the start. */
const char *mv_axis_time(int64_t microseconds, int64_t longest, char text[MV_TICK_TEXT]);
