/* Finds the event at which a captured program begins to exit.
 *
 *     allocated   ┌┐┌┐┌┐┌┐        a capture lasts until the last instruction of the process, and
 *               ┌─┘└┘└┘└┘└┐       a program that ends normally frees everything
 *             ──┘         └─┐
 *                        ▲  └──   exit
 *
 * Leaked memory is alive until the exit, so leaks are searched for before that event. PyTorch's own
 * snapshots are written while the program is running, so they contain no exit. */
#pragma once

#include "analyze/lives/lives.h"

/* Returns the first event after which the program only frees memory, apart from a few allocations,
 * because it ended normally. Returns the number of events if the trace does not end like this. */
uint32_t mv_exit_event(const mv_trace *trace, const mv_lives *lives);

/* Makes the lives table as it was at that event, without the frees of the exit. Columns that differ
 * are allocated in `arena`; the other columns are shared with `lives`. If there is no exit, `*out`
 * equals `lives`. */
mv_code mv_lives_before_exit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_lives *out, mv_err *err);
