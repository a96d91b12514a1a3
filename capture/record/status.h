/* Reports the state of this process's recording to the launcher (capture/wire_status.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Maps the launcher's page, if it exists and is not mapped yet. `where` is $MEMVIZ_STATUS, and may
 * be NULL. All signals must be blocked, unless there is a seccomp filter, in which case this
 * function makes only system calls that the loader makes too. */
void mv_status_begin(const char *where, bool is_filtered);

/* Called at the first event: `error` is 0 if the recording was begun, else an errno number or
 * MV_STATUS_FILTERED. */
void mv_status_opened(int error);

/* Returns true if the launcher that made the page still exists. Costs one system call. */
bool mv_status_has_launcher(void);

/* Tells whether the launcher has asked for all recordings to end. The check costs one load. */
extern const _Atomic uint32_t *mv_status_stop;

static inline bool mv_status_is_stopped(void)
{
    return atomic_load_explicit(mv_status_stop, memory_order_relaxed);
}
