#include "viz/core/tile_maker.h"

#include <string.h>

#include "viz/core/spikes.h"

void mv_tile_maker_init(mv_tile_maker *maker, uint64_t scratch)
{
    *maker = (mv_tile_maker){.budget.limit = scratch};
    mv_arena_init(&maker->arena, &maker->budget);
}

void mv_tile_maker_release(mv_tile_maker *maker)
{
    mv_arena_release(&maker->arena);
    maker->index = NULL;
    maker->pyramid = NULL;
}

/* The tools for this subject: sums are kept while the index stays the same. */
static bool take_up(mv_tile_maker *m, const mv_tile_subject *s, uint64_t epoch)
{
    mv_err err = {0};

    if (m->epoch != epoch)
        mv_tile_maker_release(m);
    m->epoch = epoch;
    if (m->pyramid != s->pyramid) {
        m->pyramid = s->pyramid;
        mv_pyramid_reader_init(&m->levels, s->pyramid);
    }
    if (m->index == s->index) {
        mv_pile_show(&m->pile, s->drawn);
        return true;
    }
    mv_arena_release(&m->arena);
    m->index = NULL;
    if (mv_pile_init(&m->arena, s->index, s->drawn, &m->pile, &err) != MV_OK)
        return false;
    m->index = s->index;
    return true;
}

/* The place of a column's left edge; column MV_TILE_COLUMNS is the next tile's first. */
static double place_of(const mv_tile *tile, uint32_t column)
{
    return (double)(tile->kx * MV_TILE_COLUMNS + column) * tile->dx;
}

uint32_t mv_tile_rows(mv_pyramid_reader *levels, const mv_tile_subject *s, const mv_tile *tile)
{
    double x0 = place_of(tile, 0), x1 = place_of(tile, MV_TILE_COLUMNS);
    uint64_t first_row = tile->ky * MV_TILE_ROWS, most;
    uint32_t first, low = 0, high = MV_TILE_ROWS;
    mv_extent extent;

    if (x0 >= s->scale->length)
        return 0;
    /* A slide still shows what was there before the event. */
    first = mv_timescale_moment(s->scale, x0);
    extent = mv_pyramid_range(levels, first == MV_BEFORE ? MV_BEFORE : first - 1,
                              mv_timescale_from(s->scale, x1));
    most = mv_timescale_height(s->scale, &extent.most);
    /* An alloc that ends another row: both stand there during the slide. */
    if (s->index->odd_count)
        most += s->index->most_bytes[s->index->levels - 1][0];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (mv_tile_byte(tile->dy, first_row + middle) < most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_column(mv_tile_maker *m, const mv_tile *tile, uint32_t *ids)
{
    uint32_t rows = mv_pile_fill(&m->pile, m->middle, tile->rows, ids);

    for (; rows < tile->rows; rows++)
        ids[rows] = MV_NO_ROW;
}

/* A column narrower than an event shows all that there is. */
static uint32_t find_spike(const mv_tile_subject *s, const mv_tile *tile, double x0, double x1,
                           mv_instant instant)
{
    uint32_t first = mv_timescale_from(s->scale, x0), end = mv_timescale_from(s->scale, x1);
    uint64_t least = tile->dy > 1 ? (uint64_t)tile->dy : 1;

    if (end - first < 2)
        return MV_NO_ROW;
    return mv_spike_find(s->index, s->drawn, first, end, instant.event, least);
}

bool mv_tile_make(mv_tile_maker *m, const mv_tile_subject *s, const mv_tile *tile, uint64_t epoch,
                  const _Atomic bool *stop, uint32_t *ids, uint32_t *spikes)
{
    mv_instant last = {0};
    uint32_t count = 0; /* columns so far that show something */

    if (!take_up(m, s, epoch))
        return false;
    for (uint32_t i = 0; i < tile->rows; i++)
        m->middle[i] = mv_tile_byte(tile->dy, tile->ky * MV_TILE_ROWS + i);
    for (; count < MV_TILE_COLUMNS; count++) {
        double x0 = place_of(tile, count), x1 = place_of(tile, count + 1);
        uint32_t *column = ids + (uint64_t)count * tile->rows;
        mv_instant now;
        if (x0 >= s->scale->length)
            break;
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return false;
        now = mv_timescale_instant(s->scale, &m->levels, x0, x1);
        if (count > 0 && now.event == last.event && now.slid == last.slid) {
            memcpy(column, column - tile->rows, tile->rows * sizeof *ids);
        } else {
            mv_pile_move(&m->pile, now);
            fill_column(m, tile, column);
        }
        spikes[count] = find_spike(s, tile, x0, x1, now);
        last = now;
    }
    for (uint64_t i = (uint64_t)count * tile->rows; i < (uint64_t)MV_TILE_COLUMNS * tile->rows; i++)
        ids[i] = MV_NO_ROW;
    for (; count < MV_TILE_COLUMNS; count++)
        spikes[count] = MV_NO_ROW;
    return true;
}
