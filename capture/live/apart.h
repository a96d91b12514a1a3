/* Descriptors that no other thread can close.
 *
 * All threads of a process share one table of descriptors. Another thread may close a number, or
 * open its own file under this number, between any two calls that use it: some programs close all
 * numbers, or choose numbers themselves. A write to that number then changes one of their files. So
 * the shim uses descriptors in a thread with its own copy of the table, which lives only for these
 * calls. Its numbers do not conflict with the program's. */
#ifndef MV_APART_H
#define MV_APART_H

#include <stdbool.h>

/* `is_apart`: the thread has its own table. */
typedef void mv_apart_fn(void *with, bool is_apart);

/* Runs `act` in such a thread, on the calling thread's stack and with its errno, while the calling
 * thread waits. All signals must be blocked, and `act` must return. Costs about 30 us. The copied
 * descriptors are closed at the end, as when a forked child ends. False if such a thread cannot be
 * created (Valgrind, qemu, thread limit): nothing was done. */
bool mv_apart(mv_apart_fn *act, void *with);

/* Runs `act` in such a thread if possible, else in the calling thread, where other threads can
 * close its numbers. */
void mv_apart_or_here(mv_apart_fn *act, void *with);

/* For `act`: opens a file, which `act` must close. Returns the number, or minus an errno number. A
 * copied table always has a free number. */
int mv_apart_open(const char *path, int flags, bool is_apart);

#endif
