/* What a timeline stands on: a clock, and the rows that are drawn. Found beside the user interface,
 * since times have to be looked through, and outlines need to know what slides. */
#ifndef MV_TIMELINE_ROWS_H
#define MV_TIMELINE_ROWS_H

#include "viz/core/drawn_rows.h"
#include "viz/core/timescale.h"

/* Plain data, compared byte by byte. */
typedef struct {
    const mv_index *index;
    const uint64_t *rows; /* a bit a rank, copied into the ground; NULL: all rows */
    uint64_t id;          /* of what is asked: never 0, and another one for other bits */
    uint32_t clock;       /* mv_clock */
    uint32_t of_segments; /* the index is of mv_segment_lives_as_allocs */
} mv_ground_ask;

typedef struct {
    mv_ground_ask ask;
    mv_timescale scale;
    uint64_t *rows; /* NULL: all rows */
    bool has_drawn; /* `drawn` is there: outlines can be asked for */
    mv_drawn drawn;
    uint64_t most; /* bytes of the drawn rows at their highest, of all moments; of `rows` alone */
} mv_ground;

/* A mv_job_fn; NULL when memory is out. O(n). */
void *mv_ground_make(mv_arena *arena, void *context, const void *ask);

/* The same at once, for all rows on the clock of events; without `drawn`. */
void mv_ground_make_plain(const mv_ground_ask *ask, mv_ground *out);

#endif
