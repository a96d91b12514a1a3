/* Starts a program under the shim and waits for it.
 *
 * The program keeps the launcher's standard input, output and error, process group, terminal,
 * signal mask and dispositions. Only its environment and its parent differ. The launcher stays
 * until the program ends, and forwards signals sent to it alone (record/forward.h). It listens on a
 * socket of its own, through which processes of its user request a tick. */
#ifndef MV_LAUNCH_H
#define MV_LAUNCH_H

#include "base/err.h"
#include "record/control.h"

typedef struct {
    char *const *argv;  /* ends with NULL */
    const char *shim;   /* absolute path of libmemviz_capture.so */
    const char *live;   /* live files are named LIVE.PID[.N].live */
    const char *stacks; /* "none", "python", "native" or "all" */
    bool cpu, wait_free, nvtx_all;
    uint64_t window; /* most bytes of disk that a recording reserves in advance; 0: no limit */
    mv_run_status *status;
    mv_control *control; /* requests during the run */
    /* Called when the program has started, then after the returned number of milliseconds, and
     * whenever the shim requests a sample (capture/record/sampler.h): the program may wait for
     * it. */
    uint32_t (*tick)(void *user);
    /* Called for a signal to the launcher; true: it is not forwarded. NULL: all are. */
    bool (*signal)(void *user, int number);
    void *user;
} mv_launch;

/* Statuses for a program that could not be started, as in shells. */
enum { MV_LAUNCH_CANNOT_RUN = 126, MV_LAUNCH_NOT_FOUND = 127, MV_LAUNCH_SIGNAL = 128 };

/* Runs the program to its end. Its exit status is in *status, or MV_LAUNCH_SIGNAL + the signal that
 * ended it. Fails, with a shell's status, if it could not be started. */
mv_code mv_launch_run(const mv_launch *launch, int *status, mv_err *err);

/* Whether enough files for a recording can be opened at once. */
bool mv_launch_has_room(void);

/* Becomes the program, without a recording. Returns only if it could not be started, with a shell's
 * status. */
int mv_launch_plainly(char *const *argv, mv_err *err);

/* The path of the shim: $MEMVIZ_SHIM; else in this program's folder, in a build's ../capture, or in
 * the installation (../lib/memviz unless CMAKE_INSTALL_LIBDIR differs). Fails without a shim, or if
 * LD_PRELOAD cannot name its path. */
mv_code mv_launch_shim(char *path, uint32_t size, mv_err *err);

/* Why the shim could not be loaded into a program; NULL if the reason is unknown. */
const char *mv_launch_obstacle(const char *program);

#endif
