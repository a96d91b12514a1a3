/* The calls that can fail: functions of libc, by name, and system calls, through seccomp. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/programs/failing.h"

fault_plan fault;

bool fault_is_due(void)
{
    if (!fault.is_armed)
        return false;
    long call = atomic_fetch_add(&fault.counts->calls, 1) + 1;
    if (fault.n == 0 || call < fault.n || (call > fault.n && !fault.and_after))
        return false;
    atomic_fetch_add(&fault.counts->hits, 1);
    return true;
}

/* ---- functions ----------------------------------------------------------------------------- */

static bool no_memory(void)
{
    if (fault.kind != FAULT_MEMORY || !fault_is_due())
        return false;
    errno = fault.error;
    return true;
}

/* Finds the next function with that name, which is libc's or a sanitizer's. */
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next)                     \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

void *malloc(size_t bytes)
{
    NEXT(malloc);
    return no_memory() ? NULL : next(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    NEXT(calloc);
    return no_memory() ? NULL : next(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    NEXT(realloc);
    return no_memory() ? NULL : next(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    NEXT(aligned_alloc);
    return no_memory() ? NULL : next(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    NEXT(posix_memalign);
    return no_memory() ? ENOMEM : next(out, align, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return no_memory() ? MAP_FAILED : next(at, bytes, protection, flags, fd, offset);
}

void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    NEXT(mremap);
    return no_memory() ? MAP_FAILED : next(old, old_bytes, bytes, flags);
}

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *user)
{
    NEXT(pthread_create);
    return fault.kind == FAULT_THREAD && fault_is_due() ? fault.error : next(out, how, run, user);
}

/* ---- system calls -------------------------------------------------------------------------- */

typedef struct {
    const char *group;
    int number;
} system_call;

static const system_call calls[] = {
    {"read", SYS_read},         {"read", SYS_pread64},    {"read", SYS_readv},
    {"read", SYS_preadv},       {"read", SYS_recvfrom},   {"read", SYS_recvmsg},
    {"read", SYS_getdents64},   {"write", SYS_write},     {"write", SYS_pwrite64},
    {"write", SYS_writev},      {"write", SYS_pwritev},   {"write", SYS_sendto},
    {"write", SYS_sendmsg},     {"write", SYS_sendfile},  {"open", SYS_openat},
    {"open", SYS_socket},       {"open", SYS_accept4},    {"open", SYS_pipe2},
    {"open", SYS_memfd_create}, {"stat", SYS_newfstatat}, {"stat", SYS_statx},
    {"stat", SYS_faccessat},    {"stat", SYS_readlinkat}, {"close", SYS_close},
    {"file", SYS_fsync},        {"file", SYS_fdatasync},  {"file", SYS_renameat},
    {"file", SYS_renameat2},    {"file", SYS_linkat},     {"file", SYS_ftruncate},
    {"file", SYS_fallocate},    {"file", SYS_mkdirat},    {"file", SYS_fchmod},
    {"file", SYS_symlinkat},
#ifdef __x86_64__
    {"open", SYS_open},         {"stat", SYS_stat},       {"stat", SYS_access},
    {"stat", SYS_readlink},     {"file", SYS_rename},     {"file", SYS_link},
    {"file", SYS_mkdir},        {"file", SYS_symlink},
#endif
};

enum { CALLS = sizeof calls / sizeof *calls };

#ifndef __x86_64__

bool fault_meet_calls(void)
{
    return false;
}

#else

/* The filter allows calls from this page. The page has the same address in each process, because
 * programs that are started keep the filter. */
#define GATE UINT64_C(0x200000000000)
#define PAGE 4096

typedef long (*gate_fn)(long number, long a, long b, long c, long d, long e, long f);

static const uint8_t gate_code[] = {
    0x48, 0x89, 0xf8,             /* mov %rdi, %rax */
    0x48, 0x89, 0xf7,             /* mov %rsi, %rdi */
    0x48, 0x89, 0xd6,             /* mov %rdx, %rsi */
    0x48, 0x89, 0xca,             /* mov %rcx, %rdx */
    0x4d, 0x89, 0xc2,             /* mov %r8, %r10 */
    0x4d, 0x89, 0xc8,             /* mov %r9, %r8 */
    0x4c, 0x8b, 0x4c, 0x24, 0x08, /* mov 8(%rsp), %r9 */
    0x0f, 0x05,                   /* syscall */
    0xc3,                         /* ret */
};

/* Calls that may transfer less than requested. recv and send are not among them: edge-triggered code
 * relies on recv returning all the data that has arrived, and on send taking as much as fits. */
static bool is_transfer(long number)
{
    return number == SYS_read || number == SYS_pread64 || number == SYS_write ||
           number == SYS_pwrite64;
}

static bool takes_descriptor(long number)
{
    return is_transfer(number) || number == SYS_recvfrom || number == SYS_sendto ||
           number == SYS_writev || number == SYS_pwritev || number == SYS_readv ||
           number == SYS_preadv || number == SYS_close;
}

/* Returns whether the call may fail. Standard error never fails, and files have no EPIPE. */
static bool may_fail(long number, long fd)
{
    if (fault.error == EPIPE)
        return fd == STDOUT_FILENO || number == SYS_sendto || number == SYS_sendmsg;
    return !takes_descriptor(number) || fd != STDERR_FILENO;
}

/* Handles an intercepted call: makes it fail, makes it do less, or makes it as it is. */
static void answer(int number_of_signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    gate_fn gate = (gate_fn)GATE; /* NOLINT(performance-no-int-to-ptr) */
    long number = info->si_syscall, length = r[REG_RDX];
    int kept = errno, error = fault.error;

    (void)number_of_signal;
    if (!may_fail(number, r[REG_RDI]) || !fault_is_due()) {
        error = 0;
    } else if (error == FAULT_SHORT) {
        if (is_transfer(number) && length > 7)
            length = 1 + atomic_load(&fault.counts->calls) % 7;
        error = 0;
    } else if (error == FAULT_SIGTERM) {
        raise(SIGTERM);
        error = 0;
    } else if (takes_descriptor(number) && r[REG_RDI] == STDOUT_FILENO) {
        atomic_store(&fault.counts->of_output, 1);
    }
    if (error == EPIPE)
        raise(SIGPIPE);
    if (error && number == SYS_close)
        gate(number, r[REG_RDI], 0, 0, 0, 0, 0);
    r[REG_RAX] =
        error ? -error
              : gate(number, r[REG_RDI], r[REG_RSI], length, r[REG_R10], r[REG_R8], r[REG_R9]);
    errno = kept;
}

static bool open_gate(void)
{
    void *at = (void *)GATE; /* NOLINT(performance-no-int-to-ptr) */

    at = (void *)syscall(SYS_mmap, at, PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    memcpy(at, gate_code, sizeof gate_code);
    return mprotect(at, PAGE, PROT_READ | PROT_EXEC) == 0;
}

typedef struct {
    struct sock_filter code[64 + 2 * CALLS];
    unsigned length;
} system_filter;

static void load(system_filter *f, unsigned offset)
{
    f->code[f->length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

/* Skips this many instructions if the comparison holds. */
static void compare(system_filter *f, unsigned how, uint64_t with, unsigned yes, unsigned no)
{
    f->code[f->length++] = (struct sock_filter){(uint16_t)(BPF_JMP | how | BPF_K), (uint8_t)yes,
                                                (uint8_t)no, (uint32_t)with};
}

static void finish(system_filter *f, unsigned how)
{
    f->code[f->length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how);
}

/* Allows calls from `start` to `end`, both of which have the same upper 32 bits. */
static void let_pass(system_filter *f, uint64_t start, uint64_t end)
{
    const unsigned at = offsetof(struct seccomp_data, instruction_pointer);

    load(f, at + 4);
    compare(f, BPF_JEQ, start >> 32, 0, 4);
    load(f, at);
    compare(f, BPF_JGE, start, 0, 2);
    compare(f, BPF_JGT, end - 1, 1, 0);
    finish(f, SECCOMP_RET_ALLOW);
}

/* A sanitizer's code does not expect faults. It is in a separate library (gcc), or in the program
 * (clang), which makes no system call itself and has no name here. */
static int let_sanitizer_pass(struct dl_phdr_info *file, size_t size, void *user)
{
    uint64_t start = UINT64_MAX, end = 0, border;

    (void)size;
    if (*file->dlpi_name && !strstr(file->dlpi_name, "san.so."))
        return 0;
    for (unsigned i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uint64_t at = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        start = at < start ? at : start;
        end = at + part->p_memsz > end ? at + part->p_memsz : end;
    }
    border = end >> 32 << 32;
    if (start < border)
        let_pass(user, start, border);
    if (start < end && border < end)
        let_pass(user, start < border ? border : start, end);
    return 0;
}

static bool set_filter(void)
{
    static system_filter f;
    struct sock_fprog filter = {.filter = f.code};

    let_pass(&f, GATE, GATE + PAGE);
    dl_iterate_phdr(let_sanitizer_pass, &f);
    load(&f, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < CALLS; i++) {
        if (strcmp(calls[i].group, fault.group) != 0)
            continue;
        compare(&f, BPF_JEQ, (uint64_t)calls[i].number, 0, 1);
        finish(&f, SECCOMP_RET_TRAP);
    }
    finish(&f, SECCOMP_RET_ALLOW);
    filter.len = (unsigned short)f.length;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool fault_meet_calls(void)
{
    struct sigaction action = {.sa_sigaction = answer,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};

    return open_gate() && sigaction(SIGSYS, &action, NULL) == 0 && set_filter();
}

#endif
