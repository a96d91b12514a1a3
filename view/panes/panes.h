/* The panes of the viewer: each paints itself into a box and says what its mouse does.
 *
 * `input` gets what happens in the pane's box (and, from a press inside until the release, wherever
 * the pointer goes), unless a zone with a command was clicked; it returns false for an input that
 * it does not use. Keys are commands and never come here. A pane that the pointer leaves gets
 * MV_INPUT_LEAVE. The pane under the pointer sets view->hover and hover_segment whenever it paints;
 * before that they are MV_NO_ROW. */
#ifndef MV_PANES_H
#define MV_PANES_H

#include "view/frame/view.h"

typedef struct {
    void (*paint)(mv_view *view, mv_box box);
    bool (*input)(mv_view *view, mv_box box, const mv_input *input); /* NULL: only zones */
} mv_pane;

/* pane_timeline.c, pane_minimap.c */
bool mv_timeline_pane_open(mv_view *view); /* false: memory is out */
void mv_timeline_pane_close(mv_view *view);
bool mv_timeline_is_idle(const mv_view *view); /* no tile is being made */
extern const mv_pane mv_pane_timeline;         /* allocations, or segments (now.main) */
extern const mv_pane mv_pane_minimap;

/* panels.c and its pane_*.c */
bool mv_panels_open(mv_view *view);
void mv_panels_close(mv_view *view);

/* Escape: a focused flame graph is shown whole again. False: there is nothing to undo. */
bool mv_panels_cancel(mv_view *view);
extern const mv_pane mv_pane_state;
extern const mv_pane mv_pane_flame;
extern const mv_pane mv_pane_tables;
extern const mv_pane mv_pane_details;
extern const mv_pane mv_pane_reports;

/* All rows of the shown table as lines with tabs; NULL: no table, or memory is out. */
const char *mv_tables_text(mv_view *view, mv_arena *arena);

#endif
