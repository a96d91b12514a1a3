/* The viewer without a window and without threads, on a file. */
#ifndef MV_FIXTURE_VIEW_H
#define MV_FIXTURE_VIEW_H

#include "tests/fixture.h"
#include "viz/view/view.h"

/* With a snapshot of testdata/snapshots by name, loaded and judged; fails the test when it cannot
 * be read. mv_view_close ends it. */
mv_view *mvt_view(mv_budget *budget, const char *name);

/* With a trace written in code. */
mv_view *mvt_view_of(mv_budget *budget, mvt_trace *trace);

/* Calls `check` with a view of every snapshot of testdata/snapshots. */
void mvt_each_view(void (*check)(mv_view *view, const char *name));

/* A frame of 1280 x 720, after one in which everything settles. */
const mv_scene *mvt_view_frame(mv_view *view);

/* Moves the pointer there and presses the left button. */
void mvt_view_click(mv_view *view, float x, float y);

/* The topmost zone of a command with that number in the last frame, or any number with UINT64_MAX;
 * NULL: none. */
const mv_zone *mvt_view_zone(const mv_view *view, mv_command_id command, uint64_t arg);

#endif
