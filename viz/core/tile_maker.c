#include "viz/core/tile_maker.h"

#include "base/search.h"
#include "viz/core/column_spikes.h"

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

/* Prepares the tools for this subject. Sums stay valid as long as the index is the same. */
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
        mv_column_stack_show(&m->stack, s->drawn);
        return true;
    }
    mv_arena_release(&m->arena);
    m->index = NULL;
    if (mv_column_stack_init(&m->arena, s->index, s->drawn, &m->stack, &err) != MV_OK)
        return false;
    m->index = s->index;
    return true;
}

/* Returns the position of a column's left edge. Column MV_TILE_COLUMNS is the first column of the
 * next tile. */
static double place_of(const mv_tile *tile, uint32_t column)
{
    return (double)(tile->kx * MV_TILE_COLUMNS + column) * tile->dx;
}

uint32_t mv_tile_rows(mv_pyramid_reader *levels, const mv_tile_subject *s, const mv_tile *tile)
{
    double x0 = place_of(tile, 0), x1 = place_of(tile, MV_TILE_COLUMNS);
    uint64_t first_row = tile->ky * MV_TILE_ROWS, most;
    mv_bisect b = mv_bisect_over(0, MV_TILE_ROWS);
    uint32_t first;
    mv_extent extent;

    if (x0 >= s->scale->length)
        return 0;
    /* The tile begins with the heap after the previous event, perhaps during its slide, in which
     * older rows are still visible. */
    first = mv_timescale_from(s->scale, x0);
    extent = mv_pyramid_range(levels, first < 2 ? MV_BEFORE : first - 2,
                              mv_timescale_from(s->scale, x1));
    most = mv_timescale_height(s->scale, &extent.most);
    /* If an alloc ends another row, both rows are visible during the slide. */
    if (s->index->odd_count)
        most += s->index->most_bytes[s->index->levels - 1][0];
    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, mv_tile_byte(tile->dy, first_row + b.middle) < most);
    return (uint32_t)b.low;
}

/* A column of pixels, its events, and the instant that it shows. */
typedef struct {
    double x0, x1;
    uint32_t first, end;
    mv_instant instant;
} column;

static void fill_column(mv_tile_maker *m, const mv_tile *tile, const column *now, uint32_t *ids)
{
    uint32_t rows = mv_column_stack_fill_at(&m->stack, now->instant, m->middle, tile->rows, ids);

    for (; rows < tile->rows; rows++)
        ids[rows] = MV_NO_ROW;
}

/* Finds the spike of a column. A column of one event already shows everything. */
static uint32_t find_spike(const mv_tile_subject *s, const mv_tile *tile, const column *now)
{
    uint64_t least = tile->dy > 1 ? (uint64_t)tile->dy : 1;

    if (now->end - now->first < 2)
        return MV_NO_ROW;
    return mv_spike_find(s->index, s->drawn, now->first, now->end, now->instant.event, least);
}

/* Fills the rest of the tile. Nothing is drawn after the end of the axis. */
static void fill_rest(const mv_tile *tile, uint32_t count, uint32_t *ids, uint32_t *spikes)
{
    for (uint64_t i = (uint64_t)count * tile->rows; i < (uint64_t)MV_TILE_COLUMNS * tile->rows; i++)
        ids[i] = MV_NO_ROW;
    for (; count < MV_TILE_COLUMNS; count++)
        spikes[count] = MV_NO_ROW;
}

/* Moves to the column to the right of `now`, which starts where `now` ends. */
static void step(mv_tile_maker *m, const mv_tile_subject *s, const mv_tile *tile, uint32_t count,
                 column *now)
{
    now->x0 = now->x1;
    now->first = now->end;
    now->x1 = place_of(tile, count + 1);
    now->end = mv_timescale_from(s->scale, now->x1);
    now->instant =
        mv_timescale_instant_of(s->scale, &m->levels, now->x0, now->x1, now->first, now->end);
}

bool mv_tile_make(mv_tile_maker *m, const mv_tile_subject *s, const mv_tile *tile, uint64_t epoch,
                  const _Atomic bool *stop, uint32_t *ids, uint32_t *spikes)
{
    column now = {.x1 = place_of(tile, 0)};
    mv_instant last = {0};
    uint32_t count = 0;

    if (!take_up(m, s, epoch))
        return false;
    for (uint32_t i = 0; i < tile->rows; i++)
        m->middle[i] = mv_tile_byte(tile->dy, tile->ky * MV_TILE_ROWS + i);
    now.end = mv_timescale_from(s->scale, now.x1);
    for (; count < MV_TILE_COLUMNS && now.x1 < s->scale->length; count++) {
        uint32_t *here = ids + (uint64_t)count * tile->rows;
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return false;
        step(m, s, tile, count, &now);
        if (count > 0 && now.instant.event == last.event && now.instant.slid == last.slid)
            memcpy(here, here - tile->rows, tile->rows * sizeof *ids);
        else
            fill_column(m, tile, &now, here);
        spikes[count] = find_spike(s, tile, &now);
        last = now.instant;
    }
    fill_rest(tile, count, ids, spikes);
    return true;
}
