/* Blocks signals while the shim holds a lock. Otherwise a signal handler that jumps or forks, or a
 * pthread_cancel, would leave the lock locked forever. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t before; /* the thread's previous mask in the kernel, in which bit N - 1 stands for
                      * signal N */
    bool is_blocked; /* whether signals were blocked; false: nothing was changed */
} mv_signals;

/* Blocks all signals of this thread, including libc's internal ones, which libc's functions leave
 * unblocked. Signals that the kernel raises for a fault are not blocked, because the kernel would
 * then kill the process. Nothing is blocked in a confined process (live/confined.h). Calls can be
 * nested. */
mv_signals mv_signals_block(void);

/* Restores the mask. Signal handlers may run during this call, and may not return. */
void mv_signals_restore(mv_signals signals);
