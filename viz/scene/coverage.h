/* The exact share of each pixel that an area covers. There are no samples, so no sampling pattern
 * is visible.
 *
 * The area is defined by its edges, as lines from corner to corner in any order; each closed line
 * adds its winding, and a pixel's coverage is the winding's mean in it, at most one. If all parts
 * of an area wind in the same direction, the result is their union, as SVG fills them.
 *
 *     mv_coverage_begin, mv_coverage_edge ..., mv_coverage_take, mv_coverage_edge ...
 *
 * Coordinates are whole numbers of 1/256 pixel and all sums are integers, so the result depends
 * neither on the order of edges nor on the machine, nor, inside the clip, on the clip. Horizontal
 * and vertical lines are exact; other lines are cut at pixel borders, which moves them by less than
 * 1/256 pixel.
 *
 * Time: the pixels that edges cross, and for each row its covered pixels and its width in words of
 * 64 pixels. */
#ifndef MV_COVERAGE_H
#define MV_COVERAGE_H

#include "base/arena.h"

#define MV_PIXEL_UNITS 256

/* A pixel that an edge crosses: the edge's contribution to this pixel and to all pixels to the
 * right. */
typedef struct {
    int32_t x;
    int32_t cover; /* height of the edge: MV_PIXEL_UNITS is a whole pixel, down is positive */
    int32_t area;  /* twice the area to the edge's left, of 2 x 256 x 256 */
    uint32_t next; /* next cell of the row, + 1; 0: none */
} mv_coverage_cell;

typedef struct {
    mv_arena arena;
    bool failed;      /* memory ran out: the drawing is incomplete */
    uint32_t columns; /* of the largest clip so far */
    uint32_t rows;
    int32_t left, top, right, bottom; /* pixels; right and bottom are outside */
    uint32_t *row;                    /* [rows] first cell, + 1; 0: none */
    int32_t first_row, last_row;      /* rows with cells; empty when first > last */
    uint32_t count, capacity;
    mv_coverage_cell *cells; /* [count] */
    int64_t *sums;           /* [columns + 1] of one row, in 2 x 256 x 256 */
    uint64_t *touched;       /* a bit for each of `sums`: it is not 0 */
    uint8_t *mask;           /* [columns] */
} mv_coverage;

/* `coverage` of pixels [x, x + count) of row y: 255 is a whole pixel. Never 0. */
typedef void mv_coverage_take_row(void *to, int32_t x, int32_t y, uint32_t count,
                                  const uint8_t *coverage);

/* For pictures up to columns x rows pixels. False when out of memory; releasing is safe in any
 * case. */
bool mv_coverage_init(mv_coverage *c, mv_budget *budget, uint32_t columns, uint32_t rows);
void mv_coverage_release(mv_coverage *c);

/* From now on only pixels [left, right) x [top, bottom) count; clipped to the picture. */
void mv_coverage_clip(mv_coverage *c, int32_t left, int32_t top, int32_t right, int32_t bottom);

/* A line in units of 1/256 pixel, which may be anywhere within +-2^29. */
void mv_coverage_edge(mv_coverage *c, int32_t x0, int32_t y0, int32_t x1, int32_t y1);

/* Reports the area row by row, and clears it. */
void mv_coverage_take(mv_coverage *c, mv_coverage_take_row *take, void *to);

#endif
