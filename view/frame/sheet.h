/* What a frame for paper shows besides the state of the view (view/paper/paper.h), and what became
 * of it. A window has no sheet. */
#ifndef MV_FRAME_SHEET_H
#define MV_FRAME_SHEET_H

#include "analyze/filter/filter.h"
#include "analyze/flame/flame_tree.h"
#include "analyze/lives/position.h"

typedef struct {
    const char *title;          /* the file's name; not NULL */
    uint32_t width, height;     /* pixels; 0: MV_PAPER_WIDTH, MV_PAPER_HEIGHT */
    bool is_dark;               /* theme */
    mv_window window;           /* events that are shown; `end` 0: all */
    uint32_t event;             /* kinds that show a moment show the one after it */
    const mv_filter_bits *only; /* the rows that a filter leaves: of lives->allocs, or of
                                   lives->segments if the kind shows segments; NULL: all */
    const char *filter;         /* its words; NULL without `only` */
    uint32_t top;               /* only the largest are drawn one by one; 0: all */
    bool by_line; /* segments have the colour of the line that requested them, else of how full
                     they are */
    const mv_flame_tree *flame; /* of flame graphs */
    const char *what;           /* kinds without a document: the first figure of their heading */
} mv_paper_opts;

typedef struct {
    mv_paper_opts opts;
    uint8_t main;            /* mv_main_view */
    bool is_of_moment;       /* the cursor is at opts.event, else where the window has its peak */
    uint32_t hover_bytes;    /* left for texts for the pointer: a file may not have any size */
    uint32_t events;         /* in the window */
    uint32_t rows;           /* in the window: allocations, or segments */
    uint32_t matches;        /* of them, those that opts.only has, or all */
    const uint64_t *largest; /* a bit for each rank, of those drawn one by one; NULL: all are */
    uint32_t others; /* rows without a colour of their own; 0: all after the largest of `matches` */
    uint64_t drawn;  /* rows with a shape of their own or of their line's */
} mv_paper_sheet;

#endif
