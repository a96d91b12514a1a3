/* Pictures on paper: panes of the viewer laid out for a file, without interaction.
 *
 *     ┌ title ──────────────────────────────────┐   the file's name
 *     │ figures · figures · figures             │   as many lines as needed: nothing is cut
 *     │ only size>4k: 12 of 540 ...             │   the part shown
 *     │ verdict                                 │   problems, worst first
 *     │ ┌ the pane ──────────────┐  its legend  │   painted by the same code as in the window
 *     │ │                        │              │
 *     │ └────────────────────────┘              │
 *     └─────────────────────────────────────────┘
 *
 * A kind of picture is a pane, its state, and its figures. mv_paper_find opens a view without
 * threads on the caller's trace and one device's lives, so nothing is read, saved or recalled,
 * paints one frame, and copies its scene. The frame has no bars, no cursor and no zones; tiles of
 * the window are shapes here, with tooltips.
 *
 * To add a kind, add a mv_paper_kind to the file in this folder for its pane. */
#ifndef MV_PAPER_H
#define MV_PAPER_H

#include "view/frame/view.h"
#include "viz/scene/heading.h"

enum {
    MV_PAPER_WIDTH = 1400, /* for a picture without a given size */
    MV_PAPER_HEIGHT = 760,
    MV_PAPER_LEAST_WIDTH = 800, /* a smaller picture is laid out at this size and scaled down */
    MV_PAPER_LEAST_HEIGHT = 360,
    MV_PAPER_FIGURES = 8,
    MV_PAPER_VERDICTS = 3
};

/* All texts live as long as the frame. */
typedef struct {
    const char *title;
    uint32_t figure_count;
    const char *figure[MV_PAPER_FIGURES]; /* joined with " · " */
    const char *part;                     /* NULL: everything is shown */
    uint32_t verdict_count;
    struct {
        const char *text;
        bool is_alarm;
    } verdict[MV_PAPER_VERDICTS];
} mv_paper_heading;

/* Paints the heading at the top of `paper`; returns the remaining box for the pane, with margins on
 * all sides. Texts without room are cut with an ellipsis; verdicts have at most two lines. */
mv_box mv_paper_heading_paint(mv_ui *ui, mv_box paper, const mv_paper_heading *heading);

/* Adds a verdict; there is room for MV_PAPER_VERDICTS. */
void mv_paper_add_verdict(mv_paper_heading *heading, const char *text, bool is_alarm);

/* Adds the verdicts of all reports, and the subject of the first. */
void mv_paper_add_headline(mv_view *view, bool has_reason, mv_paper_heading *heading);

/* Adds the contents of private pools (pools.c). */
void mv_paper_add_pools(mv_view *view, mv_paper_heading *heading);

/* The share of the blocks allocated at opts.event that opts.only selects. O(allocations). */
mv_heading_part mv_paper_part(const mv_view *view);

/* Adds a figure; empty texts are omitted. */
void mv_paper_heading_add(mv_paper_heading *heading, const char *figure);

typedef struct {
    mv_scene scene; /* in the caller's arena */
    uint32_t events, matches;
    uint64_t drawn; /* these as in mv_paper_sheet */
} mv_paper;

/* view->sheet has the settings, and receives the figures. */
typedef struct {
    mv_main_view main;
    bool is_of_moment;
    bool is_cropped; /* a picture without a given height is only as high as needed */
    /* The layout height of a picture without a given height; NULL: MV_PAPER_HEIGHT. */
    uint32_t (*height)(const mv_paper_opts *opts);
    /* Fills the heading. Sets those figures of view->sheet that are known before painting. */
    void (*describe)(mv_view *view, mv_paper_heading *out);
    void (*paint)(mv_view *view, mv_box box); /* like `paint` of a mv_pane */
} mv_paper_kind;

extern const mv_paper_kind mv_paper_timeline, mv_paper_segments, mv_paper_pools, mv_paper_state;

/* Flame graphs of opts->flame: for allocated bytes; for segments; for a change, which has no
 * document. The first two use `kinds` from mv_frame_kinds, as found by the document. */
extern const mv_paper_kind mv_paper_stacks, mv_paper_segment_stacks, mv_paper_change;

/* `trace` and `lives` are NULL for a kind without a document. `arena` keeps the scene. Fails only
 * when out of memory. */
mv_code mv_paper_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const mv_paper_kind *kind, const mv_paper_opts *opts, mv_paper *out,
                      mv_err *err);

#endif
