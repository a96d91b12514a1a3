/* The least memory that any allocator could have reserved for one device of a trace, and the causes
 * of PyTorch's higher reserved memory.
 *
 *     reserved = lower + separation + placement
 *
 * `lower` is a bound that no allocator can beat: the most bytes that were in use at once, each
 * request rounded to 512 bytes. `upper` is the size of a placement that was found and checked, so
 * an allocator that knew the run in advance needs no more. docs/floor.md explains the rules. */
#ifndef MV_FLOOR_H
#define MV_FLOOR_H

#include "analyze/floor/placement.h"
#include "analyze/lives/lives.h"

typedef struct {
    bool is_known;         /* false: `why` names the missing data, and the figures have no
                            * meaning */
    const char *why;       /* "" */
    const char *note;      /* what the figures do not cover: a sentence without a full stop; "" */
    uint64_t reserved;     /* recorded peak */
    uint64_t lower, upper; /* lower <= what any allocator needs <= upper */
    uint64_t separation;   /* streams, pools, small and large requests kept apart: what they needed
                            * beyond `lower` because memory of one does not serve another */
    uint64_t placement;    /* the rest: placement of blocks, rounding of segments, cached memory */
    bool ideal;            /* lower == upper: the placement is the best possible */
    uint32_t load_event;   /* after which `lower` bytes were in use; MV_BEFORE */
    uint32_t block_count;  /* that were placed */
    mv_placed_block *blocks; /* [block_count] times are events + 1 */
    uint32_t *rows;          /* [block_count] of lives->allocs; MV_NO_ROW: a pool of a CUDA graph */
    uint64_t *offset;        /* [block_count] in the placement */
} mv_minimum;

/* The cost is that of mv_placement_find. Everything returned lives in `arena`. With `bound_only` it
 * is O(n) but for the pools and segments, nothing is placed, there is no `upper`, and `arena` only
 * lends its budget, so another thread may use it. Fails only when out of memory. */
mv_code mv_minimum_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        bool bound_only, mv_minimum *out, mv_err *err);

/* "3.88 GiB reserved at the peak = 3.47 GiB that any allocator needs + ..." and what else a reader
 * has to know: "" where there is nothing to say. In `arena`; NULL when out of memory. */
enum { MV_MINIMUM_SENTENCES = 3 };
const char *mv_minimum_verdict(mv_arena *arena, const mv_minimum *floor);
const char *mv_minimum_line(mv_arena *arena, const mv_minimum *floor); /* for other reports */
const char *mv_minimum_sentence(mv_arena *arena, const mv_minimum *floor, uint32_t which);

#endif
