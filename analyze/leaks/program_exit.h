/* The event at which a captured program begins to exit.
 *
 *     allocated   ┌┐┌┐┌┐┌┐        a capture lasts until the last instruction of the process, and
 *               ┌─┘└┘└┘└┘└┐       a program that ends in order gives everything back
 *             ──┘         └─┐
 *                        ▲  └──   exit
 *
 * Leaked memory is alive until the exit, so leaks are searched for before that event. PyTorch's own
 * snapshots are written while the program runs, and have no exit. */
#ifndef MV_PROGRAM_EXIT_H
#define MV_PROGRAM_EXIT_H

#include "analyze/lives/lives.h"

/* The first event after which a program that ended in order only frees, apart from a few
 * allocations. The number of events if there is no such end. */
uint32_t mv_exit_event(const mv_trace *trace, const mv_lives *lives);

/* The lives as they were at that event: the exit frees nothing. Columns that differ are in `arena`;
 * the others are shared with `lives`. If there is no exit, `*out` equals `lives`. */
mv_code mv_lives_before_exit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_lives *out, mv_err *err);

#endif
