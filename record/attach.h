/* Records a Python process that is running already: starts PyTorch's own recorder in it, waits,
 * lets PyTorch write its snapshot, and stops the recorder again (docs/attach.md).
 *
 * The script that the process runs is in a new folder below the process's /tmp, which is removed
 * at the end. A request that the process takes up only after that does nothing. A recorder
 * that the program itself had started stays on. */
#ifndef MV_ATTACH_H
#define MV_ATTACH_H

#include "record/running_python.h"

typedef struct {
    mv_running_python python;
    int tmp;          /* /tmp of the process, open: it can be reached after the process has ended */
    char folder[128]; /* as memviz sees it; empty: none */
    char inside[64];  /* as the process sees it */
    bool is_ours;     /* the recorder: it was started here, and has to be stopped */
} mv_attach;

/* Called while something is awaited, at least ten times a second. False ends the wait. */
typedef bool mv_attach_wait_fn(void *user);

/* Starts the recorder in the process, with room for `entries` events. Fails with one sentence when
 * that cannot be done; then nothing was changed. */
mv_code mv_attach_start(mv_attach *attach, pid_t pid, uint32_t entries, mv_attach_wait_fn *wait,
                        void *user, mv_err *err);

/* Whether the process is still there. */
bool mv_attach_is_alive(const mv_attach *attach);

/* Has the process write its snapshot and stop the recorder. Then the snapshot is copied to `path`,
 * and *events is how many events it contains. */
mv_code mv_attach_finish(mv_attach *attach, const char *path, mv_attach_wait_fn *wait, void *user,
                         uint64_t *events, mv_err *err);

/* Removes what was left. In any case, also after failures. */
void mv_attach_close(mv_attach *attach);

#endif
