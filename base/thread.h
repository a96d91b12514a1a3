/* Threads that receive no signals. A signal that ends the program goes to the thread of main(),
 * which delays it while an output file is being renamed (parse/source/sink.h). */
#ifndef MV_BASE_THREAD_H
#define MV_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Runs work(user) in a new thread, which must be joined. Returns false and sets errno if the thread
 * cannot be started. Signals for the thread's own faults are not blocked, such as SIGBUS when a
 * mapped file shrinks. */
bool mv_thread_start(pthread_t *thread, void *(*work)(void *user), void *user);

#endif
