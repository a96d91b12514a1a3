/* Settings of a frame for paper, in addition to the view's state (view/paper/paper.h), and its
 * results. A window has no sheet. */
#ifndef MV_FRAME_SHEET_H
#define MV_FRAME_SHEET_H

#include "analyze/filter/filter.h"
#include "analyze/flame/flame_tree.h"
#include "analyze/lives/position.h"

typedef struct {
    const char *title;          /* file name; not NULL */
    uint32_t width, height;     /* pixels; 0: MV_PAPER_WIDTH, MV_PAPER_HEIGHT */
    bool is_dark;               /* theme */
    mv_window window;           /* events shown; `end` 0: all */
    uint32_t event;             /* kinds that show a moment show the moment after this event */
    const mv_filter_bits *only; /* rows that pass a filter: of lives->allocs, or of lives->segments
                                   if the kind shows segments; NULL: all */
    const char *filter;         /* the filter as text; NULL without `only` */
    uint32_t top;               /* draw only this many of the largest separately; 0: all */
    bool by_line; /* colour segments by the line that requested them, otherwise by how full they
                     are */
    const mv_flame_tree *flame; /* for flame graphs */
    const char *what;           /* kinds without a document: the first figure of their heading */
} mv_paper_opts;

typedef struct {
    mv_paper_opts opts;
    uint8_t main;            /* mv_main_view */
    bool is_of_moment;       /* the cursor is at opts.event, otherwise at the window's peak */
    uint32_t hover_bytes;    /* bytes left for tooltips, to limit the file size */
    uint32_t events;         /* in the window */
    uint32_t rows;           /* in the window: allocations, or segments */
    uint32_t matches;        /* number of these rows in opts.only, or all */
    const uint64_t *largest; /* one bit for each rank that is drawn separately; NULL: all are */
    uint32_t others; /* rows without their own colour; 0: all after the largest of `matches` */
    uint64_t drawn;  /* rows drawn as their own shape or as a part of their line's */
} mv_paper_sheet;

#endif
