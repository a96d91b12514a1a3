/* Shows how much memory a program holds while it is being recorded, and what has changed since an
 * earlier time. Each update reads and decodes only new records.
 *
 *     w = mv_live_watch_open(&arena, path, &err);
 *     for (;;) {
 *         mv_live_watch_update(w, now_us, span_us, &err);
 *         mv_live_watch_trace(w, &report_arena, &trace, &err);
 *         ...
 *     }
 *     mv_live_watch_close(w);
 *
 * Two readers follow the file (live_follow.h): one reads to its end, the other only to the time
 * `since`. Each reader keeps the blocks that are alive where it has stopped (live_alive.h), so the
 * number of events in the trace depends on the live blocks, not on the recording's length:
 *
 *     up to `since`    allocations of blocks that are alive now, or were alive then
 *     right after it   frees of blocks that are not alive any more
 *     then             allocations of later blocks that are alive now
 *
 * On all levels, the trace agrees with the whole recording in the final heap, in the totals and
 * ages at the end, and in the growth of each line after `since`. It differs in peaks, steps and
 * leaks, because it lacks blocks that were both allocated and freed before `since`, or both after
 * it.
 *
 * A call that is under way holds back the records after it, as live_follow.h describes. A file that
 * was replaced, became shorter, or is another recording now (mv_live_follow_is_replaced), is read
 * again from its beginning. */
#pragma once

#include "parse/model/trace.h"

typedef struct mv_live_watch mv_live_watch;

/* Returns NULL, with the reason in `err`, if the file cannot be opened or is not a live file.
 * Memory comes from the arena's budget. */
mv_live_watch *mv_live_watch_open(mv_arena *arena, const char *path, mv_err *err);
void mv_live_watch_close(mv_live_watch *w); /* `w` may be NULL */

/* Sets `since` to `span_us` before `now_us` (CLOCK_MONOTONIC) or before the newest record,
 * whichever is later; it never decreases. Fails if memory runs out or the file is gone; after a
 * failure, the watch can only be closed. Takes O(new records + live blocks). */
mv_code mv_live_watch_update(mv_live_watch *w, uint64_t now_us, uint64_t span_us, mv_err *err);

/* Makes the trace described above. The trace shares strings, frames and stacks with `w`, so it is
 * valid until the next update. */
mv_code mv_live_watch_trace(mv_live_watch *w, mv_arena *arena, mv_trace *out, mv_err *err);

/* Sets of devices, with one bit for each device's number in the trace; devices numbered 64 or
 * higher are left out. */
typedef struct {
    uint64_t blocks; /* devices with records of PyTorch's blocks or of CPU tensors */
    uint64_t calls;  /* devices with CUDA calls */
    uint64_t heaps;  /* devices with records of registered heaps; records without a device count for
                      * device 0 */
} mv_live_used;

typedef struct {
    uint64_t records, bytes;   /* number of records decoded and of bytes read so far, by both
                                * readers */
    uint64_t found;            /* number of records found up to `now_us` */
    uint64_t now_us;           /* CLOCK_MONOTONIC; `since` is `span_us` before it */
    mv_live_used used, before; /* devices used so far, and before `since` */
    bool has_ended;            /* the recording has ended, so no more records will follow */
} mv_live_watch_state;

mv_live_watch_state mv_live_watch_status(const mv_live_watch *w);
