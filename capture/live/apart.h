/* Provides descriptors that no other thread can close.
 *
 * All threads of a process share one table of descriptors. Between any two calls of the shim that
 * use a descriptor, another thread may close its number, or open another file under this number:
 * some programs close all numbers, or choose numbers themselves. A write to that number would then
 * change one of the program's files. Therefore the shim uses descriptors in a thread that has a
 * separate copy of the table and that exists only for these calls. Its descriptors do not conflict
 * with those of the program. */
#pragma once

#include <stdbool.h>

/* The function to run. `is_apart` tells whether its thread has a separate table. */
typedef void mv_apart_fn(void *with, bool is_apart);

/* Runs `act` in a thread with a separate table, on the calling thread's stack and with its errno,
 * while the calling thread waits. All signals must be blocked, and `act` must return. Takes about
 * 30 us. The copied descriptors are closed at the end, as when a forked child ends. Returns false
 * and does nothing if the thread cannot be created (Valgrind, qemu, thread limit). */
bool mv_apart(mv_apart_fn *act, void *with);

/* Runs `act` in a thread with a separate table if possible, or else in the calling thread, where
 * other threads can close its descriptors. */
void mv_apart_or_here(mv_apart_fn *act, void *with);

/* Called by `act`: opens a file, which `act` must close. Returns the descriptor, or the negative of
 * an errno number. A copied table always has room for the descriptor. */
int mv_apart_open(const char *path, int flags, bool is_apart);
