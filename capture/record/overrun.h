/* A bounded recording (docs/recorder.md) of a program that writes faster than the launcher folds.
 *
 * While the files are at the bound, allocations of the framework are kept in memory instead of in the
 * file. The free of such a block is not recorded either: the pair leaves nothing. Once there is room
 * again, or at the program's end, the blocks that are still alive are recorded, so no live block is
 * missing. The same goes for ranges with a number; marks, and ranges of one thread, are left out. The
 * events that are not in the file are counted (lost_bound). Frees of recorded blocks, ends of recorded
 * ranges, pauses, and calls are always recorded: the last part of the bound is for them. When that is
 * used up, too, the recording stops.
 *
 * Without a launcher to make room the file grows. */
#ifndef MV_OVERRUN_H
#define MV_OVERRUN_H

#include "capture/record/recorder.h"

/* Compares the files with the bound; called for each new chunk. */
void mv_overrun_look(void);

/* Bytes by which the file may still grow. */
uint64_t mv_overrun_room(void);

/* Whether only what has to be recorded is. */
bool mv_overrun_is_full(void);

/* As the device type of an event: a range with the number `addr` begins (size 1) or ends (-1). */
enum { MV_OVERRUN_RANGE = -1 };

/* Whether the event is not recorded. `stack`: of an allocation; a range's text. */
bool mv_overrun_keeps(const mv_rec_block_event *event, uint32_t stack);

/* An allocation to be recorded now, with its number. False: there is none, or no room, which does
 * not count at the end. */
bool mv_overrun_next(bool is_end, mv_rec_block_event *event, uint32_t *stack,
                     mv_rec_moment *moment);

/* At the program's end: waits for room, a second in all. False: nothing is kept, or the last part of
 * the bound is used up. Otherwise there is room for MV_OVERRUN_ROWS. */
enum { MV_OVERRUN_ROWS = 2048 };
bool mv_overrun_await(void);

/* The file of this process was opened. Blocks that its parent keeps are dropped here. */
void mv_overrun_begin(void);

#endif
