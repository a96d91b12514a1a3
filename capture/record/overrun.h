/* A bounded recording (docs/recorder.md) of a program that writes faster than the launcher folds.
 *
 * While the files are at the bound, allocations of the framework are kept in memory instead of in the
 * file. The free of such a block is not recorded either: the pair leaves nothing. Once there is room
 * again, the blocks that are still alive are recorded, so no live block is missing. The events that are
 * not in the file are counted (lost_bound). Frees of recorded blocks, and all other events, are always
 * recorded: the last part of the bound is for them.
 *
 * Without a launcher to make room the file grows. */
#ifndef MV_OVERRUN_H
#define MV_OVERRUN_H

#include "capture/record/recorder.h"

/* Compares the files with the bound; called for each new chunk. */
void mv_overrun_look(void);

/* Whether the event is not recorded. `stack`: of an allocation. */
bool mv_overrun_keeps(const mv_rec_block_event *event, uint32_t stack);

/* An allocation to be recorded now, with its number. False: there is none, or no room. */
bool mv_overrun_next(mv_rec_block_event *event, uint32_t *stack, mv_rec_moment *moment);

/* The file of this process was opened. Blocks that its parent keeps are dropped here. */
void mv_overrun_begin(void);

#endif
