/* Printed pictures: panes of the viewer laid out for a picture file, without interaction.
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
 * threads on the caller's trace and the lives of one device, so no file is read. It paints one frame and copies the frame's scene. The frame has no bars, no
 * cursor and no zones. Where the window paints tiles, it has shapes with tooltips.
 *
 * To add a kind, add an mv_paper_kind to the file in this folder for its pane. */
#pragma once

#include "view/frame/view.h"
#include "viz/scene/heading.h"

enum {
    MV_PAPER_WIDTH = 1400, /* default size of a picture */
    MV_PAPER_HEIGHT = 760,
    MV_PAPER_LEAST_WIDTH = 800, /* minimum size of a layout; a smaller picture is laid out at this
                                   size and scaled down */
    MV_PAPER_LEAST_HEIGHT = 360,
    MV_PAPER_FIGURES = 8,
    MV_PAPER_VERDICTS = 3
};

/* All strings stay valid until the next frame. */
typedef struct {
    const char *title;
    uint32_t figure_count;
    const char *figure[MV_PAPER_FIGURES]; /* strings that are joined with " · " */
    const char *part;                     /* describes the part that is shown; NULL: everything is
                                             shown */
    uint32_t verdict_count;
    struct {
        const char *text;
        bool is_alarm;
    } verdict[MV_PAPER_VERDICTS];
} mv_paper_heading;

/* Paints the heading at the top of `paper`. Returns the box that remains for the pane, with margins
 * on all sides. Labels that do not fit are cut with an ellipsis, and verdicts take at most two
 * lines. */
mv_box mv_paper_heading_paint(mv_ui *ui, mv_box paper, const mv_paper_heading *heading);

/* Adds a verdict, unless the heading already has MV_PAPER_VERDICTS of them. */
void mv_paper_add_verdict(mv_paper_heading *heading, const char *text, bool is_alarm);

/* Adds the verdicts of all reports. If `has_reason` is set, also adds the cause of the first
 * verdict. */
void mv_paper_add_headline(mv_view *view, bool has_reason, mv_paper_heading *heading);

/* Adds what private pools contain (pools.c). */
void mv_paper_add_pools(mv_view *view, mv_paper_heading *heading);

/* Returns which part of the blocks allocated at opts.event is selected by opts.only.
 * O(allocations). */
mv_heading_part mv_paper_part(const mv_view *view);

/* Adds a figure to the heading, unless the string is empty. */
void mv_paper_heading_add(mv_paper_heading *heading, const char *figure);

typedef struct {
    mv_scene scene; /* allocated in the caller's arena */
    uint32_t events, matches;
    uint64_t drawn; /* `drawn`, `events` and `matches` are copies of the members of
                     * mv_paper_sheet */
} mv_paper;

/* A kind of picture. Its functions read the settings from view->sheet, and store the figures
 * there. */
typedef struct {
    mv_main_view main;
    bool is_of_moment;
    bool is_cropped; /* if no height is given, the picture is only as high as needed */
    /* Returns the layout height if no height is given. NULL: MV_PAPER_HEIGHT. */
    uint32_t (*height)(const mv_paper_opts *opts);
    /* Fills in the heading, and the figures of view->sheet that are known before painting. */
    void (*describe)(mv_view *view, mv_paper_heading *out);
    void (*paint)(mv_view *view, mv_box box); /* like `paint` of an mv_pane */
} mv_paper_kind;

extern const mv_paper_kind mv_paper_timeline, mv_paper_segments, mv_paper_pools, mv_paper_state;

/* The kinds that draw opts->flame as a flame graph of allocated bytes, of segments, or of a
 * difference, which has no document. The flame graphs of allocated bytes and of segments use the
 * frame kinds that the document found with mv_frame_kinds. */
extern const mv_paper_kind mv_paper_stacks, mv_paper_segment_stacks, mv_paper_change;

/* Paints a picture of the given kind. The scene is allocated in `arena`. `trace` and `lives` are
 * NULL for a kind without a document. Fails only when out of memory. */
mv_code mv_paper_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const mv_paper_kind *kind, const mv_paper_opts *opts, mv_paper *out,
                      mv_err *err);
