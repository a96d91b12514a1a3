/* Descriptors that no other thread can give away.
 *
 * All threads of a process have one table of descriptors. Another thread may close a number, or put
 * a file of its own there, between any two calls that use it: programs do so that close all
 * numbers, or that have numbers of their own choice. What is then written by that number changes a
 * file of theirs. So what the shim does with descriptors is done by a thread with a table of its
 * own, a copy, that lives for these calls alone. Its number is taken from no one, and is free for
 * all others. */
#ifndef MV_APART_H
#define MV_APART_H

#include <stdbool.h>

/* `is_apart`: the thread is one with a table of its own. */
typedef void mv_apart_fn(void *with, bool is_apart);

/* Runs `act` in such a thread, on this one's stack and with its errno, while this one waits. All
 * signals must be blocked, and `act` must return. Costs some 30 us, and as a fork does it closes
 * the copies in the end. False: such a thread cannot be made (Valgrind, qemu, no more threads are
 * allowed), and nothing was done. */
bool mv_apart(mv_apart_fn *act, void *with);

/* Runs `act` in such a thread, else in this one: then another thread can give its numbers away. */
void mv_apart_or_here(mv_apart_fn *act, void *with);

/* For `act`: opens a file that it has to close. Returns the number, or minus an errno number. In a
 * table of its own there is always one. */
int mv_apart_open(const char *path, int flags, bool is_apart);

#endif
