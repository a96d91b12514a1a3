/* Computes exactly which fraction of each pixel an area covers. No samples are taken, so no
 * sampling pattern is visible.
 *
 * The area is defined by its edges, which are lines from corner to corner in any order. Each closed
 * line adds its winding number, and the coverage of a pixel is the mean of the winding numbers in
 * it, at most one. If all parts of an area wind in the same direction, the result is their union,
 * as when SVG fills them.
 *
 *     mv_coverage_begin, mv_coverage_edge ..., mv_coverage_take, mv_coverage_edge ...
 *
 * Coordinates are whole numbers of 1/256 pixel and all sums are integers, so the result does not
 * depend on the order of the edges or on the machine. A pixel inside the clip does not depend on
 * the clip either. Horizontal and vertical lines are exact. Other lines are cut at pixel borders,
 * which moves them by less than 1/256 pixel.
 *
 * The time is proportional to the pixels that edges cross and, for each row, to its covered pixels
 * and its width in words of 64 pixels. */
#pragma once

#include "base/arena.h"

#define MV_PIXEL_UNITS 256

/* A pixel that an edge crosses, and what the edge contributes to this pixel and to all pixels to
 * the right of it. */
typedef struct {
    int32_t x;
    int32_t cover; /* height of the edge, where MV_PIXEL_UNITS is a whole pixel and down is
                      positive */
    int32_t area;  /* twice the area to the left of the edge; for a whole pixel, this is 2 x 256 x
                      256 */
    uint32_t next; /* index of the row's next cell, plus 1; 0: none */
} mv_coverage_cell;

typedef struct {
    mv_arena arena;
    bool failed;      /* memory ran out, so the drawing is incomplete */
    uint32_t columns; /* number of columns in the largest clip so far */
    uint32_t rows;
    int32_t left, top, right, bottom; /* the clip in pixels; right and bottom are outside */
    uint32_t *row;                    /* [rows] index of each row's first cell, plus 1; 0: none */
    int32_t first_row, last_row;      /* rows that have cells; there are none if first > last */
    uint32_t count, capacity;
    mv_coverage_cell *cells; /* [count] */
    int64_t *sums;           /* [columns + 1] sums for one row, in which a whole pixel counts as 2 x
                                256 x 256 */
    uint64_t *touched;       /* one bit for each element of `sums`, set if it is not 0 */
    uint8_t *mask;           /* [columns] */
} mv_coverage;

/* Receives the coverage of pixels [x, x + count) of row y, where 255 is a whole pixel. It is never
 * 0. */
typedef void mv_coverage_take_row(void *to, int32_t x, int32_t y, uint32_t count,
                                  const uint8_t *coverage);

/* For pictures of up to columns x rows pixels. Returns false when out of memory. Releasing is safe
 * in any case. */
bool mv_coverage_init(mv_coverage *c, mv_budget *budget, uint32_t columns, uint32_t rows);
void mv_coverage_release(mv_coverage *c);

/* Restricts the area to pixels [left, right) x [top, bottom), clipped to the picture. */
void mv_coverage_clip(mv_coverage *c, int32_t left, int32_t top, int32_t right, int32_t bottom);

/* Adds a line. Coordinates are in units of 1/256 pixel, and may be anywhere within +-2^29. */
void mv_coverage_edge(mv_coverage *c, int32_t x0, int32_t y0, int32_t x1, int32_t y1);

/* Passes the area to `take`, row by row, and clears it. */
void mv_coverage_take(mv_coverage *c, mv_coverage_take_row *take, void *to);
