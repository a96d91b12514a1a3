/* What a timeline is drawn from: a clock, and the drawn rows. Found by a worker, since all times
 * have to be read, and outlines need to know what slides. */
#ifndef MV_TIMELINE_ROWS_H
#define MV_TIMELINE_ROWS_H

#include "base/plain.h"
#include "viz/core/drawn_rows.h"
#include "viz/core/pyramid.h"
#include "viz/core/timescale.h"

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t id;    /* identifies the question: never 0, and different for other bits */
    uint64_t clock; /* mv_clock */
    const mv_index *index;
    const mv_lives *device; /* allocations and segments of the device */
    const uint64_t *only;   /* a bit a rank, copied into the answer; NULL: all rows */
    size_t of_segments;     /* the index is of mv_segment_lives_as_allocs */
} mv_timeline_rows_ask;
MV_PLAIN_END

typedef struct {
    mv_timeline_rows_ask ask;
    mv_timescale scale;
    uint64_t *only; /* NULL: all rows */
    bool has_drawn; /* `drawn` is there: outlines can be asked for */
    mv_drawn drawn;
    /* With `only`: */
    mv_lives part;     /* index->lives with those rows alone */
    mv_lives held;     /* what `levels` are of: the part, or what lies in its segments */
    mv_pyramid levels; /* of allocations, those of the part; of segments, what the part reserves,
                          and what is allocated in it */
} mv_timeline_rows;

/* A mv_job_fn; NULL when memory is out. O(n). */
void *mv_timeline_rows_make(mv_arena *arena, void *context, const void *ask);

/* The same at once, for all rows on the clock of events; without `drawn`. */
void mv_timeline_rows_make_plain(const mv_timeline_rows_ask *ask, mv_timeline_rows *out);

#endif
