/* Durations, formatted for people. */
#ifndef MV_BASE_DURATION_H
#define MV_BASE_DURATION_H

#include <stdint.h>

#define MV_DURATION_TEXT 32

/* "850 us", "12.5 ms", "3.5 h": at most three significant digits, in the largest unit that fits.
 * Returns `text`. */
const char *mv_duration_text(char text[MV_DURATION_TEXT], int64_t us);

#endif
