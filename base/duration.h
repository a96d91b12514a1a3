/* Measures durations with a clock, writes them for people, and reads them from strings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MV_DURATION_TEXT 32

/* Writes "850 us", "12.5 ms", "3.5 h": at most three significant digits, in the largest unit that
 * fits. Returns `text`. */
const char *mv_duration_text(char text[MV_DURATION_TEXT], int64_t us);

/* Reads "60s", "1.5h", "250ms", which is a number and a unit: us, ms, s, m (or min), h or d.
 * Returns false and leaves *us unchanged if the string is not a duration, or if the duration is
 * longer than 100 years. */
bool mv_duration_read(const char *text, uint64_t *us);

/* Returns the time of a clock that is never set, so only differences are meaningful. */
static inline int64_t mv_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t mv_now_ms(void)
{
    return mv_now_us() / 1000;
}
