/* Where the end of a captured program begins.
 *
 *     allocated   ┌┐┌┐┌┐┌┐        a capture goes on to the last instruction of the process, and
 *               ┌─┘└┘└┘└┘└┐       a program that ends in order gives everything back
 *             ──┘         └─┐
 *                        ▲  └──   exit
 *
 * What was kept for no reason is alive until then, so leaks are looked for ahead of it. PyTorch's
 * own snapshots are written while the program runs, and have no exit. */
#ifndef MV_PROGRAM_EXIT_H
#define MV_PROGRAM_EXIT_H

#include "analyze/lives/lives.h"

/* The event from which on a program that ended in order only frees, but for a few allocations;
 * the number of events when there is no such end. */
uint32_t mv_exit_event(const mv_trace *trace, const mv_lives *lives);

/* The lives as they were then: nothing is freed by the exit. Columns that differ are in `arena`,
 * all others those of `lives`. `*out` is `lives` as it is when there is no exit. */
mv_code mv_lives_before_exit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_lives *out, mv_err *err);

#endif
