/* Blocks signals while the shim holds a lock: a handler that jumps away or forks there, or a
 * pthread_cancel, would leave it locked forever. */
#ifndef MV_SIGNALS_H
#define MV_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t before; /* the thread's mask in the kernel: bit N - 1 is signal N */
    bool is_blocked; /* false: nothing was changed */
} mv_signals;

/* Blocks all signals of this thread, including libc's own, which its functions exclude; but not
 * signals that the kernel raises for a fault: it raises them at once, and kills if they are
 * blocked. Nothing is blocked in a confined process (live/confined.h). Calls can be nested. */
mv_signals mv_signals_block(void);

/* Handlers may run here, and may not return. */
void mv_signals_restore(mv_signals signals);

#endif
