/* A snapshot with the trace of torch.profiler of the same run: its blocks get the operators and the
 * shapes that the trace has.
 *
 * Both record each block that the allocator hands out, and since PyTorch 2.2 both read one clock,
 * so a block of the one is a block of the other if address and device are equal, the trace's bytes
 * (of the block) are at least the snapshot's (as requested), and the times agree:
 *
 *     snapshot    a         b    a              events at one address, in order
 *     trace           a'         b'    a'
 *     difference  |---|     |----|             of pairs: their median is the offset of the clocks
 *
 * An address comes again and again, so pairs are made one to one and in order. */
#ifndef MV_JOIN_H
#define MV_JOIN_H

#include "parse/model/trace.h"

/* The trace writes its event after the snapshot's, in the same call, and each file converts the
 * processor's clock by its own fit. On an H100 with PyTorch 2.11 the differences of 648 pairs
 * in three runs were within 40 us of their median, and 642 of them within 10 us (docs/kineto.md).
 * Two ranks that run in step differ by more, and not by the same time. */
#define MV_JOIN_NEAR_US 1000 /* farther from the median: not a pair */
#define MV_JOIN_SAME_US 100  /* most pairs of one run are within it */

/* Parts of 100. The allocator records each block, so all blocks of the trace that lie in the
 * snapshot's time are in the snapshot; not those whose event another thread delayed. */
#define MV_JOIN_LEAST_MATCHED 90
#define MV_JOIN_LEAST_SAME    90

typedef struct mv_join {
    uint64_t events;  /* allocations in the trace, on devices with events in the snapshot */
    uint64_t outside; /* some of them: before or after the snapshot's events */
    uint64_t matched;
    uint64_t operators; /* matched, and the trace has their operator */
    int64_t offset_us;  /* median of the trace's times minus the snapshot's */
} mv_join;

/* Joins `trace`, whose tags, strings and columns of tags are replaced by others in `arena`. Fails
 * with MV_FORMAT, and a sentence in `err` that says why, when the two are not of the same run; with
 * MV_ABSENT when the snapshot has no times. O(n log n). */
mv_code mv_join_trace(mv_arena *arena, mv_trace *trace, const mv_trace *profile, mv_join *out,
                      mv_err *err);

#endif
