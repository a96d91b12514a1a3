/* The panes of the viewer. Each pane paints itself into a box, and view/intents/ handles the
 * pointer. Whenever the pane under the pointer is painted, it sets view->hover and
 * view->hover_segment, which are MV_NO_ROW until then. */
#pragma once

#include "view/frame/view.h"

/* in panels.c and its pane_*.c */
bool mv_panels_open(mv_view *view);
void mv_panels_close(mv_view *view);
void mv_state_paint(mv_view *view, mv_box box);
void mv_flame_paint(mv_view *view, mv_box box);
/* Height of a flame graph level at scale 1, and of the space below the levels in a printed
 * picture. */
enum { MV_FLAME_LEVEL = 18, MV_FLAME_FOOT = 30 };
void mv_tables_paint(mv_view *view, mv_box box);
void mv_details_paint(mv_view *view, mv_box box);
void mv_reports_paint(mv_view *view, mv_box box);
void mv_whatif_paint(mv_view *view, mv_box box);

/* Look up what was painted in the last frame. mv_flame_at returns the node of the flame graph at a
 * point; MV_NO_ROW: none. */
uint32_t mv_flame_at(mv_view *view, mv_box box, float x, float y);
/* Finds the segment at a point of the allocator's state, and the allocation there, or MV_NO_ROW.
 * Returns false if there is no segment. */
bool mv_state_at(mv_view *view, float x, float y, uint32_t *alloc, uint32_t *segment);

/* Returns the item that the check box with this number had in the last frame; "": there was no such
 * check box. */
const char *mv_whatif_item(const mv_view *view, uint64_t number);

/* Returns all rows of the shown table as tab-separated lines; NULL: there is no table, or memory
 * ran out. */
const char *mv_tables_text(mv_view *view, mv_arena *arena);
