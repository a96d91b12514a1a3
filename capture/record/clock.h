/* A clock that separates one step of a program from the next when it calls nothing of CUDA: how
 * often it gave the device work, and how often it waited for it. */
#ifndef MV_CLOCK_H
#define MV_CLOCK_H

#include <stdint.h>

typedef struct {
    uint64_t launches; /* of kernels and graphs */
    uint64_t waits;    /* for the device, and copies from it (mv_rec_wait) */
} mv_clock;

mv_clock mv_clock_now(void);

#endif
