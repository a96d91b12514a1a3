/* Forwards signals from the launcher to the program.
 *
 * Some callers of `memviz run` signal the launcher only: a container's runtime, torchrun, a script.
 * A terminal, a batch system and kill(2) of a process group signal all processes of a job: then the
 * program has the signal already, and must not get it twice. A signal does not show how it was
 * sent. So there is a witness, a process of the launcher's group that blocks all signals and does
 * nothing: signals pending there were sent to all. */
#ifndef MV_FORWARD_H
#define MV_FORWARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

typedef struct {
    pid_t program;  /* to be set when it runs */
    pid_t witness;  /* -1 without one: then all signals are forwarded */
    uint64_t known; /* signals of earlier witnesses still to come, a bit each */
} mv_forward;

/* SIGCHLD, and all forwarded signals: not SIGKILL, not those raised by a fault, and not those by
 * which a shell stops and continues a job, since the shell waits for the launcher. */
void mv_forward_signals(sigset_t *out);

/* Starts the witness, before the program, which may be signalled at once. The signals must be
 * blocked; they stay blocked. */
void mv_forward_begin(mv_forward *f);

/* Forwards the signal if a process sent it to the launcher only. `is_own`: that process is the
 * program or a process started by it, judging by its parent or its group. */
void mv_forward_signal(mv_forward *f, const struct signalfd_siginfo *info, bool is_own);

void mv_forward_end(mv_forward *f);

#endif
