/* Makes the lives table of a window, as if recording had begun at the window's first event and
 * ended at its last. Event numbers in the table count from the window's first event.
 *
 *     events        0 1 2 3 4 5 6 7 8        window [3, 7)
 *     a             ├─┤                      not in the window
 *     b               ├─────┤                preexisting, freed at 2
 *     c                   ├─────────┤        born at 1, never freed
 *     its events          0 1 2 3
 */
#pragma once

#include "analyze/lives/lives.h"
#include "analyze/lives/position.h"

/* Makes the table of `window`. `lives` is the table of all events. It must outlive the result,
 * because the result shares its stacks, strings and event columns. For a window of all events, the
 * result is `lives` itself. Any other window has a late history, unless nothing was reserved before
 * the window. O(n log n). Fails only when out of memory. */
mv_code mv_lives_within(mv_arena *arena, const mv_lives *lives, mv_window window, mv_lives *out,
                        mv_err *err);
