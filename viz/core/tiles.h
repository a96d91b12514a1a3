/* The timeline as tiles: pictures of 256 columns, in which every pixel names the allocation that
 * covers its middle. Worker threads make them; the user interface requests a frame and immediately
 * gets the tiles that are ready.
 *
 *     frame(view) ──► quads: tiles and where they go ──► colours ──► the screen
 *          │ what is missing                ▲
 *          ▼                                │ finished tiles, wake()
 *       requests ──► workers: index, sum tree, pyramid
 *
 * The key of a tile is its subject (device, drawn rows, clock: the caller's number), the width of
 * its columns, the height of its pixels, and its place in the grid of these. While the scale
 * changes, tiles are made for widths that are powers of two; at rest, for the displayed width, so
 * that a tile column is a screen column. A missing tile is replaced by stretching the nearest
 * tiles. Colours are not part of a tile: searches, themes and colour modes repaint without
 * computing anything again. docs/internals/tiles.md has the algorithm and measurements. */
#ifndef MV_TILES_H
#define MV_TILES_H

#include "viz/core/column_stack.h"

enum {
    MV_TILE_COLUMNS = 256,
    MV_TILE_ROWS = 1024 /* pixels of the grid's cells in y, counted from the bottom of the stack */
};

/* The content of a timeline. Equal `id`s mean equal contents; everything is borrowed until
 * mv_tiles_forget(id). */
typedef struct {
    uint64_t id; /* not 0 */
    const mv_index *index;
    const mv_pyramid *pyramid; /* of the device's lives */
    const mv_timescale *scale;
    const uint64_t *drawn; /* one bit for each rank; NULL: all rows */
} mv_tile_subject;

/* A view: a box of the screen. */
typedef struct {
    mv_tile_subject subject;
    double x, dx;           /* the left edge, a place on the axis; axis units of a pixel, above 0 */
    double y, dy;           /* bytes at the lower edge; bytes of a pixel, above 0 */
    uint32_t width, height; /* pixels */
    bool is_zooming;        /* dx or dy changed less than 80 ms ago; panning does not count */
} mv_tile_view;

/* Column-major, the bottom row first: ids[column * rows + row]. */
typedef struct {
    uint64_t subject;
    double dx, dy;
    uint64_t kx,
        ky;        /* covers x from kx * MV_TILE_COLUMNS * dx, bytes from ky * MV_TILE_ROWS * dy */
    uint32_t rows; /* at most MV_TILE_ROWS: there is nothing above them; may be 0 */
    uint64_t serial;     /* identifies the contents: unique within one mv_tiles */
    const uint32_t *ids; /* ranks; MV_NO_ROW: none */
    const uint32_t
        *spikes; /* [MV_TILE_COLUMNS] viz/core/column_spikes.h: ranks at least a pixel high */
} mv_tile;

/* Part of a tile and where it is shown. Pixels of the view count from the view's upper left corner,
 * pixels of a tile's picture (mv_tile_colour) from the tile's. */
typedef struct {
    const mv_tile *tile;
    float from_x, from_y, from_w, from_h;
    float x, y, w, h;
    bool is_exact; /* pixel for pixel */
} mv_tile_quad;

typedef struct {
    uint32_t count;
    const mv_tile_quad *quads; /* [count] in painting order: exact quads last */
    uint32_t missing;          /* tiles of the view that are missing */
    uint32_t failed;           /* missing tiles that will not come because memory ran out */
} mv_tile_frame;

typedef struct mv_tiles mv_tiles;

#define MV_TILES_SCRATCH ((uint64_t)1 << 30)

typedef struct {
    uint32_t threads; /* 0: none; mv_tiles_frame then makes everything that it shows before it
                         returns. MV_COOPERATIVE (viz/core/background.h): mv_tiles_run_one_task makes them */
    uint64_t bytes;   /* limit for the memory of tiles; 0: 64 MiB */
    uint64_t scratch; /* limit for one worker's sums; 0: MV_TILES_SCRATCH */
    void (*wake)(void *user); /* called by a worker when there are tiles that no frame has shown;
                                 once until the next frame. May be NULL */
    void *user;
} mv_tiles_opts;

/* One less than the number of processors, at least 1. */
uint32_t mv_tiles_threads(void);

/* NULL when out of memory or when threads cannot be started. `arena` keeps the bookkeeping. */
mv_tiles *mv_tiles_open(mv_arena *arena, const mv_tiles_opts *opts);

/* Ends the workers and releases all tiles. NULL is allowed. */
void mv_tiles_close(mv_tiles *tiles);

/* The tiles that are ready for a view; requests the missing ones: visible tiles first, then tiles
 * to the left and right. Never waits for a worker. `turn` counts the frames of the user interface:
 * the quads are valid until a call with a later turn. Requests made in neither this turn nor the
 * previous one are dropped. Several views may request tiles in one turn. */
mv_tile_frame mv_tiles_frame(mv_tiles *tiles, const mv_tile_view *view, uint64_t turn);

/* With MV_COOPERATIVE: makes the most urgent tile. False: nothing to make. */
bool mv_tiles_run_one_task(mv_tiles *tiles);

/* No request waits and no worker works. */
bool mv_tiles_are_idle(const mv_tiles *tiles);

/* Drops the tiles of a subject; waits for workers that use it. Afterwards nothing reads the data of
 * a subject with this id. */
void mv_tiles_forget(mv_tiles *tiles, uint64_t subject);

/* The data shown by one pixel of a view when the scale is at rest. For mv_hit_find. */
typedef struct {
    mv_instant instant;  /* the moment that the column shows */
    uint32_t first, end; /* events [first, end) are in the column */
    uint64_t byte;       /* byte at the middle of the pixel; MV_NO_BYTES: outside the stack */
    uint64_t low, high;  /* bytes [low, high) are in the pixel */
} mv_tile_point;

mv_tile_point mv_tile_point_at(const mv_tile_view *view, mv_pyramid_reader *levels, double px,
                               double py);

/* The byte of the stack at the middle of a row of pixels, counted from the bottom of the stack. */
static inline uint64_t mv_tile_byte(double dy, uint64_t row)
{
    double byte = ((double)row + 0.5) * dy;

    return byte < 0x1p63 ? (uint64_t)byte : (uint64_t)1 << 63;
}

/* ---- colours ------------------------------------------------------------------------------ */

/* The look of each rank; colours are 0xRRGGBBAA. Each column looks up a rank once. */
typedef struct {
    uint32_t (*colour)(const void *user, uint32_t rank);
    const void *user;
    uint32_t preexisting;    /* lower ranks are hatched */
    const uint64_t *matches; /* one bit for each rank: others are dimmed; NULL: none are */
    uint32_t ground;         /* the colour that dimmed ranks fade towards */
    uint32_t empty;          /* of empty pixels */
} mv_tile_paint;

/* pixels[MV_TILE_COLUMNS * rows], the top row first. Neighbours with one colour stay distinct:
 * every other rank is a shade lighter, and the lowest pixel of an allocation is darker if the
 * allocation is more than three pixels high, or would otherwise look like the row below it. */
void mv_tile_colour(const mv_tile *tile, const mv_tile_paint *paint, uint32_t *pixels);

#endif
