#include "analyze/filter/isolate.h"

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "a part of the allocations");
}

/* ---- a table of some rows ---------------------------------------------------------------- */

/* Renumbers the rows in the events. `as` maps old rows to new rows. */
static bool renumber_events(mv_arena *arena, const mv_lives *lives, const uint32_t *as,
                            mv_lives *out)
{
    const mv_events *e = &lives->events;

    if (!lives->alloc_of)
        return true;
    out->alloc_of = mv_push_array(arena, uint32_t, e->count);
    if (!out->alloc_of)
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t row = lives->alloc_of[i];
        if (row != MV_NO_ROW && !mv_is_segment_action(e->action[i]))
            row = as[row];
        out->alloc_of[i] = row;
    }
    return true;
}

mv_code mv_isolate_lives(mv_arena *arena, const mv_lives *lives, const mv_filter_bits *kept,
                         mv_lives *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t *as, count = 0;
    mv_arena scratch;
    bool is_done;

    *out = *lives;
    out->allocs = (mv_alloc_lives){.count = kept->matches};
    mv_arena_init(&scratch, arena->budget);
    as = mv_push_array(&scratch, uint32_t, a->count);
    is_done = as && mv_alloc_lives_push(arena, kept->matches, &out->allocs);
    for (uint32_t i = 0; is_done && i < a->count; i++) {
        as[i] = MV_NO_ROW;
        if (!mv_filter_has(kept, i))
            continue;
        mv_alloc_lives_copy(a, i, &out->allocs, count);
        out->allocs.preexisting += i < a->preexisting;
        as[i] = count++;
    }
    is_done = is_done && renumber_events(arena, lives, as, out);
    mv_arena_release(&scratch);
    return is_done ? MV_OK : no_memory(err);
}

/* ---- the largest blocks ------------------------------------------------------------------ */

static bool is_in_window(const mv_alloc_lives *a, uint32_t row, uint32_t from, uint32_t to)
{
    bool begins = a->birth[row] == MV_BEFORE || a->birth[row] < to;

    return begins && a->block[row] > 0 && a->freed[row] >= from;
}

/* Returns the size of the `top`-th largest row, which is found byte by byte, starting at the
 * highest byte. *larger is set to the number of larger rows. Returns 0 if there are fewer than
 * `top` rows. */
static uint64_t least_of_top(const mv_alloc_lives *a, uint32_t from, uint32_t to, uint32_t top,
                             uint32_t *larger)
{
    uint64_t found = 0;

    *larger = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        uint32_t rows[256] = {0}, byte = 255;
        for (uint32_t i = 0; i < a->count; i++)
            if ((shift == 56 || a->block[i] >> (shift + 8) == found >> (shift + 8)) &&
                is_in_window(a, i, from, to))
                rows[a->block[i] >> shift & 255]++;
        while (byte > 0 && *larger + rows[byte] < top)
            *larger += rows[byte--];
        found |= (uint64_t)byte << shift;
    }
    return found;
}

mv_code mv_isolate_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                           uint32_t top, mv_filter_bits *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t larger, equal;
    uint64_t least = least_of_top(a, from, to, top, &larger);

    if (!mv_filter_bits_init(arena, a->count, out))
        return no_memory(err);
    equal = top > larger ? top - larger : 0;
    for (uint32_t i = 0; i < a->count; i++) {
        bool is_equal = a->block[i] == least && equal > 0;
        if (!is_in_window(a, i, from, to) || (a->block[i] <= least && !is_equal))
            continue;
        equal -= is_equal;
        mv_filter_bits_add(out, i);
    }
    return MV_OK;
}
