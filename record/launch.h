/* Starts a program with the shim loaded, and waits until the program ends.
 *
 * The program keeps the launcher's standard input, output and error, process group, terminal,
 * signal mask and dispositions. Only its environment and its parent differ. The launcher runs until
 * the program ends, and forwards signals that were sent only to the launcher (record/forward.h). It
 * listens on a separate socket, through which processes of the same user request a tick. */
#pragma once

#include "base/err.h"
#include "record/control.h"

typedef struct {
    char *const *argv;  /* arguments of the program, ending with NULL */
    const char *shim;   /* absolute path of libmemviz_capture.so */
    const char *live;   /* path prefix of the live files, which are named LIVE.PID[.N].live */
    const char *stacks; /* which stacks are recorded: "none", "python", "native" or "all" */
    bool cpu, wait_free, nvtx_all;
    uint64_t window; /* maximum number of bytes on disk that a recording reserves in advance; 0:
                      * no limit */
    mv_run_status *status;
    mv_control *control; /* answers requests during the run */
    /* Called when the program has started, then each time the number of milliseconds that it
     * returned has passed, and whenever the shim requests a sample (capture/record/sampler.h). The
     * program may be waiting for this sample. */
    uint32_t (*tick)(void *user);
    /* Called when the launcher receives a signal. Returns true if the signal must not be forwarded.
     * NULL: all signals are forwarded. */
    bool (*signal)(void *user, int number);
    void *user;
} mv_launch;

/* Exit statuses for a program that could not be started, as in shells. */
enum { MV_LAUNCH_CANNOT_RUN = 126, MV_LAUNCH_NOT_FOUND = 127, MV_LAUNCH_SIGNAL = 128 };

/* Runs the program until it ends. *status is set to its exit status, or to MV_LAUNCH_SIGNAL + the
 * signal that ended it. If the program could not be started, fails and sets *status as a shell
 * would. */
mv_code mv_launch_run(const mv_launch *launch, int *status, mv_err *err);

/* Returns true if enough files can be open at once for a recording. */
bool mv_launch_has_room(void);

/* Replaces this process with the program, without a recording. Returns only if the program could
 * not be started, and then returns the exit status that a shell would use. */
int mv_launch_plainly(char *const *argv, mv_err *err);

/* Finds the path of the shim. It is $MEMVIZ_SHIM, or in this program's folder, in ../capture of a
 * build, or in the installation (../lib/memviz unless CMAKE_INSTALL_LIBDIR differs). Fails if there
 * is no shim, or if its path cannot be used in LD_PRELOAD. */
mv_code mv_launch_shim(char *path, uint32_t size, mv_err *err);

/* Returns the reason why the shim could not be loaded into a program; NULL if the reason is
 * unknown. */
const char *mv_launch_obstacle(const char *program);
