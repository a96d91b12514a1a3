/* The memory that a recording holds while it is being written, and the changes since a moment
 * before: each update reads and decodes only new records.
 *
 *     w = mv_live_watch_open(&arena, path, &err);
 *     for (;;) {
 *         mv_live_watch_update(w, now_us, span_us, &err);
 *         mv_live_watch_trace(w, &report_arena, &trace, &err);
 *         ...
 *     }
 *     mv_live_watch_close(w);
 *
 * Two readers follow the file (live_follow.h): one to its end, one to `since_us`. Each keeps the
 * blocks that are alive there (live_alive.h), so the trace has O(alive) events, whatever the
 * recording's length:
 *
 *     up to `since`    allocations of blocks that are alive now, or were alive then
 *     right after it   frees of those that are not alive any more
 *     then             allocations of later blocks that are alive now
 *
 * Its final heap, the totals and ages at its end, and how much each line holds more than at `since`
 * are those of the whole recording, on all levels. Peaks, steps and leaks are not: blocks that were
 * allocated and freed since, or before, are missing.
 *
 * A call that is under way holds back the records after it, as live_follow.h describes. A file that
 * was replaced, or became shorter, is read from its beginning. */
#ifndef MV_LIVE_WATCH_H
#define MV_LIVE_WATCH_H

#include "parse/model/trace.h"

typedef struct mv_live_watch mv_live_watch;

/* NULL: the file cannot be opened, or is not a live file; `err` has the reason. Memory comes from
 * the budget of `arena`. */
mv_live_watch *mv_live_watch_open(mv_arena *arena, const char *path, mv_err *err);
void mv_live_watch_close(mv_live_watch *w); /* NULL is allowed */

/* `since` is `span_us` before now: before `now_us`, CLOCK_MONOTONIC, or before the newest record if
 * that is later. It never falls. Fails when memory is out, or the file is gone; the watch can then
 * only be closed. O(new records + alive blocks). */
mv_code mv_live_watch_update(mv_live_watch *w, uint64_t now_us, uint64_t span_us, mv_err *err);

/* The trace described above. It shares its texts, frames and stacks with `w`: it is valid until the
 * next update. */
mv_code mv_live_watch_trace(mv_live_watch *w, mv_arena *arena, mv_trace *out, mv_err *err);

/* Of devices a bit each, for those below 64, as numbered in the trace. */
typedef struct {
    uint64_t blocks; /* with records of PyTorch's blocks, or of CPU tensors */
    uint64_t calls;  /* with CUDA calls */
    uint64_t heaps;  /* with records of registered heaps; those without a device count for 0 */
} mv_live_used;

typedef struct {
    uint64_t records, bytes;   /* decoded, and read from the file, so far; by both readers */
    uint64_t found;            /* records up to now */
    uint64_t now_us;           /* CLOCK_MONOTONIC; `since` is `span_us` before it */
    mv_live_used used, before; /* so far, and up to `since` */
    bool has_ended;            /* nothing will follow */
} mv_live_watch_state;

mv_live_watch_state mv_live_watch_status(const mv_live_watch *w);

#endif
