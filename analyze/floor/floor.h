/* The minimum memory that any allocator could have reserved for one device of a trace, and the
 * causes of PyTorch's higher reserved memory.
 *
 *     reserved = lower + separation + placement
 *
 * `lower` is a bound that no allocator can beat: the most bytes in use at once, with each request
 * rounded to 512 bytes. `upper` is the size of a placement that was found and checked, so an
 * allocator that knew the run in advance would not need more. docs/floor.md explains the rules. */
#ifndef MV_FLOOR_H
#define MV_FLOOR_H

#include "analyze/floor/placement.h"
#include "analyze/lives/lives.h"

typedef struct {
    bool is_known;         /* false: `why` names the missing data, and the figures have
                            * no meaning */
    const char *why;       /* "" */
    const char *note;      /* limitations of the figures: a sentence without a full stop; or "" */
    uint64_t reserved;     /* recorded peak */
    uint64_t lower, upper; /* lower <= what any allocator needs <= upper */
    uint64_t separation;   /* streams, pools, small and large requests are separate: bytes that this
                            * needs beyond `lower`, because their memory cannot be shared */
    uint64_t placement;    /* the rest: placement of blocks, rounding of segments, cached memory */
    bool ideal;            /* lower == upper: the placement is the best possible */
    uint32_t load_event;   /* event after which `lower` bytes were in use, or MV_BEFORE */
    uint32_t block_count;  /* number of placed blocks */
    mv_placed_block *blocks; /* [block_count] times are events + 1 */
    uint32_t *rows;          /* [block_count] row of lives->allocs; MV_NO_ROW: a pool of a
                              * CUDA graph */
    uint64_t *offset;        /* [block_count] in the placement */
} mv_minimum;

/* The cost is that of mv_placement_find. All results are in `arena`. With `bound_only` it is O(n),
 * except for pools and segments: nothing is placed, there is no `upper`, and `arena` is only used
 * for its budget, so another thread may use it. Fails only when out of memory. */
mv_code mv_minimum_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        bool bound_only, mv_minimum *out, mv_err *err);

/* "3.88 GiB reserved at the peak = 3.47 GiB that any allocator needs + ...", and further sentences
 * that a reader needs; "" for each that does not apply. In `arena`; NULL when out of memory. */
enum { MV_MINIMUM_SENTENCES = 3 };
const char *mv_minimum_verdict(mv_arena *arena, const mv_minimum *floor);
const char *mv_minimum_line(mv_arena *arena, const mv_minimum *floor); /* for other reports */
const char *mv_minimum_sentence(mv_arena *arena, const mv_minimum *floor, uint32_t which);

#endif
