/* A clock that separates the steps of a program even if they make no CUDA calls about memory: it
 * counts how often the program gave the device work, and how often it waited for the device. */
#ifndef MV_CLOCK_H
#define MV_CLOCK_H

#include <stdint.h>

typedef struct {
    uint64_t launches; /* number of launches of kernels and graphs */
    uint64_t waits;    /* number of waits for the device and of copies from it (mv_rec_wait) */
} mv_clock;

mv_clock mv_clock_now(void);

#endif
