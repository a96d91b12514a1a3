/* The memory timeline: what PyTorch's viewer calls the Active Memory Timeline.
 *
 *     bytes                       ╭─ reserved
 *       │  ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
 *       │        ▲ peak
 *       │      ██████▒▒▒▒      ← allocations in order of birth, the newest on top;
 *       │   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒     they slide down when one below is freed
 *       │ ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
 *       └──────────────────────── events
 *
 * docs/timeline.md explains how a trace of any length becomes a picture of a bounded size without
 * losing a peak. */
#ifndef MV_TIMELINE_H
#define MV_TIMELINE_H

#include "analyze/filter/filter.h"
#include "analyze/leaks/leaks.h"
#include "viz/scene/scene.h"

typedef struct {
    uint32_t width, height; /* pixels; 0: 1400 x 760. Below 800 x 360 a larger scene is shown
                             * smaller */
    uint32_t from, to;      /* events [from, to); to 0: all */
    uint32_t top; /* only this many blocks, the largest, are drawn one by one; all others are one
                     grey band on top, with a row in the legend; 0: all */
    const mv_filter_bits *only; /* by row: only these are stacked, and the heading says how much of
                                   the peak they are; NULL: all */
    const char *filter;         /* what chose `only`, for the heading */
    bool is_dark;
    bool by_line; /* of segments: coloured by the line that requested them; else by how full they
                     are */
    const char *title; /* the file's name; not NULL */
    const mv_leaks
        *leaks;          /* of these lives: their blocks and their verdict are shown; NULL: none */
    const char *verdict; /* a line below the title instead of that verdict; NULL: the verdict */
} mv_timeline_opts;

typedef struct {
    mv_scene scene;
    uint32_t events;  /* in the window */
    uint32_t matches; /* allocations in the window that opts.only has, or all */
    uint32_t drawn;   /* allocations that are part of a shape of their own or of their call site's;
                         the others are in the grey area, or not alive at the end of any column */
} mv_timeline;

/* O(n log n) in events; the scene's size depends on opts alone. `arena` keeps the scene. */
mv_code mv_timeline_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_timeline_opts *opts, mv_timeline *out, mv_err *err);

#endif
