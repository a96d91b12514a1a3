/* The main thread of another process, stopped by ptrace, and made to call a function. x86-64 alone:
 * elsewhere stopping fails with a sentence.
 *
 * While it is stopped, its other threads run. mv_thread_go_on restores registers and signal mask,
 * and lets it continue where it was; a system call that was interrupted is restarted. */
#ifndef MV_STOPPED_THREAD_H
#define MV_STOPPED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { MV_THREAD_REGISTERS = 27, MV_THREAD_STATE = 16384 };

typedef struct {
    pid_t pid;
    bool is_seized;
    uint64_t registers[MV_THREAD_REGISTERS]; /* struct user_regs_struct */
    unsigned char state[MV_THREAD_STATE];    /* x87, SSE, AVX: as XSAVE writes it */
    size_t state_bytes;
    uint64_t mask; /* of blocked signals */
} mv_stopped_thread;

/* The e_machine of executables whose threads can be stopped. */
extern const unsigned mv_thread_machine;

/* Reads memory of a process, which need not be stopped. False: not all of it can be read. */
bool mv_thread_memory(pid_t pid, uint64_t address, void *to, size_t bytes);

mv_code mv_thread_stop(mv_stopped_thread *thread, pid_t pid, mv_err *err);
void mv_thread_go_on(mv_stopped_thread *thread);

/* The place where it was stopped, and whether that is in a system call that waits: not one by which
 * memory is allocated. */
uint64_t mv_thread_address(const mv_stopped_thread *thread);
bool mv_thread_waits(const mv_stopped_thread *thread);

bool mv_thread_write(mv_stopped_thread *thread, uint64_t address, const void *from, size_t bytes);

/* Maps new memory in the process, by the system call instruction at `syscall_at`, and unmaps it. */
mv_code mv_thread_map(mv_stopped_thread *thread, uint64_t syscall_at, size_t bytes,
                      uint64_t *address, mv_err *err);
void mv_thread_unmap(mv_stopped_thread *thread, uint64_t syscall_at, uint64_t address);

/* Calls function(first, second), which returns to the trap instruction at `trap_at`. If it does not
 * return within two seconds, since a lock is held, the call is abandoned: a failure. */
mv_code mv_thread_call(mv_stopped_thread *thread, uint64_t trap_at, uint64_t function,
                       uint64_t first, uint64_t second, uint64_t *result, mv_err *err);

#endif
