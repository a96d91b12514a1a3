/* The timeline as tiles: pictures of 256 columns in which every pixel identifies the allocation
 * that covers the middle of the pixel. Worker threads make the tiles. The user interface requests a
 * frame and immediately receives the tiles that are ready.
 *
 *     frame(view) ──► quads: tiles and where they go ──► colours ──► the screen
 *          │ what is missing                ▲
 *          ▼                                │ finished tiles, wake()
 *       requests ──► workers: index, sum tree, pyramid
 *
 * A tile's key consists of its subject, column width, pixel height, and position in the grid of
 * tiles. The subject is a number that the caller chooses for a device, its drawn rows and a clock.
 * While the scale changes, tiles are made for widths that are powers of two. Once it is at rest,
 * they are made for the displayed width, so that a tile column is a screen column. A missing tile
 * is replaced by stretching the nearest tiles. Tiles do not contain colours, so a different search,
 * theme or colour mode repaints the picture without computing tiles again. docs/internals/tiles.md
 * describes the algorithm and gives measurements. */
#pragma once

#include "viz/core/column_stack.h"

enum {
    MV_TILE_COLUMNS = 256,
    MV_TILE_ROWS = 1024 /* height of a grid cell in pixels, counted from the bottom of the stack */
};

/* What a timeline shows. Equal `id`s mean equal contents. All pointers are borrowed until
 * mv_tiles_forget(id). */
typedef struct {
    uint64_t id; /* number that the caller chooses; never 0 */
    const mv_index *index;
    const mv_pyramid *pyramid; /* pyramid of the device's lives */
    const mv_timescale *scale;
    const uint64_t *drawn; /* one bit for each rank, set if it is drawn; NULL: all are */
} mv_tile_subject;

/* A view: what a box of the screen shows. */
typedef struct {
    mv_tile_subject subject;
    double x, dx;           /* position of the left edge on the axis, and width of a pixel in axis
                               units, above 0 */
    double y, dy;           /* bytes at the lower edge, and height of a pixel in bytes, above 0 */
    uint32_t width, height; /* size in pixels */
    bool is_zooming;        /* dx or dy changed less than 80 ms ago; panning does not count */
} mv_tile_view;

/* A tile. Its ids are column-major, with the bottom row first: ids[column * rows + row]. */
typedef struct {
    uint64_t subject;
    double dx, dy;
    uint64_t kx, ky; /* the tile begins at kx * MV_TILE_COLUMNS * dx on the axis, and at byte ky *
                      MV_TILE_ROWS * dy */
    uint32_t rows;   /* number of rows in use, 0 to MV_TILE_ROWS; everything above them is empty */
    uint64_t serial; /* identifies the contents, and is unique within one mv_tiles */
    const uint32_t *ids;    /* [MV_TILE_COLUMNS * rows] ranks; MV_NO_ROW: none */
    const uint32_t *spikes; /* [MV_TILE_COLUMNS] ranks of spikes that are at least a pixel high
                    (viz/core/column_spikes.h) */
} mv_tile;

/* A part of a tile, and where it is shown. View pixels are counted from the view's upper left
 * corner, and pixels of a tile's picture (mv_tile_colour) from the tile's upper left corner. */
typedef struct {
    const mv_tile *tile;
    float from_x, from_y, from_w, from_h;
    float x, y, w, h;
    bool is_exact; /* each pixel of the tile is one pixel of the view */
} mv_tile_quad;

typedef struct {
    uint32_t count;
    const mv_tile_quad *quads; /* [count] in painting order, with exact quads last */
    uint32_t missing;          /* number of tiles that are missing from the view */
    uint32_t failed;           /* number of missing tiles that will never be made, because memory
                                  ran out */
} mv_tile_frame;

typedef struct mv_tiles mv_tiles;

#define MV_TILES_SCRATCH ((uint64_t)1 << 30)

typedef struct {
    uint32_t threads; /* number of workers. 0: mv_tiles_frame makes every tile that it shows before
                         it returns. MV_COOPERATIVE (viz/core/background.h): mv_tiles_run_one_task
                         makes the tiles */
    uint64_t bytes;   /* maximum memory for tiles; 0: 64 MiB */
    uint64_t scratch; /* maximum memory for the sums of one worker; 0: MV_TILES_SCRATCH */
    void (*wake)(void *user); /* called by a worker when there are tiles that no frame has shown
                                 yet. It is called at most once between two frames. May be NULL */
    void *user;
} mv_tiles_opts;

/* Returns one less than the number of processors, but at least 1. */
uint32_t mv_tiles_threads(void);

/* Returns NULL when out of memory or when threads cannot be started. `arena` keeps the
 * bookkeeping. */
mv_tiles *mv_tiles_open(mv_arena *arena, const mv_tiles_opts *opts);

/* Ends the workers and releases all tiles. `tiles` may be NULL. */
void mv_tiles_close(mv_tiles *tiles);

/* Returns the tiles that are ready for a view, and requests the missing ones: visible tiles first,
 * then tiles to the left and right. Never waits for a worker. `turn` counts the frames of the user
 * interface, and the quads are valid until a call with a later turn. A request that is repeated
 * neither in this turn nor in the previous one is dropped. Several views may request tiles in the
 * same turn. */
mv_tile_frame mv_tiles_frame(mv_tiles *tiles, const mv_tile_view *view, uint64_t turn);

/* With MV_COOPERATIVE: makes the most urgent tile. Returns false if there is nothing to make. */
bool mv_tiles_run_one_task(mv_tiles *tiles);

/* Whether no request is waiting and no worker is working. */
bool mv_tiles_are_idle(const mv_tiles *tiles);

/* Drops a subject's tiles, and waits for workers that use the subject. Afterwards, nothing reads
 * the data of a subject with this id. */
void mv_tiles_forget(mv_tiles *tiles, uint64_t subject);

/* What one pixel of a view shows when the scale is at rest, for mv_hit_find. */
typedef struct {
    mv_instant instant; /* the instant that the column shows */
    uint64_t byte;      /* byte at the middle of the pixel; MV_NO_BYTES: outside the stack */
    uint64_t low, high; /* the pixel contains the bytes [low, high) */
} mv_tile_point;

mv_tile_point mv_tile_point_at(const mv_tile_view *view, mv_pyramid_reader *levels, double px,
                               double py);

/* Returns the byte of the stack at the middle of a row of pixels. Rows are counted from the bottom
 * of the stack. */
static inline uint64_t mv_tile_byte(double dy, uint64_t row)
{
    double byte = ((double)row + 0.5) * dy;

    return byte < 0x1p63 ? (uint64_t)byte : (uint64_t)1 << 63;
}

/* ---- colours ------------------------------------------------------------------------------ */

/* How each rank looks. Colours are 0xRRGGBBAA. Each column looks up a rank only once. */
typedef struct {
    uint32_t (*colour)(const void *user, uint32_t rank);
    const void *user;
    uint32_t preexisting;    /* ranks below this number are hatched */
    const uint64_t *matches; /* one bit for each rank; ranks without it are dimmed. NULL: no rank is
                                dimmed */
    uint32_t ground;         /* colour that dimmed ranks fade towards */
    uint32_t empty;          /* colour of empty pixels */
} mv_tile_paint;

/* Colours a tile: pixels[MV_TILE_COLUMNS * rows], with the top row first. Neighbours of the same
 * colour can still be told apart, because every other rank is a shade lighter. The lowest pixel of
 * an allocation is darker if the allocation is more than three pixels high, or if it would
 * otherwise look like the row below it. */
void mv_tile_colour(const mv_tile *tile, const mv_tile_paint *paint, uint32_t *pixels);
