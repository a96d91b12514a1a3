/* The panes of the viewer: each paints itself into a box. Pointer handling is in view/intents/. The
 * pane under the pointer sets view->hover and hover_segment whenever it paints; before that they
 * are MV_NO_ROW. */
#ifndef MV_PANES_H
#define MV_PANES_H

#include "view/frame/view.h"

/* panels.c and its pane_*.c */
bool mv_panels_open(mv_view *view);
void mv_panels_close(mv_view *view);
void mv_state_paint(mv_view *view, mv_box box);
void mv_flame_paint(mv_view *view, mv_box box);
/* Height of a flame graph level at scale 1, and of the space below the levels on paper. */
enum { MV_FLAME_LEVEL = 18, MV_FLAME_FOOT = 30 };
void mv_tables_paint(mv_view *view, mv_box box);
void mv_details_paint(mv_view *view, mv_box box);
void mv_reports_paint(mv_view *view, mv_box box);
void mv_whatif_paint(mv_view *view, mv_box box);

/* Lookup in the last frame. The node of the flame graph at a point; MV_NO_ROW: none. */
uint32_t mv_flame_at(mv_view *view, mv_box box, float x, float y);
/* The segment in the allocator's state, and the allocation or MV_NO_ROW; false: no segment. */
bool mv_state_at(mv_view *view, float x, float y, uint32_t *alloc, uint32_t *segment);

/* What the check box with this number stood for in the last frame; "": there is none. */
const char *mv_whatif_item(const mv_view *view, uint64_t number);

/* All rows of the shown table as tab-separated lines; NULL: no table, or out of memory. */
const char *mv_tables_text(mv_view *view, mv_arena *arena);

#endif
