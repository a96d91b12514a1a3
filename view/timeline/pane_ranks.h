/* Several files, devices or ranks as lanes, one below the other: the pane's data.
 *
 *     ┌ rank0.pickle  1.20 GiB   310 MiB │▁▃▅▇▅▃▁▃▅▇▅▃   one byte scale for all, or one
 *     │ rank1.pickle  1.20 GiB   309 MiB │▁▃▅▇▅▃▁▃▅▇▅▃   for each; all are aligned with the
 *     │ rank2.pickle  2.31 GiB   640 MiB │▂▆▇▇▆▂▂▆▇▇▆▂   shown device (alignment.h), and
 *     └  name         peak       cursor  │     │         share its window, clock and cursor
 *                                            cursor
 *
 * Lanes get thinner, down to MV_RANK_LEAST pixels; then they scroll, except pinned lanes. The
 * user's arrangement is in rank_lanes.h. */
#ifndef MV_PANE_RANKS_H
#define MV_PANE_RANKS_H

#include "analyze/ranks/ranks.h"
#include "view/frame/device_rows.h"
#include "view/timeline/plot.h"

enum {
    MV_RANK_LEAST = 14,
    MV_RANK_LANES = 256, /* most lanes shown at a time */
    MV_RANK_BAR = 12     /* to the right of the lanes: a scroll bar, and ticks for outliers */
};

/* The results of `memviz ranks`. */
typedef struct {
    uint32_t count;
    uint32_t *file, *device; /* [count] rows, in the order of mv_device_rows */
    mv_ranks found;
} mv_compared_ranks;

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    mv_document *const *documents;
    uint32_t document_count;
    uint32_t shown_count; /* number of shown devices: all are known once nothing is loading */
} mv_ranks_query;
MV_PLAIN_END

void *mv_ranks_find(mv_arena *arena, void *context, const void *ask); /* a mv_job_fn */

typedef struct {
    const mv_document_device *device; /* device of the last frame */
    mv_pyramid_reader levels;
    mv_envelope columns;
    mv_slot *hits; /* of the search; NULL: none was shown yet */
} mv_rank_lane;

struct mv_ranks_pane {
    mv_slot *judged;
    mv_rank_lane *lanes; /* [MV_RANK_LANES] the pinned lanes; then lane i at i % the number of the
                          * rest */
    uint32_t first;      /* the lane at the top, below the pinned ones */
    uint32_t *order;     /* [MV_MOST_DEVICE_ROWS] the row of each lane in the last frame */
    uint32_t ordered;    /* number of lanes in `order` */
    uint32_t placed;     /* lanes painted in the last frame, and where */
    uint32_t placed_lane[MV_RANK_LANES];
    float placed_y[MV_RANK_LANES], placed_h[MV_RANK_LANES];
    /* The automatic alignment, and the devices it was found for. */
    const mv_document_device *best_here;
    uint32_t best_shown, best_evaluated;
    mv_align best;
};

bool mv_ranks_pane_open(mv_view *view); /* false: out of memory */

/* The width of the names and numbers of all lanes. */
float mv_ranks_names_width(mv_view *view);

/* The row at a point of the last frame, and the place there in events of the shown device; false:
 * no lane of a ready device. */
bool mv_rank_at(mv_view *view, mv_box box, float x, float y, mv_device_row *out, double *place);

/* The lane at a point of the last frame, its name included; MV_NO_ROW: none. */
uint32_t mv_rank_lane_at(const mv_view *view, float x, float y);

/* The row of a lane of the last frame; NULL: there is none. In frame memory. */
const mv_device_row *mv_rank_row(mv_view *view, uint64_t lane);

/* The alignment of that row with the shown device. */
mv_alignment mv_rank_alignment(mv_view *view, const mv_device_row *row);

#endif
