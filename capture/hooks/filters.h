/* Interposes prctl and syscall, because programs install system-call filters with them. Just before
 * a filter is installed, memory and file space for the recording are reserved (live/confined.h).
 * All other calls are passed on.
 *
 * syscall is written in assembly (filters_x86_64.S, filters_aarch64.S). It takes any number of
 * arguments, and its system call may return twice (vfork), so calls are passed on with a jump.
 * Filters that are installed without libc go unnoticed. */
#pragma once

typedef long mv_syscall_fn(long number, ...);

/* The C library's function, set by mv_filters_start, which the first call calls. */
extern mv_syscall_fn *mv_syscall_real;
void mv_filters_start(void);

/* Handles the system calls SYS_prctl and SYS_seccomp. */
long mv_filters_syscall(long number, long a, long b, long c, long d, long e);
