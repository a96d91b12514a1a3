#include "viz/core/tiles.h"

enum {
    HATCH = 8,     /* distance between diagonals in pixels; it divides the size of a tile, so that
                      the pattern continues in the next tile */
    EDGE_ROWS = 4, /* an allocation at least this high has a dark edge at its lower end */
    BLOCK = 16     /* number of columns that are transposed together, which suits the cache */
};

/* How far a colour channel moves, in units of 1/256 of the way. It moves towards black at an edge,
 * towards white in every other rank, and towards the background where a search does not match. */
enum { DARKER = 64, LIGHTER = 24, DIMMER = 184 };

static uint32_t mix(uint32_t colour, uint32_t with, uint32_t part)
{
    uint32_t mixed = colour & 0xff; /* alpha does not change */

    for (int shift = 8; shift < 32; shift += 8) {
        uint32_t a = colour >> shift & 0xff, b = with >> shift & 0xff;
        mixed |= (a * (256 - part) + b * part) / 256 << shift;
    }
    return mixed;
}

static bool has(const uint64_t *bits, uint32_t rank)
{
    return bits[rank >> 6] >> (rank & 63) & 1;
}

static uint32_t colour_of(const mv_tile_paint *p, uint32_t rank)
{
    uint32_t colour = p->colour(p->user, rank);

    if (rank % 2)
        colour = mix(colour, 0xffffffff, LIGHTER);
    if (p->matches && !has(p->matches, rank))
        colour = mix(colour, p->ground, DIMMER);
    return colour;
}

/* Paints one allocation in one column: the rows [from, to), lowest first. `below` is the colour of
 * the pixel under it. Returns the colour of its highest pixel. */
static uint32_t paint_run(const mv_tile_paint *p, uint32_t rank, uint32_t column, uint32_t from,
                          uint32_t to, uint32_t below, uint32_t *pixels)
{
    uint32_t colour, edge;

    if (rank == MV_NO_ROW) {
        for (uint32_t row = from; row < to; row++)
            pixels[row] = p->empty;
        return p->empty;
    }
    colour = colour_of(p, rank);
    edge = mix(colour, 0, DARKER);
    for (uint32_t row = from; row < to; row++)
        pixels[row] = rank < p->preexisting && (column + row) % HATCH == 0 ? edge : colour;
    if (to - from >= EDGE_ROWS || colour == below)
        pixels[from] = edge;
    return pixels[to - 1];
}

static void paint_column(const mv_tile *tile, const mv_tile_paint *p, uint32_t column,
                         uint32_t *pixels)
{
    const uint32_t *ids = tile->ids + (uint64_t)column * tile->rows;
    uint32_t below = p->empty;

    for (uint32_t from = 0, to; from < tile->rows; from = to) {
        for (to = from + 1; to < tile->rows && ids[to] == ids[from]; to++)
            ;
        below = paint_run(p, ids[from], column, from, to, below, pixels);
    }
}

void mv_tile_colour(const mv_tile *tile, const mv_tile_paint *paint, uint32_t *pixels)
{
    uint32_t block[BLOCK][MV_TILE_ROWS];

    for (uint32_t first = 0; first < MV_TILE_COLUMNS; first += BLOCK) {
        for (uint32_t i = 0; i < BLOCK; i++)
            paint_column(tile, paint, first + i, block[i]);
        for (uint32_t row = 0; row < tile->rows; row++) {
            uint32_t *line = pixels + (uint64_t)(tile->rows - 1 - row) * MV_TILE_COLUMNS + first;
            for (uint32_t i = 0; i < BLOCK; i++)
                line[i] = block[i][row];
        }
    }
}
