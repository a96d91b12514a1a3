#include "tests/fixture_stack.h"

#include <criterion/criterion.h>

#include "tests/fixture_lives.h"

static bool is_alive(const mv_index *x, uint32_t rank, uint32_t event)
{
    return x->measure == MV_INDEX_ALLOCATED ? mv_alloc_is_allocated(x->lives, rank, event)
                                            : mv_alloc_is_active(x->lives, rank, event);
}

static bool is_drawn(const uint64_t *drawn, uint32_t rank)
{
    return !drawn || (drawn[rank / 64] >> rank % 64 & 1);
}

uint64_t mvt_held(const mv_index *x, const uint64_t *drawn, uint32_t rank, mv_instant instant,
                  bool *is_open)
{
    *is_open = false;
    if (!is_drawn(drawn, rank))
        return 0;
    if (is_alive(x, rank, instant.event))
        return x->bytes[rank];
    if (instant.event == MV_BEFORE || x->end[rank] != instant.event ||
        !is_alive(x, rank, instant.event - 1))
        return 0;
    *is_open = true;
    return mv_instant_open(x->bytes[rank], instant.slid);
}

uint32_t mvt_row_at(const mv_index *x, const uint64_t *drawn, mv_instant instant, uint64_t byte,
                    uint64_t *offset)
{
    uint64_t low = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        bool is_open;
        uint64_t held = mvt_held(x, drawn, r, instant, &is_open);
        if (byte >= low && byte - low < held) {
            *offset = low;
            return is_open ? MV_NO_ROW : r;
        }
        low += held;
    }
    return MV_NO_ROW;
}

/* Where the events stand, one by one. */
static double place(const mv_timescale *s, uint32_t event)
{
    return mv_timescale_at(s, event);
}

static uint64_t height(const uint64_t *heights, uint64_t before, uint32_t event)
{
    return event == MV_BEFORE ? before : heights[event];
}

mv_instant mvt_instant(const mv_timescale *s, const uint64_t *heights, uint64_t before, double x0,
                       double x1)
{
    double middle = x0 + (x1 - x0) / 2;
    mv_instant instant = {MV_BEFORE, MV_SLID};
    bool stands = false;
    uint32_t at_begin = MV_BEFORE, at_middle = MV_BEFORE;

    for (uint32_t e = 0; e < s->events; e++) {
        stands = stands || (place(s, e) >= x0 && place(s, e) < x1);
        if (place(s, e) < x0 || (place(s, e) == x0 && (e == 0 || place(s, e - 1) < x0)))
            at_begin = e;
        if (place(s, e) <= middle)
            at_middle = e;
    }
    if (stands && (x1 - x0 > 1 || s->clock == MV_CLOCK_TIME)) {
        instant.event = at_begin;
        for (uint32_t e = at_begin + 1; e < s->events && place(s, e) < x1; e++)
            if (height(heights, before, e) > height(heights, before, instant.event))
                instant.event = e;
        return instant;
    }
    instant.event = at_middle;
    if (at_middle != MV_BEFORE && s->slide > 0 && middle - place(s, at_middle) < s->slide)
        instant.slid = (uint32_t)((middle - place(s, at_middle)) / s->slide * MV_SLID);
    return instant;
}

static uint32_t literal_spike(const mv_tile_subject *s, const mv_tile *tile, double x0, double x1,
                              mv_instant instant)
{
    const mv_index *x = s->index;
    uint32_t found = MV_NO_ROW, stand = 0, first = 0, end = 0;
    double least = tile->dy > 1 ? (double)(uint64_t)tile->dy : 1;

    for (uint32_t e = 0; e < x->events; e++)
        if (place(s->scale, e) >= x0 && place(s->scale, e) < x1) {
            first = stand++ ? first : e;
            end = e + 1;
        }
    for (uint32_t r = x->preexisting; r < x->count && stand > 1; r++) {
        bool is_there = x->birth[r] >= first && x->birth[r] < end && x->end[r] < end &&
                        x->end[r] > x->birth[r] && (double)x->bytes[r] >= least;
        if (is_there && is_drawn(s->drawn, r) && !is_alive(x, r, instant.event) &&
            (found == MV_NO_ROW || x->bytes[r] > x->bytes[found]))
            found = r;
    }
    return found;
}

/* One sweep over all rows for a column. */
static void check_column(const mv_tile_subject *s, const mv_tile *tile, uint32_t column,
                         mv_instant instant)
{
    const uint32_t *ids = tile->ids + (uint64_t)column * tile->rows;
    uint64_t low = 0;
    uint32_t row = 0;

    for (uint32_t r = 0; r < s->index->count; r++) {
        bool is_open;
        uint64_t high = low + mvt_held(s->index, s->drawn, r, instant, &is_open);
        for (; row < tile->rows; row++) {
            uint64_t byte = mv_tile_byte(tile->dy, tile->ky * MV_TILE_ROWS + row);
            if (byte >= high)
                break;
            cr_assert_eq(ids[row], is_open || byte < low ? MV_NO_ROW : r,
                         "column %u, row %u: %u, not %u at event %u", column, row, ids[row], r,
                         instant.event);
        }
        low = high;
    }
    /* Nothing of the stack is above the tile's rows, unless it is a whole cell high. */
    if (tile->rows < MV_TILE_ROWS)
        cr_assert_geq(mv_tile_byte(tile->dy, tile->ky * MV_TILE_ROWS + tile->rows), low);
    for (; row < tile->rows; row++)
        cr_assert_eq(ids[row], MV_NO_ROW, "column %u, row %u", column, row);
}

void mvt_check_tile(const mv_tile_subject *s, const mv_tile *tile, const uint64_t *heights,
                    uint64_t before)
{
    for (uint32_t c = 0; c < MV_TILE_COLUMNS; c++) {
        double x0 = (double)(tile->kx * MV_TILE_COLUMNS + c) * tile->dx;
        double x1 = (double)(tile->kx * MV_TILE_COLUMNS + c + 1) * tile->dx;
        mv_instant instant;
        if (x0 >= s->scale->length) {
            for (uint32_t row = 0; row < tile->rows; row++)
                cr_assert_eq(tile->ids[(uint64_t)c * tile->rows + row], MV_NO_ROW);
            cr_assert_eq(tile->spikes[c], MV_NO_ROW);
            continue;
        }
        instant = mvt_instant(s->scale, heights, before, x0, x1);
        check_column(s, tile, c, instant);
        if (tile->rows)
            cr_assert_eq(tile->spikes[c], literal_spike(s, tile, x0, x1, instant));
    }
}

uint64_t *mvt_random_bits(mv_arena *arena, uint32_t count, uint64_t *random)
{
    uint64_t *bits = mv_push_array(arena, uint64_t, count / 64 + 1);

    cr_assert_not_null(bits);
    for (uint32_t i = 0; i < count; i++)
        bits[i / 64] |= (uint64_t)mvt_random(random, 2) << i % 64;
    return bits;
}
