/* Threads that signals leave alone. Whatever ends the program from outside goes to the thread of
 * main(), which has it wait while an output gets its name (parse/source/sink.h). */
#ifndef MV_BASE_THREAD_H
#define MV_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Runs work(user) in a thread of its own; join it. False, with errno: there is none. Faults of the
 * thread itself (SIGBUS, where a mapped file shrinks) are not blocked. */
bool mv_thread_start(pthread_t *thread, void *(*work)(void *user), void *user);

#endif
