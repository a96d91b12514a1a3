/* Pictures on paper: panes of the viewer laid out for a file that nothing is pointed at.
 *
 *     ┌ title ──────────────────────────────────┐   the file's name
 *     │ figures · figures · figures             │   as many lines as they need: none is cut
 *     │ only size>4k: 12 of 540 ...             │   what of it is shown
 *     │ verdict                                 │   what is wrong, the worst first
 *     │ ┌ the pane ──────────────┐  its legend  │   painted by the same code as in the window
 *     │ │                        │              │
 *     │ └────────────────────────┘              │
 *     └─────────────────────────────────────────┘
 *
 * A kind of picture is a pane, the state in which it is shown, and its figures. mv_paper_find opens
 * a view without threads on a trace and one device's lives that the caller has, so nothing is read,
 * saved or recalled, paints one frame, and copies its scene. It has no bars, no cursor and no
 * zones; what the window draws as tiles is shapes here, with texts for the pointer.
 *
 * To add a kind: a mv_paper_kind in the file of this folder that knows its pane. */
#ifndef MV_PAPER_H
#define MV_PAPER_H

#include "view/frame/sheet.h"
#include "view/frame/view.h"
#include "viz/scene/heading.h"

enum {
    MV_PAPER_WIDTH = 1400, /* of a picture whose size was not given */
    MV_PAPER_HEIGHT = 760,
    MV_PAPER_LEAST_WIDTH = 800, /* a smaller picture is laid out as large, and shown smaller */
    MV_PAPER_LEAST_HEIGHT = 360,
    MV_PAPER_FIGURES = 8,
    MV_PAPER_VERDICTS = 3
};

/* All texts live as long as the frame. */
typedef struct {
    const char *title;
    uint32_t figure_count;
    const char *figure[MV_PAPER_FIGURES]; /* " · " is put between them */
    const char *part;                     /* NULL: everything is shown */
    uint32_t verdict_count;
    struct {
        const char *text;
        bool is_alarm;
    } verdict[MV_PAPER_VERDICTS];
} mv_paper_heading;

/* Paints the heading at the top of `paper`; returns the box that is left for the pane, with margins
 * on all sides. Texts without room are cut with an ellipsis; verdicts have two lines at most. */
mv_box mv_paper_heading_paint(mv_ui *ui, mv_box paper, const mv_paper_heading *heading);

/* Adds a verdict; there is room for MV_PAPER_VERDICTS. */
void mv_paper_add_verdict(mv_paper_heading *heading, const char *text, bool is_alarm);

/* Adds the verdicts of all reports, and what the first of them is about. */
void mv_paper_add_headline(mv_view *view, bool has_reason, mv_paper_heading *heading);

/* What is in private pools (pools.c). */
void mv_paper_add_pools(mv_view *view, mv_paper_heading *heading);

/* What opts.only leaves of the blocks that are allocated at opts.event. O(allocations). */
mv_heading_part mv_paper_part(const mv_view *view);

/* Adds a figure; empty texts are left out. */
void mv_paper_heading_add(mv_paper_heading *heading, const char *figure);

typedef struct {
    mv_scene scene; /* in the caller's arena */
    uint32_t events, matches;
    uint64_t drawn; /* these as in mv_paper_sheet */
} mv_paper;

/* view->sheet has what was asked, and takes the figures. */
typedef struct {
    mv_main_view main;
    bool is_of_moment;
    bool is_cropped; /* a picture without a given height is as high as it needs to be */
    /* Lays a picture without a given height out as high; NULL: MV_PAPER_HEIGHT. */
    uint32_t (*height)(const mv_paper_opts *opts);
    /* What is above the pane. Sets view->sheet's figures that are known before it is painted. */
    void (*describe)(mv_view *view, mv_paper_heading *out);
    void (*paint)(mv_view *view, mv_box box); /* like that of a mv_pane */
} mv_paper_kind;

extern const mv_paper_kind mv_paper_timeline, mv_paper_segments, mv_paper_pools, mv_paper_state;

/* Flame graphs of opts->flame: of what is allocated; of segments; of a change, which has no
 * document. The first two from `kinds` of mv_frame_kinds, as the document finds them. */
extern const mv_paper_kind mv_paper_stacks, mv_paper_segment_stacks, mv_paper_change;

/* `trace` and `lives` are NULL for a kind without a document. `arena` keeps the scene. Fails only
 * when memory is out. */
mv_code mv_paper_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const mv_paper_kind *kind, const mv_paper_opts *opts, mv_paper *out,
                      mv_err *err);

#endif
