#include "analyze/floor/placement.h"

#include <string.h>

#include "analyze/floor/placement_methods.h"
#include "base/sort.h"

typedef struct {
    uint32_t key, row;
} keyed;

static uint32_t *order_by(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          bool by_death)
{
    uint32_t *rows = mv_push_array(arena, uint32_t, count);
    keyed *keys = mv_push_array(arena, keyed, count);

    if (!rows || !keys)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (keyed){by_death ? blocks[i].death : blocks[i].birth, i};
    mv_sort_rows(arena, keys, count, MV_RISING(keyed, key));
    for (uint32_t i = 0; i < count; i++)
        rows[i] = keys[i].row;
    return rows;
}

/* Keeps a placement that is better than the best. */
static bool keep(mv_placement_problem *p, uint64_t top, const uint64_t *offset, mv_placement *out)
{
    if (top >= out->top)
        return false;
    out->top = p->best = top;
    memcpy(out->offset, offset, p->count * sizeof *offset);
    return true;
}

static bool is_open(const mv_placement_problem *p, const mv_placement *out)
{
    return out->top > out->lower && !p->out_of_memory;
}

static void try_all(mv_placement_problem *p, uint64_t effort, uint64_t *offset, mv_placement *out)
{
    bool is_best = false;

    keep(p, mv_place_from(p, 0, MV_STACK_OLDEST, offset), offset, out);
    for (uint32_t order = 0; order < MV_STACK_ORDERS && is_open(p, out); order++)
        keep(p, mv_place_from(p, out->load_at, order, offset), offset, out);
    if (is_open(p, out))
        keep(p, mv_place_exactly(p, effort / 4, offset, &is_best), offset, out);
    if (is_best)
        out->lower = out->top;
    if (is_open(p, out))
        keep(p, mv_place_by_priority(p, effort / 2, offset), offset, out);
    if (is_open(p, out)) {
        memcpy(offset, out->offset, p->count * sizeof *offset);
        keep(p, mv_place_by_repair(p, effort / 2, offset), offset, out);
    }
}

mv_code mv_placement_find(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t effort, mv_placement *out, mv_err *err)
{
    mv_placement_problem p = {.count = count, .blocks = blocks, .best = UINT64_MAX};
    bool is_sound = true;
    uint64_t *offset;
    mv_arena own;
    mv_code code;

    *out = (mv_placement){.top = UINT64_MAX, .offset = mv_push_array(arena, uint64_t, count)};
    code = mv_placement_load(arena, blocks, count, &out->load, &out->load_at, err);
    if (code != MV_OK)
        return code;
    mv_arena_init(&own, arena->budget);
    p.arena = &own;
    p.enough = out->lower = out->load;
    p.by_birth = order_by(&own, blocks, count, false);
    p.by_death = order_by(&own, blocks, count, true);
    offset = mv_push_array(&own, uint64_t, count);
    p.out_of_memory = !out->offset || !p.by_birth || !p.by_death || !offset;
    if (!p.out_of_memory)
        try_all(&p, effort, offset, out);
    mv_arena_release(&own);
    if (p.out_of_memory)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    code = mv_placement_check(arena, blocks, count, out->offset, out->top, &is_sound, err);
    if (code == MV_OK && !is_sound)
        code =
            mv_fail(err, MV_RANGE, MV_NO_OFFSET, "blocks overlap in the placement that was found");
    return code;
}
