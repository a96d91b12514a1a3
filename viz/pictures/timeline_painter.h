/* The parts that pictures of allocations are painted from; only the files that paint them include
 * this.
 *
 *     timeline.c            the timeline: what is painted, in which order
 *     shown_rows.c          which rows: those of a filter, the largest
 *     allocation_shapes.c   the allocations
 *     fullness_painter.c    segments by how full they are
 *     caller_colours.c      call sites: which allocations share a colour, and the legend
 *     time_ruler.c          axes, titles
 *     annotation_lanes.c    annotations and steps
 *     peak_marker.c         curves, peaks, out-of-memory events
 */
#ifndef MV_TIMELINE_PAINTER_H
#define MV_TIMELINE_PAINTER_H

#include "analyze/code/culprit.h"
#include "analyze/totals/totals.h"
#include "viz/pictures/layout.h"
#include "viz/pictures/timeline.h"
#include "viz/scene/callouts.h"
#include "viz/scene/heading.h"
#include "viz/scene/palette.h"

/* For the envelopes of pools: so pale that curves and blocks stand out. */
#define MV_ENVELOPE_FILL(theme) (((theme)->lane & ~0xffu) | 0x66)

/* A call site: all stacks with the same user frame. Row 0 is for allocations without a recorded
 * stack, row 1 for stacks without frames. Leaked allocations of a frame have a row of their own. */
typedef struct {
    mv_frame_id frame; /* MV_NO_FRAME in rows 0 and 1 */
    bool is_leak;
    uint64_t bytes;    /* allocated at the peak of the window */
    uint32_t rank;     /* leaks first, then by bytes */
    uint32_t colour;   /* chosen by the frame's label: the same in other pictures, if it is free */
    uint32_t twin;     /* the row for leaked allocations of the same frame; 0: none */
    mv_stack_id stack; /* the first with that frame */
    const char *label; /* of the legend's rows, all different; NULL: the frame's label */
} mv_caller;

typedef struct {
    uint32_t count;
    mv_caller *callers; /* [count] */
    uint32_t *by_rank;  /* [count] rows of callers */
    uint32_t *of_alloc; /* [allocs.count] rows of callers */
    uint32_t named;     /* ranks below this have a row in the legend */
} mv_callers;

/* How much of everything is shown, when a filter or --top leaves something out. */
typedef struct {
    bool is_part;                    /* chosen by a filter: the others are not drawn */
    bool has_others;                 /* chosen by --top: the others are a grey band */
    uint32_t rows, matches, largest; /* in the window; that match; of those drawn one by one */
    uint64_t peak;                   /* of all rows in the window */
    uint32_t peak_event;             /* MV_BEFORE: before the first event */
} mv_shown;

enum { MV_PICTURE_CALLOUTS = 32 };

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_timeline_opts *opts;
    bool of_segments; /* the timeline of segments: segments replace the allocations in `lives`; in
                         `series`, `allocated` is reserved bytes and `active` the bytes that tensors
                         use */
    bool of_pools;    /* one of several timelines in the picture, each of a pool */
    const mv_lives *blocks; /* what is in the segments, if their colour shows how full they are;
                               NULL: coloured by line */
    uint32_t parts;         /* timelines that share the picture's budgets; 0: one */
    const mv_theme *theme;
    mv_scene *scene;
    mv_shown shown;
    const mv_filter_bits
        *coloured;    /* rows that belong to their call site, the others are grey; NULL: all */
    mv_series series; /* of all rows that match */
    mv_layout layout;
    mv_callers callers;
    const uint8_t *frame_kinds; /* mv_frame_kinds */

    uint64_t peak, peak_reserved; /* in the window */
    uint32_t peak_event;          /* MV_BEFORE: before the first event */
    uint32_t reserved_event;
    bool has_pending; /* blocks waited for a stream after they were freed */
    bool has_lane;    /* annotations or steps */
    bool has_marks;   /* moments that the program marked: a lane above those */

    float x, y, w, h; /* of the plot */
    uint64_t most;    /* bytes at the top of the plot */

    uint32_t hover_bytes; /* budget of tips, see mv_painter_hover */

    mv_callouts callouts; /* texts inside the plot */
} mv_painter;

/* The x of an event's left edge. */
static inline float mv_painter_x(const mv_painter *p, uint32_t event)
{
    uint32_t events = p->layout.to - p->layout.from;

    return p->x + (events ? p->w * (float)((double)(event - p->layout.from) / events) : 0);
}

/* The x of a column's left edge. A heap without events is one column, drawn as a bar. */
static inline float mv_painter_column(const mv_painter *p, uint32_t column)
{
    if (p->layout.to == p->layout.from)
        return p->x + p->w * (column ? 0.25f : 0.05f);
    return p->x + p->w * (float)((double)column / p->layout.column_count);
}

/* The y of a number of bytes, in tenths of a pixel: a smaller step is not a corner. */
static inline float mv_painter_y(const mv_painter *p, uint64_t bytes)
{
    float y = p->y + p->h - p->h * (float)((double)bytes / (double)p->most);

    return (float)(int)(y * 10 + 0.5f) / 10;
}

/* Microseconds from the first event to this one; negative if the file has no times. */
int64_t mv_painter_time(const mv_painter *p, uint32_t event);

/* The text, or NULL when the picture has enough of them: labels of a trace may have any length, a
 * picture may not. Counted with their size in a file, escaped. */
const char *mv_painter_hover(mv_painter *p, const char *text);

/* The highest levels in the window. */
void mv_painter_peaks(mv_painter *p);

/* Cuts p->lives (and leaks) to the rows of opts->only; the levels of `series` are still those of
 * all rows afterwards. Fails when memory runs out. */
mv_code mv_shown_filter(mv_arena *scratch, mv_painter *p, mv_err *err);

/* Replaces the allocated and active levels in `series` by those of the rows of p->lives. */
void mv_shown_levels(mv_painter *p);

/* Cuts p->lives to the largest, if opts->top says so; `series` stays. Fails likewise. */
mv_code mv_shown_top(mv_arena *scratch, mv_painter *p, mv_err *err);

/* Sets `coloured` to the rows of `only` (NULL: all) that are allocated after an event, but at most
 * the `top` largest (0: all), and `shown`; *part says how much of everything `only` leaves. p->peak
 * is what is allocated. Fails likewise. */
mv_code mv_shown_blocks(mv_arena *scratch, mv_painter *p, uint32_t event,
                        const mv_filter_bits *only, uint32_t top, mv_heading_part *part,
                        mv_err *err);

/* "only forward: 12 of 5,402 allocations, ..."; NULL when everything is shown. */
const char *mv_shown_line(mv_painter *p);

/* Bytes of the peak that are in the grey band of --top. */
uint64_t mv_shown_others(const mv_painter *p);

/* The rows that are shown, and the levels of those that match; `matching` (may be NULL) also
 * includes those that --top moves to the grey band. */
mv_code mv_painter_choose(mv_arena *scratch, mv_painter *p, const mv_lives **matching, mv_err *err);

/* Peaks, call sites, the place of the plot. */
mv_code mv_painter_prepare(mv_arena *scratch, mv_painter *p, mv_err *err);

/* Columns and elements for a plot in that box, from the lives and the series. */
mv_code mv_painter_lay_out(mv_arena *scratch, mv_painter *p, mv_err *err);

/* A whole timeline. `scene` is empty, `series` and the window in `layout` are set. */
mv_code mv_painter_timeline(mv_arena *scratch, mv_painter *p, uint32_t *drawn, mv_err *err);

/* The scene of a timeline of that size, empty; and the window in `layout`. */
void mv_painter_open(mv_painter *p, mv_arena *arena);

bool mv_callers_find(mv_arena *arena, mv_painter *p);
void mv_callers_legend(mv_arena *scratch, mv_painter *p, float x, float y, float w);

/* A row of a legend beside its swatch: label, bytes, share of the peak. */
void mv_callers_row(mv_painter *p, float x, float y, float w, const char *label, uint64_t bytes);

/* The sites with their colours, bytes and shares of the peak, below a title. */
void mv_callers_rows(mv_painter *p, float x, float y, float w, const char *title);

const char *mv_caller_label(const mv_painter *p, const mv_caller *caller, char *out, size_t size);

/* False when memory is out. Adds the allocations that can be seen to `drawn`. */
bool mv_shapes_paint(mv_arena *scratch, mv_painter *p, uint32_t *drawn);

/* What a row of the lives table is, for a tip: bytes, life, stack. In the scene's arena. */
const char *mv_shapes_describe(mv_painter *p, uint32_t row, bool is_leak);

/* What an element is, for a tip. */
const char *mv_shapes_element(mv_painter *p, const mv_element *e);

/* The outline of an element that is large enough for one. */
void mv_shapes_edges(mv_painter *p, const mv_element *e);

/* Replaces mv_shapes_paint and mv_callers_rows when p->blocks is set. */
bool mv_fullness_paint(mv_arena *scratch, mv_painter *p, uint32_t *drawn);
float mv_fullness_legend(mv_arena *scratch, mv_painter *p, float x, float y, float w);

void mv_shapes_area(mv_painter *p, const uint64_t *levels, mv_shape shape);

void mv_ruler_paint(mv_painter *p);

/* The events and times below the plot. */
void mv_ruler_times(mv_painter *p);

void mv_ruler_titles(mv_painter *p);

bool mv_lanes_any(const mv_painter *p);
bool mv_lanes_marks(const mv_painter *p);
void mv_lanes_paint(mv_painter *p);

void mv_marker_outline(mv_painter *p);
void mv_marker_curves(mv_painter *p);
void mv_marker_ooms(mv_painter *p);
void mv_marker_peaks(mv_painter *p);

#endif
