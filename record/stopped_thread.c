#include "record/stopped_thread.h"

#ifdef __x86_64__

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct user_regs_struct registers;

_Static_assert(sizeof(registers) == MV_THREAD_REGISTERS * sizeof(uint64_t), "all registers");

const unsigned mv_thread_machine = EM_X86_64;

/* Size of the red zone, which lies below the stack pointer of the interrupted function. */
enum { RED_ZONE = 128, MASK_BYTES = 8, WAIT_MS = 2000 };

/* Converts a number, or an address in this process or the other one, to a pointer, as ptrace
 * requires. */
static void *as_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}

static mv_code fail_ptrace(pid_t pid, mv_err *err)
{
    int error = errno;

    if (error == EPERM || error == EACCES)
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "process %d cannot be traced (ptrace: %s): be root, set "
                       "kernel.yama.ptrace_scope to 0, or end the debugger that is attached",
                       (int)pid, strerror(error));
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d cannot be traced: %s", (int)pid,
                   strerror(error));
}

bool mv_thread_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {as_pointer(address), bytes};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool mv_thread_write(mv_stopped_thread *thread, uint64_t address, const void *from, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {as_pointer(address), bytes};

    return process_vm_writev(thread->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* Waits until the thread stops. False if the thread ended, or if `limit_ms` have passed. */
static bool wait_for_stop(pid_t pid, int *status, int limit_ms)
{
    struct timespec pause = {.tv_nsec = 200000};

    for (int i = 0; i < limit_ms * 5; i++) {
        pid_t got = waitpid(pid, status, WNOHANG | __WALL);
        if (got == pid)
            return WIFSTOPPED(*status);
        if (got < 0 && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Waits until our interruption stops the thread. Signals that arrive earlier are delivered. */
static mv_code wait_for_interruption(mv_stopped_thread *thread, mv_err *err)
{
    int status;

    while (wait_for_stop(thread->pid, &status, WAIT_MS)) {
        if (is_event_stop(status) && WSTOPSIG(status) == SIGTRAP)
            return MV_OK;
        if (is_event_stop(status))
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d is stopped (SIGSTOP or Ctrl-Z)",
                           (int)thread->pid);
        if (ptrace(PTRACE_CONT, thread->pid, NULL, as_pointer((uint64_t)WSTOPSIG(status))) != 0)
            break;
    }
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "the main thread of process %d does not stop: it has ended, or waits for a "
                   "device that does not answer",
                   (int)thread->pid);
}

static bool read_registers(mv_stopped_thread *thread)
{
    struct iovec all = {thread->registers, sizeof thread->registers};
    struct iovec state = {thread->state, sizeof thread->state};
    bool ok = ptrace(PTRACE_GETREGSET, thread->pid, as_pointer(NT_PRSTATUS), &all) == 0 &&
              ptrace(PTRACE_GETREGSET, thread->pid, as_pointer(NT_X86_XSTATE), &state) == 0 &&
              ptrace(PTRACE_GETSIGMASK, thread->pid, as_pointer(MASK_BYTES), &thread->mask) == 0;

    thread->state_bytes = state.iov_len;
    return ok && state.iov_len < sizeof thread->state;
}

static bool write_registers(mv_stopped_thread *thread, const registers *wanted)
{
    struct iovec all = {(void *)(uintptr_t)wanted, sizeof *wanted};

    return ptrace(PTRACE_SETREGSET, thread->pid, as_pointer(NT_PRSTATUS), &all) == 0;
}

/* Blocks all signals except those that faults raise. If a faulting thread blocked such a signal,
 * its handler would be lost. */
static bool block_signals(mv_stopped_thread *thread)
{
    static const int faults[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
    uint64_t mask = UINT64_MAX;

    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        mask &= ~(UINT64_C(1) << (faults[i] - 1)) | thread->mask;
    return ptrace(PTRACE_SETSIGMASK, thread->pid, as_pointer(MASK_BYTES), &mask) == 0;
}

mv_code mv_thread_stop(mv_stopped_thread *thread, pid_t pid, mv_err *err)
{
    *thread = (mv_stopped_thread){.pid = pid};
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
        return fail_ptrace(pid, err);
    thread->is_seized = true;
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
        fail_ptrace(pid, err);
    else if (wait_for_interruption(thread, err) == MV_OK && !read_registers(thread))
        fail_ptrace(pid, err);
    if (err->code != MV_OK) {
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        thread->is_seized = false;
    }
    return err->code;
}

static void restore(mv_stopped_thread *thread)
{
    struct iovec state = {thread->state, thread->state_bytes};

    ptrace(PTRACE_SETREGSET, thread->pid, as_pointer(NT_X86_XSTATE), &state);
    write_registers(thread, (const registers *)thread->registers);
    ptrace(PTRACE_SETSIGMASK, thread->pid, as_pointer(MASK_BYTES), &thread->mask);
}

void mv_thread_go_on(mv_stopped_thread *thread)
{
    if (!thread->is_seized)
        return;
    ptrace(PTRACE_DETACH, thread->pid, NULL, NULL);
    thread->is_seized = false;
}

static registers registers_of(const mv_stopped_thread *thread)
{
    registers r;

    memcpy(&r, thread->registers, sizeof r);
    return r;
}

uint64_t mv_thread_address(const mv_stopped_thread *thread)
{
    return registers_of(thread).rip;
}

bool mv_thread_waits(const mv_stopped_thread *thread)
{
    /* Results of a system call, in the kernel, that mean that the call will be restarted. */
    enum { RESTARTSYS = 512, RESTARTNOINTR = 513, RESTARTNOHAND = 514, RESTART_BLOCK = 516 };
    registers r = registers_of(thread);
    long long answer = -(long long)r.rax;

    return (long long)r.orig_rax >= 0 && (answer == RESTARTSYS || answer == RESTARTNOINTR ||
                                          answer == RESTARTNOHAND || answer == RESTART_BLOCK);
}

/* Executes one instruction with these registers, and restores all registers afterwards. */
static bool call_system(mv_stopped_thread *thread, registers *wanted)
{
    struct iovec all = {wanted, sizeof *wanted};
    int status;
    bool ok = block_signals(thread) && write_registers(thread, wanted) &&
              ptrace(PTRACE_SINGLESTEP, thread->pid, NULL, NULL) == 0 &&
              wait_for_stop(thread->pid, &status, WAIT_MS) && WSTOPSIG(status) == SIGTRAP &&
              ptrace(PTRACE_GETREGSET, thread->pid, as_pointer(NT_PRSTATUS), &all) == 0;

    restore(thread);
    return ok;
}

mv_code mv_thread_map(mv_stopped_thread *thread, uint64_t syscall_at, size_t bytes,
                      uint64_t *address, mv_err *err)
{
    registers r = registers_of(thread);

    r.rip = syscall_at, r.orig_rax = UINT64_MAX;
    r.rax = SYS_mmap, r.rdi = 0, r.rsi = bytes, r.rdx = PROT_READ | PROT_WRITE;
    r.r10 = MAP_PRIVATE | MAP_ANONYMOUS, r.r8 = UINT64_MAX, r.r9 = 0;
    if (!call_system(thread, &r) || r.rax > UINT64_MAX - 4096)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d cannot map memory: %s",
                       (int)thread->pid,
                       r.rax > UINT64_MAX - 4096 ? strerror((int)-r.rax) : "it does not answer");
    *address = r.rax;
    return MV_OK;
}

void mv_thread_unmap(mv_stopped_thread *thread, uint64_t syscall_at, uint64_t address)
{
    registers r = registers_of(thread);

    r.rip = syscall_at, r.orig_rax = UINT64_MAX;
    r.rax = SYS_munmap, r.rdi = address, r.rsi = 1;
    call_system(thread, &r);
}

/* Waits until the call has returned to the trap instruction. */
static bool wait_for_return(mv_stopped_thread *thread, uint64_t trap_at, uint64_t *result)
{
    registers now;
    struct iovec all = {&now, sizeof now};
    int status;

    if (!wait_for_stop(thread->pid, &status, WAIT_MS)) {
        /* The call waits for a lock. The thread is stopped again, so that the registers can be
         * restored. */
        if (ptrace(PTRACE_INTERRUPT, thread->pid, NULL, NULL) == 0)
            wait_for_stop(thread->pid, &status, WAIT_MS);
        return false;
    }
    if (WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGSET, thread->pid, as_pointer(NT_PRSTATUS), &all) != 0)
        return false;
    *result = now.rax;
    return now.rip == trap_at + 1;
}

mv_code mv_thread_call(mv_stopped_thread *thread, uint64_t trap_at, uint64_t function,
                       uint64_t first, uint64_t second, uint64_t *result, mv_err *err)
{
    registers r = registers_of(thread);
    bool ok;

    /* As after a call instruction, the stack is aligned to 16 bytes, minus the 8 bytes of the
     * return address. */
    r.rsp = ((r.rsp - RED_ZONE) & ~UINT64_C(15)) - sizeof trap_at;
    r.rip = function, r.rdi = first, r.rsi = second, r.rax = 0, r.orig_rax = UINT64_MAX;
    r.eflags &= ~UINT64_C(0x400); /* the ABI requires the direction flag to be clear */
    ok = mv_thread_write(thread, r.rsp, &trap_at, sizeof trap_at) && block_signals(thread) &&
         write_registers(thread, &r) && ptrace(PTRACE_CONT, thread->pid, NULL, NULL) == 0 &&
         wait_for_return(thread, trap_at, result);
    restore(thread);
    if (!ok)
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "the interpreter of process %d did not take the request: try again",
                       (int)thread->pid);
    return MV_OK;
}

#else

const unsigned mv_thread_machine = 0;

bool mv_thread_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    (void)pid, (void)address, (void)to, (void)bytes;
    return false;
}

bool mv_thread_write(mv_stopped_thread *thread, uint64_t address, const void *from, size_t bytes)
{
    (void)thread, (void)address, (void)from, (void)bytes;
    return false;
}

mv_code mv_thread_stop(mv_stopped_thread *thread, pid_t pid, mv_err *err)
{
    *thread = (mv_stopped_thread){.pid = pid};
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "attach needs an x86-64 processor for this Python");
}

void mv_thread_go_on(mv_stopped_thread *thread)
{
    (void)thread;
}

uint64_t mv_thread_address(const mv_stopped_thread *thread)
{
    (void)thread;
    return 0;
}

bool mv_thread_waits(const mv_stopped_thread *thread)
{
    (void)thread;
    return false;
}

mv_code mv_thread_map(mv_stopped_thread *thread, uint64_t syscall_at, size_t bytes,
                      uint64_t *address, mv_err *err)
{
    (void)thread, (void)syscall_at, (void)bytes, (void)address;
    return err->code;
}

void mv_thread_unmap(mv_stopped_thread *thread, uint64_t syscall_at, uint64_t address)
{
    (void)thread, (void)syscall_at, (void)address;
}

mv_code mv_thread_call(mv_stopped_thread *thread, uint64_t trap_at, uint64_t function,
                       uint64_t first, uint64_t second, uint64_t *result, mv_err *err)
{
    (void)thread, (void)trap_at, (void)function, (void)first, (void)second, (void)result;
    return err->code;
}

#endif
