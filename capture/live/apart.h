/* Descriptors that no other thread can close.
 *
 * All threads of a process share one table of descriptors. Another thread may close a number, or
 * put a file of its own there, between any two calls that use it: some programs close all numbers,
 * or choose numbers themselves. A write to that number then changes one of their files. So the shim
 * uses descriptors in a thread with a table of its own, a copy, that lives only for these calls.
 * Its numbers do not conflict with the program's. */
#ifndef MV_APART_H
#define MV_APART_H

#include <stdbool.h>

/* `is_apart`: the thread is one with a table of its own. */
typedef void mv_apart_fn(void *with, bool is_apart);

/* Runs `act` in such a thread, on this one's stack and with its errno, while this one waits. All
 * signals must be blocked, and `act` must return. Costs some 30 us; like a fork it closes the
 * copies at the end. False: such a thread cannot be made (Valgrind, qemu, thread limit), and
 * nothing was done. */
bool mv_apart(mv_apart_fn *act, void *with);

/* Runs `act` in such a thread, or else in this one: then another thread can close its numbers. */
void mv_apart_or_here(mv_apart_fn *act, void *with);

/* For `act`: opens a file that it has to close. Returns the number, or minus an errno number. A
 * table of its own always has a free number. */
int mv_apart_open(const char *path, int flags, bool is_apart);

#endif
