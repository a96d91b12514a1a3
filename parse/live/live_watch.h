/* The memory that a program holds while it is being recorded, and the changes since an earlier
 * moment. Each update reads and decodes only new records.
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
 * blocks that are alive there (live_alive.h), so the number of events in the trace depends on the
 * live blocks, not on the recording's length:
 *
 *     up to `since`    allocations of blocks that are alive now, or were alive then
 *     right after it   frees of blocks that are not alive any more
 *     then             allocations of later blocks that are alive now
 *
 * The final heap, the totals and ages at the end, and the growth of each line since `since` are
 * those of the whole recording, on all levels. Peaks, steps and leaks are not, because blocks that
 * were allocated and freed since, or before, are missing.
 *
 * A call that is under way holds back the records after it, as live_follow.h describes. A file that
 * was replaced, or became shorter, is read from its beginning. */
#ifndef MV_LIVE_WATCH_H
#define MV_LIVE_WATCH_H

#include "parse/model/trace.h"

typedef struct mv_live_watch mv_live_watch;

/* NULL if the file cannot be opened or is not a live file; `err` has the reason. Memory comes from
 * the arena's budget. */
mv_live_watch *mv_live_watch_open(mv_arena *arena, const char *path, mv_err *err);
void mv_live_watch_close(mv_live_watch *w); /* NULL is allowed */

/* Sets `since` to `span_us` before `now_us` (CLOCK_MONOTONIC) or before the newest record,
 * whichever is later; it never decreases. Fails when memory runs out or the file is gone; the watch
 * can only be closed then. O(new records + live blocks). */
mv_code mv_live_watch_update(mv_live_watch *w, uint64_t now_us, uint64_t span_us, mv_err *err);

/* The trace described above. It shares texts, frames and stacks with `w`, so it is valid until the
 * next update. */
mv_code mv_live_watch_trace(mv_live_watch *w, mv_arena *arena, mv_trace *out, mv_err *err);

/* Sets of devices: one bit for each, by its number in the trace; devices from 64 on are left
 * out. */
typedef struct {
    uint64_t blocks; /* with records of PyTorch's blocks or of CPU tensors */
    uint64_t calls;  /* with CUDA calls */
    uint64_t heaps;  /* with records of registered heaps; if they have no device, device 0 */
} mv_live_used;

typedef struct {
    uint64_t records, bytes;   /* records decoded and bytes read so far, by both readers */
    uint64_t found;            /* records up to `now_us` */
    uint64_t now_us;           /* CLOCK_MONOTONIC; `since` is `span_us` before it */
    mv_live_used used, before; /* so far, and up to `since` */
    bool has_ended;            /* nothing more will follow */
} mv_live_watch_state;

mv_live_watch_state mv_live_watch_status(const mv_live_watch *w);

#endif
