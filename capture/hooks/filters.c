#include "capture/hooks/filters.h"

#include "capture/hooks/resolve.h"
#include "capture/record/recorder.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>

typedef int prctl_fn(int option, unsigned long a, unsigned long b, unsigned long c,
                     unsigned long d);

mv_syscall_fn *mv_syscall_real;

static long no_syscall(long number, ...)
{
    (void)number;
    errno = ENOSYS;
    return -1;
}

/* Finds the real function. Several threads may run this at the same time, even before all
 * constructors. */
void mv_filters_start(void)
{
    int kept = errno;
    mv_syscall_fn *found = (mv_syscall_fn *)mv_resolve_at_start("syscall");

    __atomic_store_n(&mv_syscall_real, found ? found : no_syscall, __ATOMIC_RELAXED);
    errno = kept;
}

/* Returns true if there can be events at all. Once a filter is effective, libraries cannot be
 * loaded, so the libraries of CUDA or PyTorch must have been loaded before. */
static bool may_record(void)
{
    static const char *const names[] = {"cuMemAlloc_v2", "cudaMalloc",
                                        "_ZN3c1022memoryProfilingEnabledEv"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mv_resolve_next(names[i]))
            return true;
    return false;
}

/* Reserves memory and file space, and opens the file if it is not open yet. */
static bool prepare(bool is_strict)
{
    mv_rec_visit visit;
    int kept = errno;
    bool is_new;

    if (may_record() && mv_rec_enter(&visit))
        mv_rec_leave(&visit);
    is_new = mv_rec_confine(is_strict);
    errno = kept;
    return is_new;
}

static bool installs(long number, long what)
{
    return number == SYS_prctl ? what == PR_SET_SECCOMP
                               : what == SECCOMP_SET_MODE_STRICT || what == SECCOMP_SET_MODE_FILTER;
}

static bool is_strict(long number, long what, long mode)
{
    return number == SYS_prctl ? mode == SECCOMP_MODE_STRICT : what == SECCOMP_SET_MODE_STRICT;
}

static long settle(bool is_new, long result)
{
    if (is_new && result != 0)
        mv_rec_unconfine();
    return result;
}

long mv_filters_syscall(long number, long a, long b, long c, long d, long e)
{
    bool is_new = installs(number, a) && prepare(is_strict(number, a, b));

    if (!mv_syscall_real)
        mv_filters_start();
    return settle(is_new, mv_syscall_real(number, a, b, c, d, e));
}

__attribute__((visibility("default"))) prctl_fn mv_prctl __asm__("prctl");
int mv_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    static _Atomic(prctl_fn *) real;
    prctl_fn *next = atomic_load_explicit(&real, memory_order_relaxed);
    bool is_new = option == PR_SET_SECCOMP && prepare(a == SECCOMP_MODE_STRICT);

    if (!next) {
        next = (prctl_fn *)mv_resolve_at_start("prctl");
        atomic_store_explicit(&real, next, memory_order_relaxed);
    }
    if (next)
        return (int)settle(is_new, next(option, a, b, c, d));
    errno = ENOSYS;
    return (int)settle(is_new, -1);
}
