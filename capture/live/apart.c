#include "capture/live/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As with vfork, the new thread uses the stack of its caller, which waits until the new thread
 * ends. Unlike vfork, this creates a thread, not a child process for which someone must wait.
 * CLONE_FILES is not set. */
enum { FLAGS = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK };

/* libc's functions cannot be used, because they return through the stack, which the other thread
 * then changes. */
#if defined __x86_64__
static inline __attribute__((always_inline)) long clone_here(void)
{
    register long tls __asm__("r8") = 0, child __asm__("r10") = 0;
    long made;

    __asm__ volatile("syscall"
                     : "=a"(made)
                     : "a"(SYS_clone), "D"((long)FLAGS), "S"(0L), "d"(0L), "r"(child), "r"(tls)
                     : "rcx", "r11", "memory");
    return made;
}

static inline __attribute__((always_inline)) void end_here(void)
{
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0L) : "rcx", "r11", "memory");
}
#elif defined __aarch64__
static inline __attribute__((always_inline)) long clone_here(void)
{
    register long call __asm__("x8") = SYS_clone, made __asm__("x0") = FLAGS;
    register long stack __asm__("x1") = 0, parent __asm__("x2") = 0;
    register long tls __asm__("x3") = 0, child __asm__("x4") = 0;

    __asm__ volatile("svc #0"
                     : "+r"(made)
                     : "r"(call), "r"(stack), "r"(parent), "r"(tls), "r"(child)
                     : "memory");
    return made;
}

static inline __attribute__((always_inline)) void end_here(void)
{
    register long call __asm__("x8") = SYS_exit, status __asm__("x0") = 0;

    __asm__ volatile("svc #0" : : "r"(call), "r"(status) : "memory");
}
#endif

__attribute__((noinline)) bool mv_apart(mv_apart_fn *act, void *with)
{
    long made = clone_here();

    if (made == 0) {
        act(with, true);
        end_here();
        __builtin_unreachable();
    }
    return made > 0;
}

void mv_apart_or_here(mv_apart_fn *act, void *with)
{
    if (!mv_apart(act, with))
        act(with, false);
}

/* Opens a file. A copied table may be full, but every number in it can be reused. */
int mv_apart_open(const char *path, int flags, bool is_apart)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);

    if (fd < 0 && errno == EMFILE && is_apart) {
        syscall(SYS_close, STDIN_FILENO);
        fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
    }
    return fd < 0 ? -errno : (int)fd;
}
