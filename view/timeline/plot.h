/* The data of one frame of the timeline pane. Included only by the files that paint it and by panes
 * with the same legend. */
#ifndef MV_PLOT_H
#define MV_PLOT_H

#include "view/timeline/pane_timeline.h"
#include "view/timeline/pools.h"
#include "viz/scene/callouts.h"

typedef struct {
    mv_view *view;
    mv_ui *ui;
    mv_timeline_pane *pane;
    const mv_trace *trace;
    const mv_document *document;
    const mv_document_device *device;
    const mv_lives *lives; /* the stacked rows: allocations, or segments as allocations */
    const mv_index *index; /* of these rows */
    const mv_timeline_rows *rows;
    mv_pyramid_reader *levels;  /* levels of the shown rows: all, or a part */
    const mv_mark_lanes *marks; /* NULL: not known yet */
    const mv_segment_use *use;  /* NULL: the plot does not show segments, or not known yet */
    bool of_segments;
    bool of_ranks;    /* lanes of several devices: `plot` is around all of them */
    bool of_pools;    /* one envelope for each pool, instead of a stack */
    bool has_pending; /* freed blocks waited for a stream */
    mv_box lanes, spikes, plot, ruler, scale, legend, head;
    mv_box times; /* time labels, below the ruler; only on paper */
    mv_box device_lane, device_legend;
    uint32_t legend_columns; /* 0 and 1: one */
    bool is_legend_below;    /* below the plot, not beside it */
    mv_viewport at;
    mv_window shown;                 /* events */
    mv_extent most;                  /* extent of the window */
    uint32_t *spike_of;              /* [plot.w] ranks; NULL: none */
    uint32_t seen_count;             /* groups of colours that have a shape */
    const uint32_t *seen;            /* [seen_count] a rank of each; NULL: found from tiles */
    const mv_pools_answer *pools;    /* the painted result; NULL: none */
    bool has_rest, has_hatch;        /* on paper: such areas are visible */
    uint32_t label_count;            /* names painted in shapes so far */
    mv_callouts callouts;            /* texts in the plot */
    const mv_document_device *other; /* the compared device; NULL: none */
    mv_alignment to;                 /* its alignment with the shown device */
    mv_tile_frame tiles;             /* of this frame; 0: none */
} mv_plot;

/* False when there is no device, no rows or no room yet; a message is painted instead. */
bool mv_plot_open(mv_plot *p, mv_view *view, mv_box box);

/* Sets p->at and p->shown: the window as last shown. */
void mv_plot_look(mv_plot *p);
/* Opens the plot for a frame and advances the window. False: a message is painted instead. */
bool mv_plot_begin(mv_plot *p, mv_view *view, mv_box box);

/* The rows and marks of the shown device; NULL: not ready yet. */
const mv_timeline_rows *mv_timeline_rows_of(mv_view *view, bool of_segments);
const mv_mark_lanes *mv_timeline_marks(mv_view *view);

/* The whole trace, as shown by the minimap in `box`; false: not ready, or no room. */
bool mv_minimap_open(mv_view *view, mv_box box, mv_viewport *out);

/* A device's rows and marks, found again when the device changes. */
const mv_device_marks *mv_timeline_device_marks(mv_view *view);
void *mv_device_marks_find(mv_arena *arena, void *context, const void *ask); /* a mv_job_fn */

/* ---- timeline_axes.c ---- */
void mv_plot_axes(mv_plot *p);
/* "event 8,407" or "2.948 s", depending on the clock; in the frame's memory. */
const char *mv_plot_moment(mv_plot *p, uint32_t event);
const char *mv_plot_time(const mv_plot *p,
                         uint32_t event); /* "2.948 s", or "" when there are no times */
/* A text near a point of the plot that covers no other text, no part of the stack and no line; the
 * brief text if there is not enough room; omitted if there is no room at all. A line leads to it if
 * it is not next to the point. */
bool mv_plot_callout(mv_plot *p, float x, float y, uint32_t colour, const char *text,
                     const char *brief);
enum { MV_CALLOUT_HEIGHT = 18 };

/* ---- timeline_curves.c ---- */
/* Fills the unknown columns, and makes up to `most` exact, within a few milliseconds unless it is
 * UINT32_MAX; true when all are exact. */
enum { MV_EXACT_COLUMNS = 200 }; /* in each frame, while other work waits */
bool mv_envelope_find(mv_timeline_pane *pane, mv_envelope *envelope, mv_pyramid_reader *reader,
                      mv_viewport at, const mv_alignment *to, uint32_t most);
void mv_plot_curves(mv_plot *p);
/* The moments of the columns [column, end); false: the other device has none there. */
bool mv_envelope_moments(const mv_envelope *envelope, uint32_t column, uint32_t end,
                         mv_window *out);
/* The first column that contains a moment of the envelope's device; false: none does. */
bool mv_envelope_column(const mv_envelope *envelope, uint32_t event, uint32_t *out);
void mv_plot_peaks(mv_plot *p); /* and failed requests */
typedef enum { MV_ALLOCATED, MV_ACTIVE, MV_RESERVED } mv_measure;
uint64_t mv_measure_of(const mv_levels *levels, mv_measure which);
/* A step curve with the highest value of each column, with the stroke of `shape`. */
void mv_curve_paint(mv_ui *ui, const mv_viewport *at, const mv_envelope *envelope, mv_measure which,
                    mv_shape shape);
uint64_t mv_plot_capacity(const mv_plot *p); /* of the device; MV_NO_BYTES: unknown */

/* ---- timeline_compare.c: the compared device; without one they do nothing ---- */
void mv_plot_other_find(mv_plot *p); /* before the others: sets p->other and p->to */
/* The highest level of the compared device in a window of the shown device; 0: none. */
uint64_t mv_plot_other_most(mv_plot *p, mv_stretch shown);
void mv_plot_other(mv_plot *p);
void mv_plot_other_peak(mv_plot *p);
void mv_plot_other_key(mv_plot *p, mv_box *box); /* paints the device's legend rows, cut off the
                                                  * box */
const char *mv_plot_other_tip(mv_plot *p, uint32_t event); /* "rank1.pickle: 120 MiB", or NULL */

/* ---- timeline_whatif.c: the replayed run; without one they do nothing ---- */
uint64_t mv_plot_whatif_most(const mv_plot *p, mv_stretch window); /* highest level in a window */
void mv_plot_whatif(mv_plot *p);
void mv_plot_whatif_key(mv_plot *p, mv_box *box); /* paints the run's legend rows, cut off the
                                                   * box */
const char *mv_plot_whatif_tip(const mv_plot *p, uint32_t event); /* NULL: no text */

/* ---- timeline_stack.c, timeline_segments.c ---- */
void mv_plot_stack(mv_plot *p);
void mv_plot_stack_shapes(mv_plot *p); /* stack_shapes.h: the same on paper */
mv_tile_view mv_plot_tile_view(const mv_plot *p);
void mv_plot_tint_segments(mv_plot *p, const mv_tile *tile, uint32_t *pixels);
uint64_t mv_plot_use_key(mv_plot *p); /* finds p->use; returns the key of its colours */

/* ---- timeline_pools.c: in place of the stack, the curves and the axis of bytes ---- */
void mv_plot_pools(mv_plot *p);
mv_pools_query mv_plot_pools_query(const mv_plot *p);

/* ---- timeline_requested.c ---- */
#define MV_REQUESTED_COLOUR 0x009e73ff
bool mv_plot_shows_requested(const mv_plot *p);
void mv_plot_requested(mv_plot *p); /* also sets view->requested */
/* The maximum in a pixel's column; MV_NO_BYTES: not shown, or not known yet. */
uint64_t mv_plot_requested_at(mv_plot *p, float x);

/* ---- timeline_device.c: the lane of the whole device ---- */
/* The lane's height in a pane of height `pane`; 0: not shown. */
float mv_plot_device_height(const mv_plot *p, float pane);
/* The height of the lane's legend if it is below the lane, in a pane of that width. */
float mv_plot_device_keys(const mv_plot *p, float width);
void mv_plot_device(mv_plot *p); /* after the legend, since it uses the legend's moment */

/* ---- timeline_labels.c ---- */
void mv_plot_labels(mv_plot *p, const mv_tile_frame *frame);
/* The name of an allocation in a part of its shape, in letters readable on `fill`, if it fits. */
void mv_plot_label(mv_plot *p, uint32_t rank, mv_box part, uint32_t fill);
/* The minimum height of a shape with a name. */
float mv_plot_label_height(const mv_plot *p);

/* ---- timeline_lanes.c ---- */
float mv_lanes_height(const mv_ui *ui, const mv_mark_lanes *marks);
void mv_plot_lanes(mv_plot *p);

/* ---- timeline_cuts.c ---- */
void mv_plot_cuts(mv_plot *p);          /* pauses removed by the clock */
void mv_plot_keep_off_cuts(mv_plot *p); /* keeps texts away from them */

/* ---- timeline_select.c ---- */
void mv_plot_veil(mv_plot *p); /* a veil over everything outside the selection, below texts */
void mv_plot_interval(mv_plot *p);
void mv_plot_cursor(mv_plot *p);
/* The x of the cursor; outside the plot if it is not in the window. */
float mv_plot_cursor_x(const mv_plot *p);

/* ---- bookmark_flags.c ---- */
/* Flags at the bookmarks of the shown device, with their feet at y. */
void mv_bookmark_flags(mv_view *view, const mv_viewport *at, float y);
void mv_plot_notes(mv_plot *p); /* the texts, where there is room */
void mv_plot_readout(mv_plot *p);
void *mv_interval_find(mv_arena *arena, void *context, const void *ask); /* a mv_job_fn */

/* ---- timeline_hover.c ---- */
void mv_plot_hover(mv_plot *p);
/* The row at a pixel; false: outside the plot. */
bool mv_plot_hit(mv_plot *p, float x, float y, uint32_t *event, mv_hit *out);

/* The description of a row: its line, size and life, one a line. */
const char *mv_plot_row_text(mv_plot *p, uint32_t rank);

/* ---- timeline_legend.c ---- */
void mv_plot_legend(mv_plot *p);
mv_colouring mv_plot_colouring(const mv_plot *p); /* for the shown rows; segments by line */
/* The next row of the legend; `box` is the rest of a column, and becomes the next column when it is
 * full. Empty if there is no room left. */
mv_box mv_plot_key_row(const mv_plot *p, mv_box *box);
/* A legend row with a piece of a line, cut off the box. */
void mv_plot_key_line(mv_plot *p, mv_box *box, uint32_t colour, bool is_dashed, const char *text);
/* The search for the allocations of a legend row; false: there is none. */
bool mv_legend_search(mv_view *view, uint64_t row, char out[MV_SEARCH_TEXT]);
/* The legend's width in a pane of this width: the user's, or automatic; 0: there is no room at the
 * right. */
float mv_legend_width(const mv_view *view, float pane);
/* Cuts the legend off a pane: a column at the right, or a strip of some columns at the bottom of a
 * narrow pane; empty in a pane that is also low. */
mv_box mv_legend_cut(const mv_view *view, mv_box *pane, uint32_t *columns);
/* The legend alone: for panes whose blocks have the same colours. Uses only the view and the device
 * of `p`. */
void mv_plot_colours(mv_plot *p, mv_box box, uint32_t columns);

#endif
