/* Segments over time, coloured by how full they are. The picture shows PyTorch's reserved memory,
 * and how much of it tensors use. */

#include "view/timeline/plot.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Returns the finest result available: for the window, or else for the whole trace. */
static const mv_segment_use *find_use(mv_plot *p)
{
    mv_use_query ask = {&p->device->index, p->index, p->shown.first, p->shown.end};
    mv_use_query all = {&p->device->index, p->index, 0, p->lives->events.count};
    const mv_segment_use *use;
    bool is_current;

    use = mv_slot_query(p->pane->use_all_slot, &all, &is_current);
    if (use && is_current && use->count > ask.end - ask.first)
        return use;
    if (!p->pane->is_zooming) {
        const mv_segment_use *fine = mv_slot_query(p->pane->use_slot, &ask, &is_current);
        if (fine && is_current)
            return fine;
    }
    return use && use->ask.segments == p->index ? use : NULL;
}

uint64_t mv_plot_use_key(mv_plot *p)
{
    struct {
        uint64_t first, end, index, rows;
    } parts = {0, 0, 0, p->ui->theme->plot};

    p->use = find_use(p);
    if (p->use) {
        parts.first = p->use->ask.first;
        parts.end = p->use->ask.end;
        parts.index = (uint64_t)(uintptr_t)p->use->ask.segments;
    }
    return XXH3_64bits(&parts, sizeof parts);
}

static uint32_t shade(uint32_t colour, uint32_t rank, bool is_edge)
{
    uint32_t out = 0xff;

    if (rank & 1)
        colour = mv_lighter(colour);
    if (!is_edge)
        return colour;
    for (int shift = 8; shift < 32; shift += 8)
        out |= (colour >> shift & 0xff) * 5 / 8 << shift;
    return out;
}

static void tint_column(const mv_plot *p, const mv_tile *tile, uint32_t column,
                        const uint8_t *level, uint32_t *pixels)
{
    const uint32_t *ids = tile->ids + (uint64_t)column * tile->rows;
    uint32_t below = MV_NO_ROW;

    for (uint32_t row = 0; row < tile->rows; row++) {
        uint32_t *pixel = &pixels[(uint64_t)(tile->rows - 1 - row) * MV_TILE_COLUMNS + column];
        uint32_t rank = ids[row], colour = p->ui->theme->unknown;
        bool is_edge =
            rank != below && row + 2 < tile->rows && ids[row + 1] == rank && ids[row + 2] == rank;
        below = rank;
        *pixel = p->ui->theme->plot;
        if (rank == MV_NO_ROW)
            continue;
        if (level && level[rank])
            colour = mv_fullness_colour(level[rank] - 1u, p->view->desk->is_dark);
        *pixel = shade(colour, rank, is_edge);
    }
}

void mv_plot_tint_segments(mv_plot *p, const mv_tile *tile, uint32_t *pixels)
{
    for (uint32_t c = 0; c < MV_TILE_COLUMNS; c++) {
        double x = ((double)tile->kx * MV_TILE_COLUMNS + c) * tile->dx;
        mv_instant at = mv_timescale_instant(&p->rows->scale, p->levels, x, x + tile->dx);
        tint_column(p, tile, c, p->use ? mv_segment_use_at(p->use, at.event) : NULL, pixels);
    }
}
