/* Counts how often the program gave the device work, and how often it waited for the device.
 * Together, these counts are a clock, which separates a program's steps even if they make no CUDA
 * calls about memory. */
#pragma once

#include <stdint.h>

typedef struct {
    uint64_t launches; /* number of launches of kernels and graphs */
    uint64_t waits;    /* number of waits for the device and of copies from it (mv_rec_wait) */
} mv_clock;

mv_clock mv_clock_now(void);
