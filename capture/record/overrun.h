/* Keeps a bounded recording (docs/recorder.md) within its bound even if the program writes faster
 * than the launcher folds.
 *
 * While the files are at the bound, allocations of the framework are kept in memory instead of
 * being written. If one of these blocks is freed, neither of its events is written. Once there is
 * room again, or at the program's end, the kept blocks that are still alive are written, so no live
 * block is missing. Ranges with a number are treated like blocks; marks and ranges within one
 * thread are left out. Events that are not written are counted (lost_bound). Frees of recorded
 * blocks, ends of recorded ranges, pauses and calls are always written, because the last part of
 * the space within the bound is reserved for them. When this part is used up too, the recording
 * stops.
 *
 * Without a launcher that makes room, the file grows beyond the bound. */
#pragma once

#include "capture/record/recorder.h"

/* Compares the size of the files with the bound. Called for each new chunk. */
void mv_overrun_look(void);

/* Returns the number of bytes by which the file may still grow. */
uint64_t mv_overrun_room(void);

/* Returns true if only events that must be recorded are recorded. */
bool mv_overrun_is_full(void);

/* Used as the device type of an event that is not a block: the range with the number `addr` begins
 * (size 1) or ends (size -1). */
enum { MV_OVERRUN_RANGE = -1 };

/* Returns true if the event must not be written now. `stack` is the stack of an allocation, or the
 * string of a range. */
bool mv_overrun_keeps(const mv_rec_block_event *event, uint32_t stack);

/* Takes a kept allocation that can be written now, with its number. Returns false if there is none,
 * or if there is no room; at the program's end, room is not checked. */
bool mv_overrun_next(bool is_end, mv_rec_block_event *event, uint32_t *stack,
                     mv_rec_moment *moment);

/* At the program's end, waits for room, up to a second in total. Returns false if nothing is kept,
 * or if the last part of the bound is used up. If the result is true, there is room for
 * MV_OVERRUN_ROWS events. */
enum { MV_OVERRUN_ROWS = 2048 };
bool mv_overrun_await(void);

/* Called when this process has opened its file: drops blocks kept for its parent. */
void mv_overrun_begin(void);
