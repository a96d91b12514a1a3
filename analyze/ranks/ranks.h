/* Several ranks (or devices) side by side: which one differs, and why.
 *
 *     rank 0   1.20 GiB  clean        the median rank is the reference;
 *     rank 1   1.20 GiB  clean        rank 3 is off: the same sites as the reference, bytes
 *     rank 2   1.21 GiB  clean        scaled by one factor: a larger batch
 *     rank 3   2.31 GiB  clean
 *
 * Where no rank can be called ordinary (each has a peak of its own, as under pipeline
 * parallelism) none is called off. Of two ranks the larger is named, and by what it is larger;
 * neither is the wrong one. docs/ranks.md has the rules and their numbers. */
#ifndef MV_RANKS_H
#define MV_RANKS_H

#include "analyze/ranks/divergence.h"

#define MV_RANK_REASON_LIST(X)                                                                     \
    X(LEAK, "leak", "leaks, most others do not")                                                   \
    X(OOM, "oom", "ran out of memory, most others did not")                                        \
    X(LARGER_BATCH, "larger_batch", "has a larger batch: the same sites, scaled by one factor")    \
    X(SMALLER_BATCH, "smaller_batch", "has a smaller batch: the same sites, scaled by one factor") \
    X(OWN_SITES, "own_sites", "holds memory at places that no other rank has")                     \
    X(MISSING_SITES, "missing_sites", "lacks memory at places that all other ranks have")          \
    X(LARGER, "larger", "holds more at places that others have too")                               \
    X(SMALLER, "smaller", "holds less at places that others have too")                             \
    X(RESERVED, "reserved", "reserves more for as much allocated memory")                          \
    X(DIFFERENT_STACKS, "different_stacks", "allocates in another order, or from other code")

typedef enum {
#define MV_RANK_REASON_ENUM(name, code, text) MV_RANK_##name,
    MV_RANK_REASON_LIST(MV_RANK_REASON_ENUM)
#undef MV_RANK_REASON_ENUM
        MV_RANK_REASON_COUNT
} mv_rank_reason;

typedef struct {
    uint32_t rank;
    mv_rank_reason reason;
    uint64_t bytes;    /* that the reason explains */
    double factor;     /* LARGER_BATCH, SMALLER_BATCH: of the bytes; else 0 */
    uint32_t code_of;  /* the rank in whose code `stack` is */
    mv_stack_id stack; /* where most of the bytes are; MV_NO_STACK: not recorded */
} mv_rank_outlier;

typedef struct {
    uint32_t reference; /* rank of the median peak; of two, the smaller */
    uint32_t count;
    mv_rank_outlier *outliers; /* [count] by rank */
    uint32_t leaks;            /* ranks with that verdict */
    /* Sequences: `most` stands for what most ranks do (MV_NO_ROW: no rank's history is whole), and
     * each rank parts from that somewhere or, MV_NO_DIVERGENCE, not at all. `first` is the rank
     * that does so first, MV_NO_ROW when none does. */
    uint32_t most, first;
    mv_divergence *apart; /* [ranks] */
} mv_ranks;

/* `ranks` has `count` summaries, at least one. O(n log n) in the sites of all. Fails only for want
 * of memory. */
mv_code mv_ranks_compare(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_ranks *out, mv_err *err);

const char *mv_rank_reason_name(mv_rank_reason reason); /* "larger_batch" */
const char *mv_rank_reason_text(mv_rank_reason reason); /* a sentence's predicate */

#endif
