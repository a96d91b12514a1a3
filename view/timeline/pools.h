/* The bytes of each pool over a window of the timeline. A worker finds them
 * (viz/pictures/pool_levels.h).
 *
 * On the event and time clocks, a column is a pixel of the plot. On the tick clock, all columns
 * have the same number of events. */
#pragma once

#include "base/plain.h"
#include "view/frame/colour_groups.h"
#include "viz/pictures/pool_levels.h"

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    double x, dx; /* position of the left edge on the clock, and width of a pixel */
    const mv_document *document;
    const mv_document_device *device;
    const mv_filter_bits *only; /* the filter of a sheet; NULL: all rows */
    uint32_t first, end;        /* the events [first, end) are shown */
    uint32_t columns;
    uint32_t envelopes; /* maximum number of envelopes; 0: all pools are merged, without groups */
    uint32_t clock, mode, is_evaluated;
    uint32_t show; /* mv_show */
    size_t top;    /* number of rows that are coloured, as set in a sheet; 0: all */
    char search[MV_SEARCH_TEXT];
} mv_pools_query;
MV_PLAIN_END

typedef struct {
    mv_pools_query ask;
    mv_envelopes pools;
    mv_window *columns; /* [ask.columns] moments in each column */
    mv_pool_levels levels;
    const uint64_t *largest;        /* one bit for each row, set if it is coloured; NULL: all are */
    uint64_t group[MV_POOL_GROUPS]; /* keys of mv_colour_group, largest area first. The last of
                                       levels.groups stands for all other groups, and has no key */
    uint32_t row[MV_POOL_GROUPS];   /* an allocation of each group */
} mv_pools_answer;

/* An mv_job_fn. Returns NULL when out of memory. */
void *mv_pools_find(mv_arena *arena, void *context, const void *ask);
