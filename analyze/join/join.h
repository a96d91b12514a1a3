/* Joins a snapshot with torch.profiler's trace of the same run: the blocks get the operators and
 * shapes from the trace.
 *
 * Both record each block that the allocator hands out, and since PyTorch 2.2 both use the same
 * clock. So two blocks are the same if address and device are equal, the trace's bytes (of the
 * block) are at least the snapshot's (as requested), and the times agree:
 *
 *     snapshot    a         b    a              events at one address, in order
 *     trace           a'         b'    a'
 *     difference  |---|     |----|             in each pair; the median is the clocks' offset
 *
 * Addresses recur, so blocks are paired one to one and in order. */
#ifndef MV_JOIN_H
#define MV_JOIN_H

#include "parse/model/trace.h"

/* The trace writes its event after the snapshot's, in the same call, and each file converts
 * the processor's clock with separate parameters. On an H100 with PyTorch 2.11, the
 * differences of 648 pairs in three runs were within 40 us of their median, and 642 of them
 * within 10 us (docs/kineto.md). The times of two ranks that run in step differ by more, and
 * not by a constant. */
#define MV_JOIN_NEAR_US 1000 /* farther from the median: not a pair */
#define MV_JOIN_SAME_US 100  /* most pairs of the same run are within this */

/* Percentages. The allocator records each block, so all blocks of the trace within the snapshot's
 * time are in the snapshot, except for events that another thread delayed. */
#define MV_JOIN_LEAST_MATCHED 90
#define MV_JOIN_LEAST_SAME    90

typedef struct mv_join {
    uint64_t events;  /* allocations in the trace, on devices with events in the snapshot */
    uint64_t outside; /* of these, allocations before or after the snapshot's events */
    uint64_t matched;
    uint64_t operators; /* matched allocations for which the trace has the operator */
    int64_t offset_us;  /* median of the trace's times minus the snapshot's */
} mv_join;

/* Joins `trace` with `profile`; the tags, strings and tag columns of `trace` are replaced by others
 * in `arena`. Fails with MV_FORMAT and the reason in `err` if the two are not from the same run;
 * with MV_ABSENT if the snapshot has no times. O(n log n). */
mv_code mv_join_trace(mv_arena *arena, mv_trace *trace, const mv_trace *profile, mv_join *out,
                      mv_err *err);

#endif
