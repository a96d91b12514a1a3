/* The data that the timeline pane keeps between frames. The pane shows the allocations of a device
 * over time, or its segments (mv_view_state.main).
 *
 *     now.from, now.to ──eased──► shown ──► viewport ──► tiles, curves, marks, labels
 *
 *     pane_timeline.c       layout of the pane's parts; the mouse
 *     timeline_stack.c      allocations: tiles and their colours
 *     timeline_labels.c     names inside allocations
 *     timeline_curves.c     levels over time, peaks, out of memory
 *     timeline_axes.c       scales at the edges; callouts
 *     timeline_cuts.c       pauses removed by the busy-time clock
 *     timeline_lanes.c      annotations, steps, marks, spikes
 *     timeline_select.c     cursor and interval
 *     timeline_hover.c      the allocation under the pointer, the pinned one
 *     legend_count.c        the bytes of each colour
 *     timeline_legend.c     rows of the legend
 *     timeline_device.c     the whole device, below the timeline (device_lane)
 *     timeline_segments.c   segments, by how full they are
 *     timeline_compare.c    the compared device
 *     timeline_whatif.c     the replayed run
 *     pane_minimap.c        the whole trace, with the shown window marked */
#pragma once

#include "base/plain.h"
#include "view/frame/view.h"
#include "view/timeline/alignment.h"
#include "view/timeline/legend_count.h"
#include "view/timeline/mark_lanes.h"
#include "view/timeline/segment_use.h"
#include "view/timeline/timeline_rows.h"
#include "view/timeline/viewport.h"
#include "viz/core/hit_test.h"
#include "viz/core/tiles.h"

/* The highest and lowest level in each pixel column, for the shown device or for an overlaid
 * one. */
typedef struct {
    mv_viewport at; /* viewport of the columns */
    const mv_pyramid *pyramid;
    mv_alignment to;    /* alignment with another device; all zeros for the shown device */
    uint32_t from, end; /* columns [from, end) to draw; the other device has no events outside of
                           them */
    uint32_t count, capacity;
    uint32_t coarse;    /* for another device, the number of columns that are merged at first; 0
                         * counts as 1 */
    uint32_t exact;     /* number of columns at the start that are exact. The borders of all other
                        columns are off by less than a column */
    mv_extent *columns; /* [count] */
} mv_envelope;

typedef struct {
    uint64_t serial, colours, turn; /* keys of the tile and of its colours, and the frame in which
                                     * it was last painted */
    uint64_t capacity;              /* size of `pixels` in bytes */
    uint32_t *pixels;
    mv_pixels image;
} mv_tinted; /* a coloured tile */

enum { MV_MOST_TINTED = 96 };

typedef enum {
    MV_DRAG_NONE,
    MV_DRAG_PRESSED,  /* a click, unless the pointer moves */
    MV_DRAG_INTERVAL, /* the interval's other end follows the pointer */
    MV_DRAG_PAN,
    MV_DRAG_SCRUB,  /* the cursor follows the pointer */
    MV_DRAG_MOMENT, /* like MV_DRAG_SCRUB, in the minimap below the allocator's state */
    MV_DRAG_LEGEND, /* the legend's edge follows the pointer */
    MV_DRAG_WINDOW, /* the window follows the pointer in the minimap; for the next two kinds, one
                       edge of the window does */
    MV_DRAG_WINDOW_FROM,
    MV_DRAG_WINDOW_TO,
    MV_DRAG_WINDOW_NEW /* a drag in the minimap makes a new window, and a click moves the window to
                          the pointer */
} mv_drag_kind;

typedef struct {
    mv_drag_kind kind;
    float x, y;         /* where the drag began, in pixels */
    uint32_t other_end; /* the end of the interval that stays fixed */
    mv_stretch shown;   /* the window at the start of the drag */
    double y_from, y_to;
} mv_drag;

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    const mv_index *index;
    const mv_pyramid *pyramid;
    uint32_t a, b;        /* the events [a, b) of the interval */
    uint64_t of_segments; /* the index contains segments */
} mv_interval_query;
MV_PLAIN_END

typedef struct {
    mv_slot *slot;
    mv_timeline_rows_query ask; /* the query; its id is 0 if there is none yet */
    mv_timeline_rows plain;     /* the part of the result that is available at once */
    uint64_t only_key;          /* key of the isolated rows; 0: all rows are shown */
    bool is_found;              /* the query has a result */
    bool is_plain; /* the part that is available at once is used as the result, because printed
                      pictures have no outlines of single blocks */
} mv_asked_rows;

/* A copy of the isolated rows, which is kept until the worker has used it. */
typedef struct {
    uint64_t capacity; /* size of `words` in bytes */
    uint64_t *words;
} mv_isolated;

/* A query for data about a device that is not about its rows. Queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    const mv_document_device *device;
    size_t is_evaluated;
} mv_marks_query;
MV_PLAIN_END

typedef struct {
    mv_mark_lanes lanes;
    bool has_pending; /* some blocks waited for a stream after they were freed */
} mv_device_marks;

/* The sums over an interval. */
typedef struct {
    uint64_t allocated, freed; /* allocated and freed bytes */
    uint32_t allocs, frees;
    uint64_t held; /* bytes allocated in the interval and still alive at its end */
    uint32_t held_blocks;
    uint64_t most; /* highest level in the interval, starting with the state before it: allocated
                    * bytes, or reserved bytes for segments */
} mv_interval_sums;

typedef struct mv_ranks_pane mv_ranks_pane; /* pane_ranks.h */

struct mv_timeline_pane {
    mv_arena arena; /* memory for tables that grow */
    mv_tiles *tiles;
    mv_ranks_pane *ranks;
    /* For allocations and for segments: the rows that are shown, and the rows that will be shown
     * next. */
    mv_asked_rows asked_rows[2][2];
    uint32_t shown_rows[2];
    uint64_t last_rows;
    mv_slot *marks_slot, *interval_slot, *use_slot, *use_all_slot, *pools_slot;
    mv_slot *requested_slot, *requested_at_slot; /* slots of mv_pools_find, for all pools
                                                    together */
    mv_slot *device_slot;                        /* slot of mv_device_lane_find */
    mv_slot *ledger_slot, *pointed_slot;         /* slots of mv_ledger_moment_find, for the legend
                                                    and for the pointer */
    const struct mv_device_lane *device_shown;   /* lane painted in the last frame; NULL: none was
                                                    painted */

    mv_isolated isolated[2];       /* isolated allocations and isolated segments */
    mv_pyramid_reader part_levels; /* levels of the shown rows, if these are only a part of all
                                      rows */
    uint64_t part_rows;            /* id of the query that these rows belong to */

    /* the moving window */
    const mv_document_device *device; /* the device that the window belongs to */
    mv_stretch shown, start, goal;
    double y_from, y_to, start_y_from, start_y_to, goal_y_from, goal_y_to;
    double start_ms;
    double zoomed_ms; /* time when the scale last changed; tiles become exact a little later */
    double dx, dy;    /* units of the clock and bytes per pixel in the last frame */
    bool jumps;       /* the next change is shown at once, without easing */
    bool is_zooming;
    bool is_easing;
    uint64_t turn; /* number of frames so far */

    mv_envelope envelope, whole; /* levels in each column, for the plot and for the minimap */
    mv_envelope over;            /* levels of the compared device in each column of the plot */
    mv_pyramid_reader other_levels;
    const mv_document_device *other; /* the device that the reader belongs to */

    mv_tinted tinted[MV_MOST_TINTED];

    mv_arena hit_arena;
    mv_column_stack stack; /* finds the row under the pointer */
    uint64_t hit_rows;     /* identifies the rows that `stack` was made for; 0: none */

    mv_legend legend, counting; /* the legend that is shown, and the one that is being counted */
    mv_legend_rows legend_rows; /* rows of the legend in the last frame; a click selects one of
                                   them */
    uint32_t device_keys;       /* number of rows in the last legend of the device's lane, or 0 */
    uint32_t legend_lines;      /* number of lines that the last legend would fill, or 0; it
                                 * determines the number of columns if the legend is below the
                                 * picture */
    mv_drag drag;
    mv_box plot; /* box of the plot in the last frame */
    mv_viewport at, map_at;
    bool has_viewport;
    bool is_fitted; /* the last command was fit_selection */
};

bool mv_timeline_pane_open(mv_view *view); /* false: out of memory */
void mv_timeline_pane_close(mv_view *view);
bool mv_timeline_is_idle(const mv_view *view);     /* whether no tile is being made */
bool mv_timeline_run_one_task(mv_view *view);      /* like mv_tiles_run_one_task */
void mv_timeline_paint(mv_view *view, mv_box box); /* paints allocations or segments (now.main) */
void mv_minimap_paint(mv_view *view, mv_box box);
void mv_ranks_paint(mv_view *view, mv_box box); /* pane_ranks.h */
