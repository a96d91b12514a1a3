/* A push to an arena that fails, as when memory is out, for programs that are linked
 * with -Wl,--wrap=mv_arena_push,--wrap=mv_arena_grow,--wrap=mv_arena_text. */
#ifndef MV_FAILING_PUSH_H
#define MV_FAILING_PUSH_H

#include "base/arena.h"

/* Only the nth push from now on fails; 0: none fails. */
void mvt_fail_push(uint32_t nth);

/* Pushes since then, and whether a push has failed. */
uint32_t mvt_pushes(void);
bool mvt_push_has_failed(void);

#endif
