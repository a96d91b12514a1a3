/* The data of the pane that shows several files, devices or ranks as lanes, one below the other.
 *
 *     ┌ rank0.pickle  1.20 GiB   310 MiB │▁▃▅▇▅▃▁▃▅▇▅▃   one byte scale for all, or one
 *     │ rank1.pickle  1.20 GiB   309 MiB │▁▃▅▇▅▃▁▃▅▇▅▃   for each; all are aligned with the
 *     │ rank2.pickle  2.31 GiB   640 MiB │▂▆▇▇▆▂▂▆▇▇▆▂   shown device (alignment.h), and
 *     └  name         peak       cursor  │     │         share its window, clock and cursor
 *                                            cursor
 *
 * The more lanes there are, the thinner they become, down to MV_RANK_LEAST pixels. If there are
 * still too many, all lanes except the pinned ones scroll. rank_lanes.h describes how the user
 * arranges them. */
#pragma once

#include "analyze/ranks/ranks.h"
#include "view/frame/device_rows.h"
#include "view/timeline/plot.h"

enum {
    MV_RANK_LEAST = 14,
    MV_RANK_LANES = 256, /* maximum number of lanes shown at the same time */
    MV_RANK_BAR = 12     /* width of the space to the right of the lanes, for a scroll bar and ticks
                            at outliers */
};

/* The result of `memviz ranks`. */
typedef struct {
    uint32_t count;
    uint32_t *file, *device; /* [count] file and device of each rank, in the order of
                                mv_device_rows */
    mv_ranks found;
} mv_compared_ranks;

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    mv_document *const *documents;
    uint32_t document_count;
    uint32_t shown_count; /* number of devices that are shown; it no longer changes once nothing is
                             loading */
} mv_ranks_query;
MV_PLAIN_END

void *mv_ranks_find(mv_arena *arena, void *context, const void *ask); /* an mv_job_fn */

typedef struct {
    const mv_document_device *device; /* device that the lane showed in the last frame */
    mv_pyramid_reader levels;
    mv_envelope columns;
    mv_slot *hits; /* hits of the search; NULL: no hits have been shown yet */
} mv_rank_lane;

struct mv_ranks_pane {
    mv_slot *judged;
    mv_rank_lane *lanes; /* [MV_RANK_LANES] the pinned lanes come first. Every other lane i is at
                          * index i modulo the number of slots after the pinned lanes, counted from
                          * the first of them */
    uint32_t first;      /* the lane at the top, below the pinned lanes */
    uint32_t *order;     /* [MV_MOST_DEVICE_ROWS] row that each lane showed in the last frame */
    uint32_t ordered;    /* number of lanes in `order` */
    uint32_t placed;     /* number of lanes painted in the last frame; their numbers and positions
                            follow */
    uint32_t placed_lane[MV_RANK_LANES];
    float placed_y[MV_RANK_LANES], placed_h[MV_RANK_LANES];
    /* The automatic alignment, and the devices that it was found for. */
    const mv_document_device *best_here;
    uint32_t best_shown, best_evaluated;
    mv_align best;
};

bool mv_ranks_pane_open(mv_view *view); /* false: out of memory */

/* Returns the width of the names and numbers to the left of all lanes. */
float mv_ranks_names_width(mv_view *view);

/* Finds the row at a point of the last frame, and the position there as an event number of the
 * shown device, with a fraction. Returns false if there is no lane of a ready device. */
bool mv_rank_at(mv_view *view, mv_box box, float x, float y, mv_device_row *out, double *place);

/* Returns the lane at a point of the last frame, which includes the lane's name; MV_NO_ROW:
 * none. */
uint32_t mv_rank_lane_at(const mv_view *view, float x, float y);

/* Returns the row of a lane in the last frame, allocated in frame memory; NULL: there is none. */
const mv_device_row *mv_rank_row(mv_view *view, uint64_t lane);

/* Returns the alignment of that row's device with the shown device. */
mv_alignment mv_rank_alignment(mv_view *view, const mv_device_row *row);
