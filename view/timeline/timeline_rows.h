/* The data that a timeline is drawn from, which is a clock and the drawn rows. A worker prepares
 * this data, because all times have to be read, and because outlines need to know where rows
 * slide. */
#pragma once

#include "base/plain.h"
#include "viz/core/drawn_rows.h"
#include "viz/core/pyramid.h"
#include "viz/core/timescale.h"

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t id;    /* identifies the query; it is never 0, and differs for different bits */
    uint64_t clock; /* mv_clock */
    const mv_index *index;
    const mv_lives *device; /* allocations and segments of the device */
    const uint64_t *only;   /* one bit for each rank, which is copied into the result; NULL: all
                               rows */
    size_t of_segments;     /* whether the index comes from mv_segment_lives_as_allocs */
} mv_timeline_rows_query;
MV_PLAIN_END

typedef struct {
    mv_timeline_rows_query ask;
    mv_timescale scale;
    uint64_t *only; /* NULL: all rows */
    bool has_drawn; /* `drawn` is ready, so outlines are available */
    mv_drawn drawn;
    /* Valid only if `only` is not NULL. */
    mv_lives part;     /* the lives in `index`, with only the selected rows */
    mv_lives held;     /* the rows that `levels` is computed from, which are the selected
                          allocations, or those in the selected segments */
    mv_pyramid levels; /* levels of the selected allocations; or for segments, their reserved bytes
                          and the bytes allocated in them */
} mv_timeline_rows;

/* An mv_job_fn. Returns NULL when out of memory. O(n). */
void *mv_timeline_rows_make(mv_arena *arena, void *context, const void *ask);

/* Makes the rows at once, for all rows on the event clock, without `drawn`. */
void mv_timeline_rows_make_plain(const mv_timeline_rows_query *ask, mv_timeline_rows *out);
