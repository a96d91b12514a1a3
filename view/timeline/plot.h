/* The data of the timeline pane for one frame. Only the files that paint the pane, and panes with
 * the same legend, include this header. */
#pragma once

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
    const mv_lives *lives; /* the rows to stack, which are allocations, or segments in the form of
                              allocations */
    const mv_index *index; /* index of the rows in the stack */
    const mv_timeline_rows *rows;
    mv_pyramid_reader *levels;  /* reads the levels of the shown rows, which may be only some of all
                                   rows */
    const mv_mark_lanes *marks; /* lanes of marks; NULL: not known yet */
    const mv_segment_use
        *use; /* how full segments are; NULL: not known yet, or the plot does not show segments */
    bool of_segments;
    bool of_ranks;    /* the plot shows lanes of several devices, and `plot` surrounds all of
                         them */
    bool of_pools;    /* the plot shows one envelope for each pool, instead of a stack */
    bool has_pending; /* some freed blocks waited for a stream */
    mv_box lanes, spikes, plot, ruler, scale, legend, head;
    mv_box times; /* box of the time labels below the ruler; only in printed pictures */
    mv_box device_lane, device_legend;
    uint32_t legend_columns; /* number of columns of the legend; 0 means 1 */
    bool is_legend_below;    /* the legend is below the plot, rather than next to it */
    mv_viewport at;
    mv_window shown;                 /* events shown */
    mv_extent most;                  /* highest and lowest levels in the window */
    uint32_t *spike_of;              /* [plot.w] rank of the spike in each pixel column; NULL: there
                                        are none */
    uint32_t seen_count;             /* number of colour groups that have a shape */
    const uint32_t *seen;            /* [seen_count] a rank from each of these groups; NULL: the
                                        groups are found from tiles */
    const mv_pools_answer *pools;    /* result that was painted; NULL: none */
    bool has_rest, has_hatch;        /* printed pictures: whether the colour of small rows, and
                                        hatching, occur in the picture */
    uint32_t label_count;            /* number of names painted in shapes so far */
    mv_callouts callouts;            /* positions of the labels in the plot */
    const mv_document_device *other; /* the compared device; NULL: none */
    mv_alignment to;                 /* alignment of the compared device with the shown device */
    mv_tile_frame tiles;             /* tiles of this frame; 0: none */
} mv_plot;

/* Opens the plot. Returns false, after painting a message, if there is no device, if there are no
 * rows, or if there is no room yet. */
bool mv_plot_open(mv_plot *p, mv_view *view, mv_box box);

/* Sets p->at and p->shown to the window as last shown. */
void mv_plot_look(mv_plot *p);
/* Opens the plot for a frame and advances the moving window. Returns false if a message is painted
 * instead. */
bool mv_plot_begin(mv_plot *p, mv_view *view, mv_box box);

/* Return the rows and the marks of the shown device; NULL: not ready yet. */
const mv_timeline_rows *mv_timeline_rows_of(mv_view *view, bool of_segments);
const mv_mark_lanes *mv_timeline_marks(mv_view *view);

/* Finds the viewport of the minimap in `box`, which shows the whole trace. Returns false if it is
 * not ready or there is no room. */
bool mv_minimap_open(mv_view *view, mv_box box, mv_viewport *out);

/* Returns the marks of the shown device, which are found again when the device changes. */
const mv_device_marks *mv_timeline_device_marks(mv_view *view);
void *mv_device_marks_find(mv_arena *arena, void *context, const void *ask); /* an mv_job_fn */

/* ---- timeline_axes.c ---- */
void mv_plot_axes(mv_plot *p);
/* Returns "event 8,407" or "2.948 s", depending on the clock, in frame memory. */
const char *mv_plot_moment(mv_plot *p, uint32_t event);
const char *mv_plot_time(const mv_plot *p,
                         uint32_t event); /* returns "2.948 s", or "" if there are no times */
/* Paints a label near a point of the plot, where it covers no other label, no part of the stack and
 * no line. If there is not enough room, it paints the brief label, and if that does not fit either,
 * none. If the label is not next to the point, a line connects the two. */
bool mv_plot_callout(mv_plot *p, float x, float y, uint32_t colour, const char *text,
                     const char *brief);
enum { MV_CALLOUT_HEIGHT = 18 };

/* ---- timeline_curves.c ---- */
/* Fills the columns that are not known yet, and makes up to `most` of them exact. Takes at most a
 * few milliseconds, unless `most` is UINT32_MAX. Returns true when all columns are exact. */
enum { MV_EXACT_COLUMNS = 200 }; /* columns made exact in each frame while other work is waiting */
bool mv_envelope_find(mv_timeline_pane *pane, mv_envelope *envelope, mv_pyramid_reader *reader,
                      mv_viewport at, const mv_alignment *to, uint32_t most);
void mv_plot_curves(mv_plot *p);
/* Finds the moments of the columns [column, end). Returns false if the other device has none
 * there. */
bool mv_envelope_moments(const mv_envelope *envelope, uint32_t column, uint32_t end,
                         mv_window *out);
/* Finds the first column that contains a moment of the envelope's device. Returns false if no
 * column does. */
bool mv_envelope_column(const mv_envelope *envelope, uint32_t event, uint32_t *out);
void mv_plot_peaks(mv_plot *p); /* paints peaks and failed requests */
typedef enum { MV_ALLOCATED, MV_ACTIVE, MV_RESERVED } mv_measure;
uint64_t mv_measure_of(const mv_levels *levels, mv_measure which);
/* Paints a step curve through the highest value of each column, with the stroke of `shape`. */
void mv_curve_paint(mv_ui *ui, const mv_viewport *at, const mv_envelope *envelope, mv_measure which,
                    mv_shape shape);
uint64_t mv_plot_capacity(const mv_plot *p); /* memory of the device; MV_NO_BYTES: unknown */

/* ---- timeline_compare.c: the compared device; without such a device they do nothing ------ */
void mv_plot_other_find(mv_plot *p); /* must be called before the other functions; sets p->other and
                                        p->to */
/* Returns the highest level of the compared device in a window of the shown device; 0: none. */
uint64_t mv_plot_other_most(mv_plot *p, mv_stretch shown);
void mv_plot_other(mv_plot *p);
void mv_plot_other_peak(mv_plot *p);
void mv_plot_other_key(mv_plot *p, mv_box *box); /* paints the compared device's legend rows in a
                                                  * strip that is cut off the box */
const char *mv_plot_other_tip(mv_plot *p, uint32_t event); /* returns "rank1.pickle: 120 MiB", or
                                                              NULL */

/* ---- timeline_whatif.c: the replayed run; without such a run they do nothing ------------- */
uint64_t mv_plot_whatif_most(const mv_plot *p, mv_stretch window); /* returns the highest level in a
                                                                      window */
void mv_plot_whatif(mv_plot *p);
void mv_plot_whatif_key(mv_plot *p, mv_box *box); /* paints the replayed run's legend rows in a
                                                   * strip that is cut off the box */
const char *mv_plot_whatif_tip(const mv_plot *p, uint32_t event); /* returns NULL if there is
                                                                     nothing to show */

/* ---- timeline_stack.c, timeline_segments.c ---- */
void mv_plot_stack(mv_plot *p);
void mv_plot_stack_shapes(mv_plot *p); /* paints the stack of a printed picture (stack_shapes.h) */
mv_tile_view mv_plot_tile_view(const mv_plot *p);
void mv_plot_tint_segments(mv_plot *p, const mv_tile *tile, uint32_t *pixels);
uint64_t mv_plot_use_key(mv_plot *p); /* finds p->use, and returns a key for its colours */

/* ---- timeline_pools.c: painted in place of the stack, the curves and the axis of bytes --- */
void mv_plot_pools(mv_plot *p);
mv_pools_query mv_plot_pools_query(const mv_plot *p);

/* ---- timeline_requested.c ---- */
#define MV_REQUESTED_COLOUR 0x009e73ff
bool mv_plot_shows_requested(const mv_plot *p);
void mv_plot_requested(mv_plot *p); /* paints the curve, and sets view->requested */
/* Returns the highest value in a pixel column; MV_NO_BYTES: not shown, or not known yet. */
uint64_t mv_plot_requested_at(mv_plot *p, float x);

/* ---- timeline_device.c: the lane of the whole device ---- */
/* Returns the lane's height in a pane of height `pane`; 0: the lane is not shown. */
float mv_plot_device_height(const mv_plot *p, float pane);
/* Returns the height of the lane's legend, if it is below the lane, in a pane of that width. */
float mv_plot_device_keys(const mv_plot *p, float width);
void mv_plot_device(mv_plot *p); /* must be called after the legend is painted, because it uses the
                                    legend's moment */

/* ---- timeline_labels.c ---- */
void mv_plot_labels(mv_plot *p, const mv_tile_frame *frame);
/* Paints the name of an allocation in a part of its shape, if it fits, in a colour that is readable
 * on `fill`. */
void mv_plot_label(mv_plot *p, uint32_t rank, mv_box part, uint32_t fill);
/* Returns the least height of a shape with a name. */
float mv_plot_label_height(const mv_plot *p);

/* ---- timeline_lanes.c ---- */
float mv_lanes_height(const mv_ui *ui, const mv_mark_lanes *marks);
void mv_plot_lanes(mv_plot *p);

/* ---- timeline_cuts.c ---- */
void mv_plot_cuts(mv_plot *p);          /* paints the pauses that the clock removes */
void mv_plot_keep_off_cuts(mv_plot *p); /* keeps labels away from the cuts */

/* ---- timeline_select.c ---- */
void mv_plot_veil(mv_plot *p); /* paints a veil over everything outside the selection, below the
                                  labels */
void mv_plot_interval(mv_plot *p);
void mv_plot_cursor(mv_plot *p);
/* Returns the x of the cursor, which is outside the plot if the cursor is not in the window. */
float mv_plot_cursor_x(const mv_plot *p);

/* ---- bookmark_flags.c ---- */
/* Paints flags at the bookmarks of the shown device. The feet of the flags are at y. */
void mv_bookmark_flags(mv_view *view, const mv_viewport *at, float y);
void mv_plot_notes(mv_plot *p); /* paints the text of the notes where there is room */
void mv_plot_readout(mv_plot *p);
void *mv_interval_find(mv_arena *arena, void *context, const void *ask); /* an mv_job_fn */

/* ---- timeline_hover.c ---- */
void mv_plot_hover(mv_plot *p);
/* Finds the row at a pixel. Returns false outside the plot. */
bool mv_plot_hit(mv_plot *p, float x, float y, uint32_t *event, mv_hit *out);

/* Returns a description of a row: its line of code, its size and its life, each on a separate
 * line. */
const char *mv_plot_row_text(mv_plot *p, uint32_t rank);

/* ---- timeline_legend.c ---- */
void mv_plot_legend(mv_plot *p);
mv_colouring mv_plot_colouring(const mv_plot *p); /* returns the colouring of the shown rows;
                                                     segments are coloured by line */
/* Returns the box of the next row in the legend. `box` is what is left of a column, and becomes the
 * next column when the column is full. The result is empty if there is no room left. */
mv_box mv_plot_key_row(const mv_plot *p, mv_box *box);
/* Paints a legend row with a short piece of a line, in a strip that is cut off the box. */
void mv_plot_key_line(mv_plot *p, mv_box *box, uint32_t colour, bool is_dashed, const char *text);
/* Writes the search for the allocations of a legend row. Returns false if there is none. */
bool mv_legend_search(mv_view *view, uint64_t row, char out[MV_SEARCH_TEXT]);
/* Returns the legend's width in a pane of this width, which the user chose or which is automatic;
 * 0: there is no room on the right. */
float mv_legend_width(const mv_view *view, float pane);
/* Cuts the legend off a pane. It is a column on the right, or in a narrow pane a strip with several
 * columns at the bottom. It is empty in a pane that is also low. */
mv_box mv_legend_cut(const mv_view *view, mv_box *pane, uint32_t *columns);
/* Paints only the legend, for panes whose blocks have the same colours. Uses only the view and the
 * device of `p`. */
void mv_plot_colours(mv_plot *p, mv_box box, uint32_t columns);
