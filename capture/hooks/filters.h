/* prctl and syscall, interposed, because a program installs filters on system calls with them: what
 * a recording needs is set aside before (live/confined.h). All other calls are passed on.
 *
 * syscall is in assembly (filters_x86_64.S, filters_aarch64.S): its arguments are of any number,
 * and what it does may return twice (vfork), so it is passed on with a jump. A filter that a
 * program installs without libc is not seen. */
#ifndef MV_FILTERS_H
#define MV_FILTERS_H

typedef long mv_syscall_fn(long number, ...);

/* The C library's. Set by mv_filters_start, which the first call calls. */
extern mv_syscall_fn *mv_syscall_real;
void mv_filters_start(void);

/* SYS_prctl and SYS_seccomp. */
long mv_filters_syscall(long number, long a, long b, long c, long d, long e);

#endif
