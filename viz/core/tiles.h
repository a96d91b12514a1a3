/* The timeline as tiles: pictures of 256 columns, in which every pixel names the allocation that
 * covers its middle. Worker threads make them; the user interface asks for a frame and gets what is
 * ready, at once.
 *
 *     frame(view) ──► quads: tiles and where they go ──► colours ──► the screen
 *          │ what is missing                ▲
 *          ▼                                │ finished tiles, wake()
 *       requests ──► workers: index, sum tree, pyramid
 *
 * A tile is named by its subject (device, drawn rows, clock: the caller's number), the width of its
 * columns, the height of its pixels, and its place in the grid of these. While the scale changes,
 * tiles are made for widths that are powers of two; at rest, for the width that is shown, so that a
 * column of the tile is a column of the screen. A missing tile is replaced by stretching the
 * nearest ones. Colours are not part of a tile: searches, themes and colour modes repaint, and
 * compute nothing again. docs/internals/tiles.md has the algorithm and measurements. */
#ifndef MV_TILES_H
#define MV_TILES_H

#include "viz/core/column_stack.h"

enum {
    MV_TILE_COLUMNS = 256,
    MV_TILE_ROWS = 1024 /* pixels of the grid's cells in y, from the bottom of the stack */
};

/* What a timeline shows. Equal `id`s have equal contents; all is borrowed until
 * mv_tiles_forget(id). */
typedef struct {
    uint64_t id; /* not 0 */
    const mv_index *index;
    const mv_pyramid *pyramid; /* of the device's lives */
    const mv_timescale *scale;
    const uint64_t *drawn; /* a bit a rank; NULL: all rows */
} mv_tile_subject;

/* A box of the screen. */
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
    uint32_t rows; /* at most MV_TILE_ROWS: above them is nothing; may be 0 */
    uint64_t serial;     /* of its contents: no two tiles of one mv_tiles have the same */
    const uint32_t *ids; /* ranks; MV_NO_ROW: none */
    const uint32_t
        *spikes; /* [MV_TILE_COLUMNS] viz/core/column_spikes.h: ranks at least a pixel high */
} mv_tile;

/* A part of a tile and the place where it goes. Pixels of the view count from its upper left
 * corner, those of a tile's picture (mv_tile_colour) from its own. */
typedef struct {
    const mv_tile *tile;
    float from_x, from_y, from_w, from_h;
    float x, y, w, h;
    bool is_exact; /* pixel for pixel */
} mv_tile_quad;

typedef struct {
    uint32_t count;
    const mv_tile_quad *quads; /* [count] in painting order: exact ones are last */
    uint32_t missing;          /* tiles of the view that are missing */
    uint32_t failed;           /* those of them that will not come because memory is out */
} mv_tile_frame;

typedef struct mv_tiles mv_tiles;

#define MV_TILES_SCRATCH ((uint64_t)1 << 30)

typedef struct {
    uint32_t threads; /* 0: none; then mv_tiles_frame makes everything that it shows before it
                         returns. MV_IN_TURNS (viz/core/background.h): mv_tiles_turn makes them */
    uint64_t bytes;   /* most memory of tiles; 0: 64 MiB */
    uint64_t scratch; /* most memory of the sums of one worker; 0: MV_TILES_SCRATCH */
    void (*wake)(void *user); /* called by a worker: there are tiles that no frame has shown. Once
                                 until the next frame. May be NULL */
    void *user;
} mv_tiles_opts;

/* One less than there are processors, at least 1. */
uint32_t mv_tiles_threads(void);

/* NULL when memory is out or threads cannot be started. `arena` keeps the bookkeeping. */
mv_tiles *mv_tiles_open(mv_arena *arena, const mv_tiles_opts *opts);

/* Ends the workers and releases all tiles. NULL is allowed. */
void mv_tiles_close(mv_tiles *tiles);

/* The tiles that a view has, and requests for those it lacks: visible ones first, then those to the
 * left and right. Never waits for a worker. `turn` counts the frames of the user interface: the
 * quads are valid until a call with a later turn. Requests made in neither this turn nor the one
 * before are dropped. Several views may ask in one turn. */
mv_tile_frame mv_tiles_frame(mv_tiles *tiles, const mv_tile_view *view, uint64_t turn);

/* With MV_IN_TURNS: makes the tile that is wanted most. False: none is wanted. */
bool mv_tiles_turn(mv_tiles *tiles);

/* No request waits and no worker works. */
bool mv_tiles_are_idle(const mv_tiles *tiles);

/* Drops the tiles of a subject; waits for workers that use it. Afterwards nothing that belongs to a
 * subject with this id is read any more. */
void mv_tiles_forget(mv_tiles *tiles, uint64_t subject);

/* What the tiles of a view show at one of its pixels, when the scale is at rest. For mv_hit_find.
 */
typedef struct {
    mv_instant instant;  /* the moment that the column shows */
    uint32_t first, end; /* events [first, end) are in the column */
    uint64_t byte;       /* at the middle of the pixel; MV_NO_BYTES: outside the stack */
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

/* What each rank looks like; colours are 0xRRGGBBAA. A rank is asked for once in each column. */
typedef struct {
    uint32_t (*colour)(const void *user, uint32_t rank);
    const void *user;
    uint32_t preexisting;    /* ranks below are hatched */
    const uint64_t *matches; /* a bit a rank: the others are dimmed; NULL: none are */
    uint32_t ground;         /* what they are dimmed towards */
    uint32_t empty;          /* of empty pixels */
} mv_tile_paint;

/* pixels[MV_TILE_COLUMNS * rows], the top row first. Neighbours of one colour stay distinct: every
 * other rank is a shade lighter, and the lowest pixel of an allocation is darker if it is more than
 * three pixels high, or would look like what is below it. */
void mv_tile_colour(const mv_tile *tile, const mv_tile_paint *paint, uint32_t *pixels);

#endif
