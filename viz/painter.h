/* The parts that a timeline is painted from; only its own files include it.
 *
 *     timeline.c   what is painted, in which order; the allocations
 *     callers.c    call sites: which stacks share a colour, and the legend
 *     ruler.c      axes, titles, annotation lanes
 *     marker.c     curves, the peak, out-of-memory events
 */
#ifndef MV_PAINTER_H
#define MV_PAINTER_H

#include "analyze/totals.h"
#include "viz/layout.h"
#include "viz/palette.h"
#include "viz/timeline.h"

/* A call site: all stacks with the same user frame. Row 0 is for allocations whose stack was not
 * recorded, row 1 for stacks without a frame: autograd's threads run no Python. */
typedef struct {
    mv_frame_id frame; /* MV_NO_ROW in rows 0 and 1 */
    uint64_t bytes;    /* allocated at the peak of the window */
    uint32_t blocks;
    uint32_t rank; /* by bytes: the colour */
} mv_caller;

typedef struct {
    uint32_t count;
    mv_caller *callers;      /* [count] */
    uint32_t *by_rank;       /* [count] rows of callers, most bytes first */
    uint32_t *site_of_stack; /* [stacks.count + 1] rows of callers; the first is for MV_NO_STACK */
} mv_callers;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_timeline_opts *opts;
    const mv_theme *theme;
    mv_scene *scene;
    mv_series series;
    mv_layout layout;
    mv_callers callers;
    const uint8_t *frame_kinds;   /* mv_frame_kinds */
    uint32_t peak_event;          /* most allocated in the window; MV_BEFORE: no events */
    uint64_t peak, peak_reserved; /* in the window */
    float x, y, w, h;             /* of the plot */
    uint64_t most;                /* bytes at the top of the plot */
    bool has_pending;             /* blocks waited for a stream after they were freed */
} mv_painter;

/* The x of an event's left edge; the y of a number of bytes. */
static inline float mv_painter_x(const mv_painter *p, uint32_t event)
{
    uint32_t events = p->layout.to - p->layout.from;

    return p->x + (events ? p->w * (float)(event - p->layout.from) / (float)events : 0);
}

static inline float mv_painter_y(const mv_painter *p, uint64_t bytes)
{
    float y = p->y + p->h - p->h * (float)((double)bytes / (double)p->most);

    return (float)(int)(y * 10 + 0.5f) / 10; /* a tenth of a pixel: fewer corners */
}

bool mv_callers_find(mv_arena *arena, mv_painter *p);
void mv_callers_legend(mv_painter *p, float x, float y, float w);

void mv_ruler_paint(mv_painter *p);
void mv_ruler_titles(mv_painter *p);
void mv_ruler_lanes(mv_painter *p);

void mv_marker_curves(mv_painter *p);
void mv_marker_peak(mv_painter *p);
void mv_marker_ooms(mv_painter *p);

#endif
