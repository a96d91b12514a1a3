/* Places the boxes of an allocator's state (state.h) in a box of pixels, whole or zoomed.
 *
 *     unit 0   large pool · 60.0 MiB ...      a heading is one unit, GROUP pixels high
 *          1   ┌──────────┬────┬────────┐     a row of bytes is one unit, as high as fits;
 *          2   ┌────────────────┐             when zoomed, higher, up to a limit
 *          3   small pool · 2.00 MiB ...
 *              └── left ──┘                   share of a row to the left of the box
 *
 * Positions are kept in units and shares, so they mean the same at every zoom and size. */
#ifndef MV_STATE_PLACE_H
#define MV_STATE_PLACE_H

#include "viz/pictures/state.h"
#include "viz/scene/scene.h"

/* All zeros: everything. */
typedef struct {
    double zoom; /* how many times wider a row is than the box; values below 1 mean 1 */
    double left; /* share of a row at the left edge: 0 to 1 - 1 / zoom */
    double top;  /* units above the upper edge, with fractions */
} mv_state_shown;

typedef struct {
    const mv_state *state;
    mv_box box;
    float scale;          /* of letters */
    float head, row, gap; /* pixels of a heading, of a row, and of the space below a row's boxes */
    mv_state_shown shown; /* corrected to the range that exists */
} mv_state_place;

mv_state_place mv_state_place_make(const mv_state *state, mv_box box, float scale,
                                   mv_state_shown shown);

/* Whether a part of the state is outside the box. */
bool mv_state_is_cut(const mv_state_place *p);

/* The visible part of the state, as shares of the whole: 0, 0, 1, 1 when all is visible. */
mv_box mv_state_share(const mv_state_place *p);

float mv_state_x(const mv_state_place *p, uint64_t bytes);   /* of bytes of a row */
float mv_state_row_y(const mv_state_place *p, uint32_t row); /* its upper edge */
float mv_state_head_y(const mv_state_place *p, uint32_t group);
mv_box mv_state_box_of(const mv_state_place *p, const mv_state_box *box);

/* Rows that are at least partly in the box: [*first, *end). */
void mv_state_rows_seen(const mv_state_place *p, uint32_t *first, uint32_t *end);

/* The box at a point; NULL: none. */
const mv_state_box *mv_state_box_at(const mv_state_place *p, float x, float y);

/* A range of bytes of a segment, cut where rows end: one box of pixels for each call; false when
 * there are no more. `done` is 0 at first. */
bool mv_state_range_next(const mv_state_place *p, uint32_t segment, uint64_t offset, uint64_t bytes,
                         uint64_t *done, mv_box *out);

/* ---- moving: each returns the new position ------------------------------------------------ */

/* `factor` times as large; the content at the point stays there as far as possible. */
mv_state_shown mv_state_zoom(const mv_state_place *p, float x, float y, double factor);

/* Moved by this many pixels: the content at x moves to x + dx. */
mv_state_shown mv_state_pan(const mv_state_place *p, float dx, float dy);

/* Moved just enough to show the range of a segment, or its beginning if it is larger than the box;
 * unchanged if it is visible. */
mv_state_shown mv_state_reveal(const mv_state_place *p, uint32_t segment, uint64_t offset,
                               uint64_t bytes);

/* Zoomed so that the range is about a third of the box. */
mv_state_shown mv_state_fit(const mv_state_place *p, uint32_t segment, uint64_t offset,
                            uint64_t bytes);

/* Columns that mv_state_lay needs at a zoom: in steps of two, so that few zooms need a new
 * layout. */
uint32_t mv_state_columns(float width, double zoom);

#endif
