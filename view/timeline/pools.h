/* The bytes of pools over a window of the timeline, found by a worker (viz/pictures/pool_levels.h).
 *
 * Columns are the plot's pixels on the event and time clocks; on the tick clock they have equal
 * numbers of events. */
#ifndef MV_VIEW_POOLS_H
#define MV_VIEW_POOLS_H

#include "base/plain.h"
#include "view/frame/colour_groups.h"
#include "viz/pictures/pool_levels.h"

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    double x, dx; /* place on the clock at the left edge, and width of a pixel */
    const mv_document *document;
    const mv_document_device *device;
    const mv_filter_bits *only; /* of a sheet; NULL: all */
    uint32_t first, end;        /* events shown */
    uint32_t columns;
    uint32_t envelopes; /* at most; 0: all pools are merged, without groups */
    uint32_t clock, mode, is_evaluated;
    uint32_t show; /* mv_show */
    size_t top;    /* from a sheet: only this many rows are coloured; 0: all */
    char search[MV_SEARCH_TEXT];
} mv_pools_query;
MV_PLAIN_END

typedef struct {
    mv_pools_query ask;
    mv_envelopes pools;
    mv_window *columns; /* [ask.columns] moments */
    mv_pool_levels levels;
    const uint64_t *largest;        /* one bit for each coloured row; NULL: all are */
    uint64_t group[MV_POOL_GROUPS]; /* keys of mv_colour_group: largest area first; the last of
                                       levels.groups is for all others, and has no key */
    uint32_t row[MV_POOL_GROUPS];   /* an allocation of each group */
} mv_pools_answer;

/* A mv_job_fn; NULL when out of memory. */
void *mv_pools_find(mv_arena *arena, void *context, const void *ask);

#endif
