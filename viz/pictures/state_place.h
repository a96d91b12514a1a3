/* Where the boxes of an allocator's state (state.h) are in a box of pixels, whole or zoomed.
 *
 *     unit 0   large pool · 60.0 MiB ...      a heading is one unit, GROUP pixels high
 *          1   ┌──────────┬────┬────────┐     a row of bytes is one unit, as high as fits;
 *          2   ┌────────────────┐             when zoomed, higher, up to a limit
 *          3   small pool · 2.00 MiB ...
 *              └── left ──┘                   share of a row that is left of the box
 *
 * What is shown is kept in units and shares, so that it means the same at every zoom and size. */
#ifndef MV_STATE_PLACE_H
#define MV_STATE_PLACE_H

#include "viz/pictures/state.h"
#include "viz/scene/scene.h"

/* All zero: everything. */
typedef struct {
    double zoom; /* a row is so many times as wide as the box; below 1: as 1 */
    double left; /* share of a row at the left edge: 0 to 1 - 1 / zoom */
    double top;  /* units above the upper edge, with fractions */
} mv_state_shown;

typedef struct {
    const mv_state *state;
    mv_box box;
    float scale;          /* of letters */
    float head, row, gap; /* pixels of a heading, of a row, and of the space below a row's boxes */
    mv_state_shown shown; /* corrected to what exists */
} mv_state_place;

mv_state_place mv_state_place_make(const mv_state *state, mv_box box, float scale,
                                   mv_state_shown shown);

/* The height in pixels that shows everything with rows of `row` pixels. */
float mv_state_height(const mv_state *state, float scale, float row);

/* Whether a part of the state is outside the box. */
bool mv_state_is_cut(const mv_state_place *p);

/* What of everything is in the box, as shares of it: 0, 0, 1, 1 when that is all. */
mv_box mv_state_share(const mv_state_place *p);

float mv_state_x(const mv_state_place *p, uint64_t bytes);   /* of bytes of a row */
float mv_state_row_y(const mv_state_place *p, uint32_t row); /* its upper edge */
float mv_state_head_y(const mv_state_place *p, uint32_t group);
mv_box mv_state_box_of(const mv_state_place *p, const mv_state_box *box);

/* Rows that are in the box, at least in part: [*first, *end). */
void mv_state_rows_seen(const mv_state_place *p, uint32_t *first, uint32_t *end);

/* The box at a point; NULL: none. */
const mv_state_box *mv_state_box_at(const mv_state_place *p, float x, float y);

/* A range of bytes of a segment, cut where rows end: one box of pixels a call; false when there are
 * no more. `done` is 0 at first. */
bool mv_state_range_next(const mv_state_place *p, uint32_t segment, uint64_t offset, uint64_t bytes,
                         uint64_t *done, mv_box *out);

/* ---- moving: what is shown afterwards ----------------------------------------------------- */

/* `factor` times as large; what is at the point stays there as far as it can. */
mv_state_shown mv_state_zoom(const mv_state_place *p, float x, float y, double factor);

/* Moved by so many pixels: what was at x is at x + dx. */
mv_state_shown mv_state_pan(const mv_state_place *p, float dx, float dy);

/* Moved just enough to show the range of a segment, or its beginning when it is larger than the
 * box; unchanged when it is seen. */
mv_state_shown mv_state_reveal(const mv_state_place *p, uint32_t segment, uint64_t offset,
                               uint64_t bytes);

/* Zoomed so that the range is about a third of the box. */
mv_state_shown mv_state_fit(const mv_state_place *p, uint32_t segment, uint64_t offset,
                            uint64_t bytes);

/* The most that makes sense: the smallest block of the allocator is a few pixels wide. */
double mv_state_most_zoom(const mv_state *state);

/* Columns that mv_state_lay needs at a zoom: steps of two, so that few zooms ask anew. */
uint32_t mv_state_columns(float width, double zoom);

#endif
