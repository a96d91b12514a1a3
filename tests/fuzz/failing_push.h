/* Makes a push to an arena fail, as it does when memory is out, in programs that are linked with
 * -Wl,--wrap=mv_arena_push,--wrap=mv_arena_grow,--wrap=mv_arena_text. */
#pragma once

#include "base/arena.h"

/* Makes only the nth push after this call fail; with 0, none fails. */
void mvt_fail_push(uint32_t nth);

/* The first function returns the number of pushes since that call, the second whether a push has
 * failed. */
uint32_t mvt_pushes(void);
bool mvt_push_has_failed(void);
