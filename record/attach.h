/* Records a Python process that is already running: starts PyTorch's own recorder in the process,
 * waits, has PyTorch write its snapshot, and stops the recorder again (docs/attach.md).
 *
 * The script that the process runs is in a new folder below the process's /tmp, which is removed at
 * the end. If the process receives a request only after that, the request has no effect. If the
 * program itself had started a recorder, that recorder is left running. */
#pragma once

#include "record/running_python.h"

typedef struct {
    mv_running_python python;
    int tmp;          /* descriptor of the process's /tmp, which can be used even after the
                       * process has ended */
    char folder[128]; /* path of the new folder as memviz finds it; empty: there is no folder */
    char inside[64];  /* path of the same folder as the process finds it */
    bool is_ours;     /* the recorder was started by memviz, which must therefore stop it */
} mv_attach;

/* Called at least ten times a second while memviz waits for the process. If it returns false, the
 * wait ends. */
typedef bool mv_attach_wait_fn(void *user);

/* Starts the recorder in the process, with room for `entries` events. If this is not possible,
 * fails with one sentence, and leaves the process unchanged. */
mv_code mv_attach_start(mv_attach *attach, pid_t pid, uint32_t entries, mv_attach_wait_fn *wait,
                        void *user, mv_err *err);

/* Returns true if the process still exists. */
bool mv_attach_is_alive(const mv_attach *attach);

/* Has the process write its snapshot and stop the recorder. The snapshot is then copied to `path`,
 * and *events is set to the number of its events. */
mv_code mv_attach_finish(mv_attach *attach, const char *path, mv_attach_wait_fn *wait, void *user,
                         uint64_t *events, mv_err *err);

/* Removes everything that is left in the process's /tmp. Must be called even after a failure. */
void mv_attach_close(mv_attach *attach);
