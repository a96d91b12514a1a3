/* Pieces of work that do not depend on each other, done by several threads. */
#ifndef MV_SIDE_BY_SIDE_H
#define MV_SIDE_BY_SIDE_H

#include <stdint.h>

/* Calls `piece(user, i)` for each i below `count`, in that order, by at most `threads` threads of
 * which the caller is one; 0: as many as there are processors. Where no thread can be started the
 * caller does all. Returns when all pieces are done. */
void mv_side_by_side(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                     void *user);

/* How many threads that is. */
uint32_t mv_side_by_side_threads(uint32_t count, uint32_t threads);

#endif
