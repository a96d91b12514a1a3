/* Finds bounds for figures from a lives table, which show whether a figure may be too low or too
 * high.
 *
 * A figure is a lower bound only if nothing can have made it too high, and vice versa:
 *
 *     too low    the history is incomplete; a free without an allocation; blocks of the final heap
 *                missing from the events; block sizes that are lower bounds; no final heap;
 *                for active and requested: no free_completed in the file; ends that only the
 *                final heap shows; for reserved: blocks outside every segment
 *     too high   an allocation that ended without a free event; blocks missing from the final heap;
 *                for allocated: no free_requested in the file
 *     both       sizes corrected by later events, or next to blocks that ended late;
 *                segment events that contradict the memory held; blocks that only frees show, or
 *                segments that only their ends show, because their starts have no events */
#pragma once

#include "analyze/lives/lives.h"

/* Bits. LEAST: the true figure may be higher. MOST: the true figure may be lower. */
typedef enum {
    MV_BOUND_EXACT = 0,
    MV_BOUND_LEAST = 1,
    MV_BOUND_MOST = 2,
    MV_BOUND_ABOUT = MV_BOUND_LEAST | MV_BOUND_MOST
} mv_bound;

const char *mv_bound_name(mv_bound bound);  /* the bound in words: "exact", "at least", "at
                                             * most", "about" */
const char *mv_bound_words(mv_bound bound); /* words to put before a number: "", "at least ", "at
                                             * most ", "about " */
const char *mv_bound_sign(mv_bound bound);  /* sign to put before a number: "", ">= ", "<= ", "~
                                             * " */

typedef struct {
    mv_bound allocated;
    mv_bound active;
    mv_bound requested;
    mv_bound reserved;
    mv_bound blocks; /* bound of the total bytes of all blocks ever allocated */
} mv_bounds;

/* Returns the bound of a figure from the events if the final heap contains `residual` bytes more
 * than the events show. */
mv_bound mv_bound_of_residual(int64_t residual);

/* Returns the bounds of the highest levels in a lives table. */
mv_bounds mv_bounds_of(const mv_lives *lives);

/* Returns the bounds of levels at and after the first event, regardless of earlier events. */
mv_bounds mv_bounds_within(const mv_lives *lives);

/* mv_bound_of_end is the bound of the bytes allocated after the last event, including the blocks of
 * the final heap. mv_bounds_after returns the bounds of all levels after any event. */
mv_bound mv_bound_of_end(const mv_lives *lives);
mv_bounds mv_bounds_after(const mv_lives *lives, uint32_t event);
