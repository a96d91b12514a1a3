/* Places the boxes of an allocator's state (state.h) in a box of pixels. The state is shown
 * completely or zoomed.
 *
 *     unit 0   large pool · 60.0 MiB ...      a heading is one unit, GROUP pixels high
 *          1   ┌──────────┬────┬────────┐     a row of bytes is one unit, as high as fits;
 *          2   ┌────────────────┐             when zoomed, higher, up to a limit
 *          3   small pool · 2.00 MiB ...
 *              └── left ──┘                   fraction of a row to the left of the box
 *
 * Positions are stored in units and fractions, so they mean the same at every zoom and size. */
#pragma once

#include "viz/pictures/state.h"
#include "viz/scene/scene.h"

/* The part of the state that is shown. All zeros: everything. */
typedef struct {
    double zoom; /* how many times wider than the box a row is; values below 1 count as 1 */
    double left; /* fraction of a row to the left of the box, from 0 to 1 - 1 / zoom */
    double top;  /* number of units above the upper edge, with fractions */
} mv_state_shown;

typedef struct {
    const mv_state *state;
    mv_box box;
    float scale;          /* scale of the letters */
    float head, row, gap; /* pixel heights of a heading, a row, and the space below a row's boxes */
    mv_state_shown shown; /* the part that is shown, corrected to the range that exists */
} mv_state_place;

mv_state_place mv_state_place_make(const mv_state *state, mv_box box, float scale,
                                   mv_state_shown shown);

/* Whether any part of the state is outside the box. */
bool mv_state_is_cut(const mv_state_place *p);

/* Returns the visible part of the state as fractions of the whole, which are 0, 0, 1, 1 if
 * everything is visible. */
mv_box mv_state_share(const mv_state_place *p);

float mv_state_x(const mv_state_place *p, uint64_t bytes);   /* x of a number of bytes in a row */
float mv_state_row_y(const mv_state_place *p, uint32_t row); /* y of a row's upper edge */
float mv_state_head_y(const mv_state_place *p, uint32_t group);
mv_box mv_state_box_of(const mv_state_place *p, const mv_state_box *box);

/* Finds the rows [*first, *end) that are at least partly in the box. */
void mv_state_rows_seen(const mv_state_place *p, uint32_t *first, uint32_t *end);

/* Returns the box at a point; NULL: there is none. */
const mv_state_box *mv_state_box_at(const mv_state_place *p, float x, float y);

/* Converts a range of bytes in a segment to boxes of pixels, one per call and per row. Returns
 * false when there are no more boxes. `done` must be 0 before the first call. */
bool mv_state_range_next(const mv_state_place *p, uint32_t segment, uint64_t offset, uint64_t bytes,
                         uint64_t *done, mv_box *out);

/* ---- moving: each function returns the new position -------------------------------------- */

/* Scales the state by `factor`. What is at the point stays there if the limits allow it. */
mv_state_shown mv_state_zoom(const mv_state_place *p, float x, float y, double factor);

/* Moves the state by this many pixels, so that what is at x moves to x + dx. */
mv_state_shown mv_state_pan(const mv_state_place *p, float dx, float dy);

/* Moves the state just enough to show a range of a segment, or the beginning of the range if it is
 * larger than the box. Nothing moves if the range is already visible. */
mv_state_shown mv_state_reveal(const mv_state_place *p, uint32_t segment, uint64_t offset,
                               uint64_t bytes);

/* Zooms so that the range takes about a third of the box. */
mv_state_shown mv_state_fit(const mv_state_place *p, uint32_t segment, uint64_t offset,
                            uint64_t bytes);

/* Returns the number of columns that mv_state_lay needs at a zoom. It increases in steps of two, so
 * that a new layout is rarely needed. */
uint32_t mv_state_columns(float width, double zoom);
