/* Finds the minimum memory that any allocator would have had to reserve for one device of a trace,
 * and the reasons why PyTorch reserved more.
 *
 *     reserved = lower + separation + placement
 *
 * No allocator can need less than `lower`, which is the most bytes in use at once, with each
 * request rounded up to 512 bytes. `upper` is the size of a placement that was found and checked,
 * so an allocator that knew the run in advance would not need more than `upper`. docs/floor.md
 * explains the rules. */
#pragma once

#include "analyze/floor/placement.h"
#include "analyze/lives/lives.h"

typedef struct {
    bool is_known;           /* if false, `why` names the missing data, and the figures have no
                              * meaning */
    const char *why;         /* why the floor is unknown, or "" */
    const char *note;        /* limitations of the figures as a sentence without a full stop, or
                              * "" */
    uint64_t reserved;       /* recorded peak of reserved memory */
    uint64_t lower, upper;   /* lower <= what any allocator needs <= upper */
    uint64_t separation;     /* bytes beyond `lower` that are needed because streams, pools, and
                              * small and large requests do not share memory */
    uint64_t placement;      /* remaining bytes, caused by the placement of blocks, the rounding of
                              * segments, and cached memory */
    bool ideal;              /* lower == upper, so the placement is the best possible */
    uint32_t load_event;     /* event after which `lower` bytes were in use, or MV_BEFORE */
    uint32_t block_count;    /* number of placed blocks */
    mv_placed_block *blocks; /* [block_count] placed blocks; times are events + 1 */
    uint32_t *rows;          /* [block_count] row of each block in lives->allocs; MV_NO_ROW: a
                              * pool of a CUDA graph */
    uint64_t *offset;        /* [block_count] offset of each block in the placement */
} mv_minimum;

/* Finds the floor. The cost is that of mv_placement_find. All results are in `arena`. With
 * `bound_only`, nothing is placed and `upper` is not set, so the cost is O(n), except for pools and
 * segments. Then `arena` is used only for its budget, so another thread may use the arena at the
 * same time. Fails only when out of memory. */
mv_code mv_minimum_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        bool bound_only, mv_minimum *out, mv_err *err);

/* "3.88 GiB reserved at the peak = 3.47 GiB that any allocator needs + ...", and further sentences
 * that explain it. A sentence that does not apply is "". Allocated in `arena`; NULL when out of
 * memory. */
enum { MV_MINIMUM_SENTENCES = 3 };
const char *mv_minimum_verdict(mv_arena *arena, const mv_minimum *floor);
const char *mv_minimum_line(mv_arena *arena, const mv_minimum *floor); /* for other reports */
const char *mv_minimum_sentence(mv_arena *arena, const mv_minimum *floor, uint32_t which);
