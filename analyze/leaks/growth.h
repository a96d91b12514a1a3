/* Whether one allocation site grows step by step, judged by when its blocks were born.
 *
 * The input is, in bins (see steps.h): when the blocks that are still alive were born, and how long
 * the blocks that were freed lived.
 *
 *     bins         0   1 | 2   3   4   5   6 | 7   8
 *     a leak       x   x | x   x   x   x   x | x   x      born all along, none freed
 *     each third   x     |     x           x |     x      born seldom, none freed
 *     warm-up      x   x |                   |            only at the start
 *     cache        x   x | x   x             |            fills, then stops
 *     a window           |                   | x   x      as young as the freed ones were
 *                  ^ warm-up                   ^ too young to judge
 *
 *     new shapes   x   x |     x           x |            entries of sizes unseen before
 *
 * A block is overdue when it is older than blocks of its site usually get. A site grows when
 * overdue blocks were born in several bins after the warm-up, and do not stop or thin out before
 * the last bin that can be judged. docs/leaks.md gives the reason for each number. */
#ifndef MV_GROWTH_H
#define MV_GROWTH_H

#include "base/arena.h"

/* A cache keeps at least this many times more blocks than it has dropped until it has been full for
 * a while; then its bytes at the floors show that (net_growth.h). */
#define MV_KEPT_BY_CACHE 4

typedef struct {
    uint32_t marks;       /* the last bin: bins are 0 to marks */
    const uint32_t *born; /* [alive] bins in which the live blocks were born, ascending */
    uint32_t alive;
    bool sizes_recur; /* most sizes were born in several bins */
    bool is_one_size; /* most blocks have the same size */
    uint32_t *lived;  /* [freed] bins that the freed blocks lived through; the call sorts it */
    uint32_t freed;
} mv_growth_site;

typedef enum {
    MV_GROWTH_NONE,   /* does not grow */
    MV_GROWTH_MAYBE,  /* may grow; too few steps to be sure */
    MV_GROWTH_SELDOM, /* frees its blocks, but keeps one now and then; too few blocks to be sure */
    MV_GROWTH_STEADY, /* grows */
} mv_growth_kind;

typedef struct {
    mv_growth_kind kind;
    double confidence; /* 0.5 to 1 when STEADY, else 0 */
    uint32_t first,
        last;      /* judged bins, without the warm-up and the youngest; last < first: none */
    uint32_t most; /* most live blocks from one judged bin */
    uint32_t bins; /* judged bins with a live block */
} mv_growth;

/* The first bin that is judged: those before it are warm-up. */
uint32_t mv_growth_first_bin(uint32_t marks);

/* O(n log n) in the blocks given. Allocates nothing. */
mv_growth mv_growth_evaluate(const mv_growth_site *site);

#endif
