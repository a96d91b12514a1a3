/* The input of a timeline's drawing: a clock, and the drawn rows. Found by a worker, since all
 * times have to be read, and outlines need the slides. */
#ifndef MV_TIMELINE_ROWS_H
#define MV_TIMELINE_ROWS_H

#include "base/plain.h"
#include "viz/core/drawn_rows.h"
#include "viz/core/pyramid.h"
#include "viz/core/timescale.h"

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t id;    /* identifies the query: never 0, and different for different bits */
    uint64_t clock; /* mv_clock */
    const mv_index *index;
    const mv_lives *device; /* allocations and segments of the device */
    const uint64_t *only;   /* one bit for each rank, copied into the result; NULL: all rows */
    size_t of_segments;     /* the index comes from mv_segment_lives_as_allocs */
} mv_timeline_rows_query;
MV_PLAIN_END

typedef struct {
    mv_timeline_rows_query ask;
    mv_timescale scale;
    uint64_t *only; /* NULL: all rows */
    bool has_drawn; /* `drawn` is ready: outlines are available */
    mv_drawn drawn;
    /* With `only`: */
    mv_lives part;     /* index->lives with only those rows */
    mv_lives held;     /* the rows of `levels`: the part, or the rows in its segments */
    mv_pyramid levels; /* for allocations, levels of the part; for segments, the part's reserved
                          bytes and the bytes allocated in it */
} mv_timeline_rows;

/* A mv_job_fn; NULL when out of memory. O(n). */
void *mv_timeline_rows_make(mv_arena *arena, void *context, const void *ask);

/* Immediate version, for all rows on the event clock; without `drawn`. */
void mv_timeline_rows_make_plain(const mv_timeline_rows_query *ask, mv_timeline_rows *out);

#endif
