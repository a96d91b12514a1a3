/* Joins a snapshot with torch.profiler's trace of the same run, to add the trace's operators and
 * shapes to the snapshot's blocks.
 *
 * Both files record each block that the allocator hands out, and since PyTorch 2.2 both use the
 * same clock. So two blocks are the same if their addresses and devices are equal, the size of the
 * block in the trace is at least the size requested in the snapshot, and the times agree:
 *
 *     snapshot    a         b    a              events at one address, in order
 *     trace           a'         b'    a'
 *     difference  |---|     |----|             in each pair; the median is the clocks' offset
 *
 * Addresses are reused, so blocks are paired one to one and in order. */
#pragma once

#include "parse/model/trace.h"

/* Maximum differences between times. The profiler writes its event after the snapshot's event, in
 * the same call, and each file converts the CPU's clock with different parameters. On an H100 with
 * PyTorch 2.11, the differences of 648 pairs in three runs were within 40 us of their median, and
 * 642 of them within 10 us (docs/kineto.md). The times of two ranks that run in step differ by more
 * than that, and not by a constant. */
#define MV_JOIN_NEAR_US 1000 /* a difference farther from the median is not a pair */
#define MV_JOIN_SAME_US 100  /* most pairs of the same run are within this distance */

/* Percentages of blocks that must match. The allocator records each block, so all blocks of the
 * trace within the snapshot's time are in the snapshot, except for events that another thread
 * delayed. */
#define MV_JOIN_LEAST_MATCHED 90
#define MV_JOIN_LEAST_SAME    90

typedef struct mv_join {
    uint64_t events;  /* number of allocations in the trace, on devices that have events in the
                       * snapshot */
    uint64_t outside; /* number of these allocations that are before or after the snapshot's
                       * events */
    uint64_t matched;
    uint64_t operators; /* number of matched allocations for which the trace has an operator */
    int64_t offset_us;  /* median difference between the trace's times and the snapshot's times */
} mv_join;

/* Joins `trace` with `profile`. New tags, strings and tag columns, allocated in `arena`, replace
 * those of `trace`. Fails with MV_FORMAT, and the reason in `err`, if the files are not from the
 * same run, and with MV_ABSENT if the snapshot has no times. O(n log n). */
mv_code mv_join_trace(mv_arena *arena, mv_trace *trace, const mv_trace *profile, mv_join *out,
                      mv_err *err);
