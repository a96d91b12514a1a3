/* Settings for a printed frame (view/paper/paper.h), in addition to the view's state, and counts of
 * what was drawn. A window has no sheet. */
#pragma once

#include "analyze/filter/filter.h"
#include "analyze/flame/flame_tree.h"
#include "analyze/lives/position.h"

typedef struct {
    const char *title;          /* file name; not NULL */
    uint32_t width, height;     /* size in pixels; 0: MV_PAPER_WIDTH, MV_PAPER_HEIGHT */
    bool is_dark;               /* use the dark theme */
    mv_window window;           /* events to show; if `end` is 0, all events */
    uint32_t event;             /* event after which the heap is shown, for pictures of one point in
                                 * time */
    const mv_filter_bits *only; /* rows that pass a filter, among lives->allocs, or among
                                   lives->segments if the kind shows segments; NULL: all rows */
    const char *filter;         /* the filter as text; NULL if `only` is NULL */
    uint32_t top;               /* draw only this many of the largest rows separately; 0: draw all
                                   separately */
    bool by_line; /* colour segments by the line of code that requested them; if false, by how full
                     they are */
    const mv_flame_tree *flame; /* tree to draw, for flame graphs */
    const char *what;           /* first figure of the heading, for kinds without a document */
} mv_paper_opts;

typedef struct {
    mv_paper_opts opts;
    uint8_t main;            /* mv_main_view */
    bool is_of_moment;       /* the cursor is at opts.event; if false, the cursor is at the window's
                              * peak */
    uint32_t hover_bytes;    /* number of bytes left for tooltips, which limits the size of the
                                file */
    uint32_t events;         /* number of events in the window */
    uint32_t rows;           /* number of allocations, or of segments, in the window */
    uint32_t matches;        /* number of these rows that opts.only selects; without opts.only, all
                                of them */
    const uint64_t *largest; /* one bit for each rank, set if it is drawn separately; NULL: all
                                are */
    uint32_t others; /* number of rows that share one colour; 0: all rows after the largest of
                        `matches` */
    uint64_t drawn;  /* number of rows that are drawn, either as a separate shape or as part of the
                      * shape for their line */
} mv_paper_sheet;
