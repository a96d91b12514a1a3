/* Starts threads that receive no signals. A signal that ends the program is delivered to main()'s
 * thread, which delays it while an output file is being renamed (parse/source/sink.h). */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Runs work(user) in a new thread, which must be joined. Returns false and sets errno if the thread
 * cannot be started. Signals that the thread's own faults raise are not blocked, such as SIGBUS if
 * a mapped file shrinks. */
bool mv_thread_start(pthread_t *thread, void *(*work)(void *user), void *user);
