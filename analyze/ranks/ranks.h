/* Compares several ranks (or devices), and finds out which of them differ and why.
 *
 *     rank 0   1.20 GiB  clean        the median rank is the reference;
 *     rank 1   1.20 GiB  clean        rank 3 differs: the same sites as the reference, bytes
 *     rank 2   1.21 GiB  clean        scaled by one factor: a larger batch
 *     rank 3   2.31 GiB  clean
 *
 * Each rank is compared with the ranks of its group (rank_groups.h), which is a stage of a
 * pipeline, or all ranks. If no rank is typical because every peak is different, there are no
 * outliers. In a group of two ranks, the larger rank is named, with the reason, although either
 * rank may be the correct one. docs/ranks.md has the rules and their numbers. */
#pragma once

#include "analyze/ranks/divergence.h"
#include "analyze/ranks/rank_groups.h"

#define MV_RANK_REASON_LIST(X)                                                                     \
    X(LEAK, "leak", "leaks, most others do not")                                                   \
    X(OOM, "oom", "ran out of memory, most others did not")                                        \
    X(LARGER_BATCH, "larger_batch", "has a larger batch: the same sites, scaled by one factor")    \
    X(SMALLER_BATCH, "smaller_batch", "has a smaller batch: the same sites, scaled by one factor") \
    X(OWN_SITES, "own_sites", "holds memory at places that no other rank has")                     \
    X(MISSING_SITES, "missing_sites", "has no memory at places that all other ranks have")         \
    X(LARGER, "larger", "holds more at places that others have too")                               \
    X(SMALLER, "smaller", "holds less at places that others have too")                             \
    X(RESERVED, "reserved", "reserves more for the same allocated memory")                         \
    X(LARGER_UNPLACED, "larger_unplaced", "holds more, at places unknown without stacks")          \
    X(SMALLER_UNPLACED, "smaller_unplaced", "holds less, at places unknown without stacks")        \
    X(DIFFERENT_STACKS, "different_stacks", "allocates in another order, or from other code")

typedef enum {
#define MV_RANK_REASON_ENUM(name, code, text) MV_RANK_##name,
    MV_RANK_REASON_LIST(MV_RANK_REASON_ENUM) MV_RANK_REASON_COUNT
} mv_rank_reason;

typedef struct {
    uint32_t rank;
    mv_rank_reason reason;
    uint64_t bytes;    /* number of bytes that the reason explains */
    double factor;     /* ratio of the bytes for LARGER_BATCH and SMALLER_BATCH; otherwise 0 */
    uint32_t code_of;  /* rank whose code contains `stack` */
    mv_stack_id stack; /* stack that accounts for the most bytes; MV_NO_STACK: not recorded */
    uint64_t at_stack; /* part of `bytes` at the culprit of `stack`; MV_NO_BYTES: unknown */
    const char *text;  /* the reason, with figures, as the predicate of a sentence */
} mv_rank_outlier;

/* A group of ranks. `most` is a rank whose sequence is the most frequent one (MV_NO_ROW: no rank
 * has a complete history). `first` is the rank whose sequence is the first to differ from that of
 * `most`, or MV_NO_ROW. */
typedef struct {
    uint32_t ranks;
    uint32_t reference; /* rank with the median peak; if two ranks are in the middle, the smaller
                         * one */
    uint32_t leaks;     /* number of ranks that leak */
    uint32_t unplaced;  /* number of ranks that hold more bytes without a stack than with one, so
                         * that their extra or missing sites are unknown */
    uint32_t most, first;
} mv_rank_group;

typedef struct {
    uint32_t groups;
    uint32_t *group;     /* [ranks] group of each rank */
    mv_rank_group *each; /* [groups] */
    uint32_t count;
    mv_rank_outlier *outliers; /* [count] by rank */
    uint32_t leaks;            /* number of ranks that leak */
    uint32_t most, first;      /* `most` and `first` of the first group that has a `first`;
                                * otherwise MV_NO_ROW */
    mv_divergence *apart;      /* [ranks] where the rank's sequence first differs from that of
                                * its group's `most`, or MV_NO_DIVERGENCE */
    const char *const *names;  /* [ranks] name of each rank */
    const char *verdict;       /* one sentence about all ranks */
    const char *leak_note;     /* sentence that notes that most ranks leak, or "" */
} mv_ranks;

/* Returns the rank with which a rank is compared. */
static inline uint32_t mv_rank_reference(const mv_ranks *ranks, uint32_t rank)
{
    return ranks->each[ranks->group[rank]].reference;
}

/* Compares `count` ranks, at least one. `ranks` are their summaries. If `grid` is zero, the stages
 * are inferred. O(n log n) in the sites of all ranks. Fails only when out of memory. */
mv_code mv_ranks_compare(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_rank_grid grid, mv_ranks *out, mv_err *err);

const char *mv_rank_reason_name(mv_rank_reason reason); /* "larger_batch" */
const char *mv_rank_reason_text(mv_rank_reason reason); /* the reason as the predicate of a
                                                         * sentence */
