/* Decides whether one allocation site grows step by step, judged by when its blocks were born.
 *
 * The input consists of the bins (see steps.h) in which the live blocks were born, and of the
 * number of bins for which the freed blocks lived.
 *
 *     bins         0   1 | 2   3   4   5   6 | 7   8
 *     a leak       x   x | x   x   x   x   x | x   x      born in every bin, none freed
 *     each third   x     |     x           x |     x      born in few bins, none freed
 *     warm-up      x   x |                   |            only at the start
 *     cache        x   x | x   x             |            fills, then stops
 *     a window           |                   | x   x      as young as freed blocks were
 *                  ^ warm-up                   ^ too young to judge
 *
 *     new shapes   x   x |     x           x |            entries of new sizes
 *     new keys     x   x | x   x       x     |            fewer and fewer
 *
 * A block is overdue if it is older than most blocks of its site were when they were freed. A site
 * grows if overdue blocks were born in several bins after the warm-up, and if these births neither
 * stop nor become rarer before the last bin that can be judged. docs/leaks.md gives the reason for
 * each number. */
#pragma once

#include "base/arena.h"

/* A full cache drops entries. While a site keeps at least this many times more blocks than it has
 * dropped, it may be a cache that is not full yet, or has only just become full. Later, the bytes
 * at the floors show whether it is a full cache (net_growth.h). */
#define MV_KEPT_BY_CACHE 4

typedef struct {
    uint32_t marks;       /* number of marks; bins are 0 to marks */
    const uint32_t *born; /* [alive] birth bin of each live block, ascending */
    uint32_t alive;
    bool sizes_recur; /* most of the sizes occur in several bins */
    bool is_one_size; /* most blocks have the same size */
    uint32_t freed;
    uint32_t outlived; /* number of freed blocks that outlived the bin of their birth */
    uint32_t *lived;   /* [outlived] age in bins of each of these; mv_growth_evaluate sorts it */
} mv_growth_site;

typedef enum {
    MV_GROWTH_NONE,   /* does not grow */
    MV_GROWTH_MAYBE,  /* may grow, but there are too few steps to be sure */
    MV_GROWTH_SELDOM, /* frees most of its blocks, but keeps one now and then; there are too few
                       * blocks to be sure */
    MV_GROWTH_STEADY, /* grows */
} mv_growth_kind;

typedef struct {
    mv_growth_kind kind;
    double confidence; /* certainty that the site grows: 0.5 to 1 if STEADY, otherwise 0 */
    uint32_t first,
        last;      /* first and last judged bin, without the warm-up and the youngest bins; last <
                    * first: none */
    uint32_t most; /* the most live blocks that were born in one judged bin */
    uint32_t bins; /* number of judged bins in which live blocks were born */
    uint32_t from, to; /* the first and the last of these bins */
    bool is_even;      /* bins with births are about equally far apart */
    bool slows; /* fewer and fewer blocks are kept, so a STEADY site may be a cache that fills:
                    * the more keys it has, the fewer are new */
    uint32_t first_third, last_third; /* number of live blocks born in each third of the judged
                                       * bins */
} mv_growth;

/* Returns the first judged bin; earlier bins belong to the warm-up. */
uint32_t mv_growth_first_bin(uint32_t marks);

/* Evaluates one site. O(n log n) in the number of its blocks. Allocates no memory. */
mv_growth mv_growth_evaluate(const mv_growth_site *site);
