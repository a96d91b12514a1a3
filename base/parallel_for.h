/* Runs independent pieces of work on several threads. */
#pragma once

#include <stdint.h>

/* Calls `piece(user, i)` for each i below `count`, and starts the calls in this order. Uses at most
 * `threads` threads, including the caller's; 0 means one for each CPU. If no thread can be started,
 * the caller does all the work. Returns when all calls have returned. */
void mv_parallel_for(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                     void *user);

/* Does the same for many pieces of similar size. If it uses several threads, each loop inside a
 * piece uses only the piece's thread, because the other threads have pieces of their own. */
void mv_parallel_for_whole(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                           void *user);

/* Returns the number of threads that mv_parallel_for uses when called here. */
uint32_t mv_parallel_for_threads(uint32_t count, uint32_t threads);
