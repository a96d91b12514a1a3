/* A clock that separates steps of a program even if it makes no CUDA calls about memory: the number
 * of times that it gave the device work, and that it waited for the device. */
#ifndef MV_CLOCK_H
#define MV_CLOCK_H

#include <stdint.h>

typedef struct {
    uint64_t launches; /* launches of kernels and graphs */
    uint64_t waits;    /* waits for the device, and copies from it (mv_rec_wait) */
} mv_clock;

mv_clock mv_clock_now(void);

#endif
