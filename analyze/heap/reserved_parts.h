/* Divides reserved memory into parts, which explain why the allocator of a device holds as much as
 * it does.
 *
 *     reserved = allocated + rounding + pending      the most bytes in use at once
 *              + streams and pools                   each has its peak at another time
 *              + holes + unused segments             the remainder: placement, and cache
 *              + unexplained                         0 unless the trace contradicts itself
 *
 * This is exact to the byte. The first line is the need. At the peak of reserved memory, the need
 * is the most bytes in use at any time up to the peak, because memory that is free at the peak was
 * needed earlier. At any other moment, the need is the memory in use at that moment, and the part
 * for streams and pools is 0. docs/diff.md explains the parts. */
#pragma once

#include "analyze/totals/moment.h"

#define MV_RESERVED_PART_LIST(X)                                                            \
    X(ALLOCATED, "allocated", "in use, without rounding")                                   \
    X(ROUNDING, "rounding", "rounding: blocks are larger than requested")                   \
    X(PENDING, "pending_frees", "freed, but waiting for another stream")                    \
    X(APART, "streams_and_pools", "streams and pools: each needs its most at another time") \
    X(HOLES, "holes", "holes beside blocks in use")                                         \
    X(UNUSED, "unused_segments", "unused segments")                                         \
    X(UNEXPLAINED, "unexplained", "unexplained: the trace contradicts itself")

typedef enum {
#define MV_RESERVED_PART_ENUM(id, name, text) MV_RESERVED_##id,
    MV_RESERVED_PART_LIST(MV_RESERVED_PART_ENUM) MV_RESERVED_PARTS
} mv_reserved_part;

typedef struct {
    uint64_t reserved;
    int64_t part[MV_RESERVED_PARTS]; /* bytes of each part, which add up to `reserved` */
} mv_reserved;

/* Finds the parts at the moment that `ask` specifies; its window also limits the search for the
 * need. Temporary memory is taken from the budget of `arena`. O(n log n). Fails only when memory or
 * row numbers run out. */
mv_code mv_reserved_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         mv_moment_query ask, mv_reserved *out, mv_err *err);

typedef struct {
    const char *name, *text; /* name: "holes" */
} mv_reserved_words;
extern const mv_reserved_words mv_reserved_part_words[MV_RESERVED_PARTS];
