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

/* Runs `act` in such a thread, on this one's stack and with its errno, while this one waits. All
 * signals must be blocked, and `act` must return. Costs some 30 us, and as a fork does it closes
 * the copies in the end. False: such a thread cannot be made (Valgrind, qemu, no more threads are
 * allowed), and nothing was done. */
bool mv_apart(void (*act)(void *), void *with);

#endif
