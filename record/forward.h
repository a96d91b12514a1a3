/* Forwards signals from the launcher to the program.
 *
 * Some callers of `memviz run` send signals only to the launcher, such as a container runtime,
 * torchrun or a script. In contrast, a terminal, a batch system and kill(2) of a process group send
 * signals to all processes of a job, so the program already has the signal and must not receive it
 * twice. A signal does not show how it was sent. Therefore a witness process in the launcher's
 * process group blocks all signals and does nothing. A signal that is pending for the witness was
 * sent to all processes. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

typedef struct {
    pid_t program;  /* process id of the program; set by the caller as soon as the program runs */
    pid_t witness;  /* process id of the witness; -1: there is none, so all signals are forwarded */
    uint64_t known; /* set of signals of earlier witnesses that will still arrive, with a bit for
                     * each signal */
} mv_forward;

/* Returns SIGCHLD and all signals that are forwarded. These do not include SIGKILL, signals that a
 * fault raises, or the signals with which a shell stops and continues a job, because the shell
 * waits for the launcher. */
void mv_forward_signals(sigset_t *out);

/* Starts the witness. Must be called before the program starts, because the program may receive a
 * signal immediately. The signals must be blocked, and remain blocked. */
void mv_forward_begin(mv_forward *f);

/* Forwards the signal if a process sent it only to the launcher. `is_own` tells whether this
 * process is the program or was started by the program, judging by its parent or its group. */
void mv_forward_signal(mv_forward *f, const struct signalfd_siginfo *info, bool is_own);

void mv_forward_end(mv_forward *f);
