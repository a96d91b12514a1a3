/* Stops the main thread of another process with ptrace, and makes it call a function. Works only on
 * x86-64; elsewhere, stopping fails with a sentence.
 *
 * While the main thread is stopped, the other threads of the process continue to run.
 * mv_thread_go_on restores registers and signal mask, and lets the thread continue where it was
 * stopped. A system call that was interrupted is restarted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { MV_THREAD_REGISTERS = 27, MV_THREAD_STATE = 16384 };

typedef struct {
    pid_t pid;
    bool is_seized;
    uint64_t registers[MV_THREAD_REGISTERS]; /* struct user_regs_struct */
    unsigned char state[MV_THREAD_STATE];    /* x87, SSE and AVX state in the format of XSAVE */
    size_t state_bytes;
    uint64_t mask; /* set of blocked signals */
} mv_stopped_thread;

/* The architecture (e_machine) of executables whose threads can be stopped. */
extern const unsigned mv_thread_machine;

/* Reads memory of a process, which need not be stopped. False if not all of it can be read. */
bool mv_thread_memory(pid_t pid, uint64_t address, void *to, size_t bytes);

mv_code mv_thread_stop(mv_stopped_thread *thread, pid_t pid, mv_err *err);
void mv_thread_go_on(mv_stopped_thread *thread);

/* mv_thread_address returns the address at which the thread was stopped. mv_thread_waits returns
 * whether the thread is in a system call that waits, other than one that allocates memory. */
uint64_t mv_thread_address(const mv_stopped_thread *thread);
bool mv_thread_waits(const mv_stopped_thread *thread);

bool mv_thread_write(mv_stopped_thread *thread, uint64_t address, const void *from, size_t bytes);

/* Maps new memory in the process, using the system call instruction at `syscall_at`.
 * mv_thread_unmap unmaps it. */
mv_code mv_thread_map(mv_stopped_thread *thread, uint64_t syscall_at, size_t bytes,
                      uint64_t *address, mv_err *err);
void mv_thread_unmap(mv_stopped_thread *thread, uint64_t syscall_at, uint64_t address);

/* Calls function(first, second), which returns to the trap instruction at `trap_at`. If it does not
 * return within two seconds because it waits for a lock, the call is abandoned and has failed. */
mv_code mv_thread_call(mv_stopped_thread *thread, uint64_t trap_at, uint64_t function,
                       uint64_t first, uint64_t second, uint64_t *result, mv_err *err);
