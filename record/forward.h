/* Signals that reach the launcher and are meant for the program.
 *
 * Who starts `memviz run` knows the launcher's number, and signals that one: a container's runtime,
 * torchrun, a script. A terminal, a batch system and kill(2) of a process group signal all
 * processes of a job: then the program has the signal already, and must not get it twice. A signal
 * does not tell how it was sent. So there is a witness, a process of the launcher's group that
 * blocks all signals and does nothing: what is pending there was sent to all. */
#ifndef MV_FORWARD_H
#define MV_FORWARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

typedef struct {
    pid_t program;  /* to be set when it runs */
    pid_t witness;  /* -1 when there is none: then all is forwarded */
    uint64_t known; /* signals of earlier witnesses that are still to come, a bit each */
} mv_forward;

/* SIGCHLD, and all signals that are forwarded: not SIGKILL, not those of a fault, and not those by
 * which a shell stops and continues a job, since the launcher is what it waits for. */
void mv_forward_signals(sigset_t *out);

/* Starts the witness, before the program, which may be signalled at once. The signals must be
 * blocked; they stay so. */
void mv_forward_begin(mv_forward *f);

/* Sends it on, if a process sent it, to the launcher alone. `is_own`: that process is the program
 * or one that the program has started, which means its parent or its group. */
void mv_forward_signal(mv_forward *f, const struct signalfd_siginfo *info, bool is_own);

void mv_forward_end(mv_forward *f);

#endif
