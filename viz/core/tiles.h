/* The timeline as tiles: pictures of 256 columns, in which every pixel names the allocation that
 * covers its middle. Worker threads make them; the user interface asks for a frame and gets what
 * is there, at once.
 *
 *     frame(view) ──► quads: tiles and where they go ──► colours ──► the screen
 *          │ what is missing                ▲
 *          ▼                                │ finished tiles, wake()
 *       requests ──► workers: index, sum tree, pyramid
 *
 * A tile is named by its subject (device, drawn set, clock: the caller's number), the width of its
 * columns, the height of its pixels, and its place in the grid of these. While the view moves,
 * tiles are made for widths that are powers of two; at rest, for exactly the width that is shown,
 * so that a column of the tile is a column of the screen. What is not there yet is shown by
 * stretching the nearest tiles that are. Colours are no part of a tile: searches, themes and modes
 * of colour repaint and compute nothing again. docs/tiles.md has the algorithm and measurements. */
#ifndef MV_TILES_H
#define MV_TILES_H

#include "viz/core/columns.h"

enum {
    MV_TILE_COLUMNS = 256,
    MV_TILE_ROWS = 1024 /* pixels of the grid's cells in y: 0 is at the bottom of the stack */
};

/* What a timeline shows. Equal `id`s have equal contents; all is borrowed until
 * mv_tiles_forget(id). */
typedef struct {
    uint64_t id; /* not 0 */
    const mv_index *index;
    const mv_pyramid *pyramid;
    const mv_timescale *scale;
    const uint64_t *drawn; /* a bit a rank; NULL: all rows */
} mv_tile_subject;

/* A box of the screen. Keep dx and dy the same while panning. */
typedef struct {
    mv_tile_subject subject;
    double x, dx;           /* place on the axis of the left edge; axis units of a pixel, above 0 */
    double y, dy;           /* bytes at the lower edge; bytes of a pixel, above 0 */
    uint32_t width, height; /* pixels */
    bool is_moving;         /* an input was less than 80 ms ago */
} mv_tile_view;

/* Column-major, the bottom row first: ids[column * rows + row]. */
typedef struct {
    uint64_t subject;
    double dx, dy;
    uint32_t kx,
        ky;        /* covers x from kx * MV_TILE_COLUMNS * dx, bytes from ky * MV_TILE_ROWS * dy */
    uint32_t rows; /* up to the highest that is not empty, at most MV_TILE_ROWS; may be 0 */
    uint64_t serial;        /* of its contents: no two tiles have the same */
    const uint32_t *ids;    /* ranks; MV_NO_ROW: nobody */
    const uint32_t *spikes; /* [MV_TILE_COLUMNS] viz/core/spikes.h: ranks at least a pixel high */
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
    const mv_tile_quad *quads; /* [count] paint in this order: exact ones are last */
    uint32_t missing;          /* tiles of the view that are still to come */
} mv_tile_frame;

typedef struct mv_tiles mv_tiles;

typedef struct {
    uint32_t threads;      /* 0: none; mv_tiles_frame makes all that it shows before it returns */
    uint64_t bytes;        /* most memory of tiles; 0: 64 MiB */
    uint64_t most_scratch; /* most memory of one worker's sums; 0: 1 GiB */
    void (*wake)(void *user); /* from a worker: tiles are there that no frame has shown. Once, until
                               * the next frame. NULL: nobody wants to know */
    void *user;
} mv_tiles_opts;

/* One less than the processors, at least 1. */
uint32_t mv_tiles_threads(void);

/* NULL when memory is out or threads cannot be started. `arena` keeps the bookkeeping. */
mv_tiles *mv_tiles_open(mv_arena *arena, const mv_tiles_opts *opts);

/* Ends the workers and releases all tiles. NULL is allowed. */
void mv_tiles_close(mv_tiles *tiles);

/* The quads of a view, valid until the next call with these tiles; requests what is missing, what
 * is visible first, and drops requests of earlier frames that are not visible any more. Never waits
 * for a worker. Several views may ask in one frame: each call adds its requests to the `turn`,
 * which counts frames up. */
mv_tile_frame mv_tiles_frame(mv_tiles *tiles, const mv_tile_view *view, uint64_t turn);

/* No request waits and no worker works. */
bool mv_tiles_are_idle(const mv_tiles *tiles);

/* Drops the tiles of a subject; waits for workers that are at one. After it nothing of the subject
 * is read any more. */
void mv_tiles_forget(mv_tiles *tiles, uint64_t subject);

/* The instant that the tiles of a view at rest show at its pixel column `px`. */
mv_instant mv_tile_instant(const mv_tile_view *view, mv_pyramid_reader *levels, double px);

/* ---- colours ------------------------------------------------------------------------------ */

/* What each rank looks like; colours are 0xRRGGBBAA. */
typedef struct {
    const uint32_t *class_of; /* [ranks] row of `colours` */
    const uint32_t *colours;  /* [classes] */
    uint32_t preexisting;     /* ranks below are hatched */
    const uint64_t *leaks;    /* a bit a rank: has the colour `leak`; NULL: none */
    uint32_t leak;
    const uint64_t *matches; /* a bit a rank: the others are dimmed; NULL: none is */
    uint32_t ground;         /* what they are dimmed towards */
    uint32_t empty;          /* of pixels that are nobody's */
} mv_tile_paint;

/* pixels[MV_TILE_COLUMNS * rows], the top row first. Neighbours of one colour stay apart: every
 * other rank is a shade lighter, and the lowest pixel of an allocation is darker when it is more
 * than three high, or when it would look as what is below it. */
void mv_tile_colour(const mv_tile *tile, const mv_tile_paint *paint, uint32_t *pixels);

#endif
