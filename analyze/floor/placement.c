#include "analyze/floor/placement.h"

#include "analyze/floor/placement_methods.h"
#include "base/sort.h"

/* If there are fewer blocks, the effort for this many blocks is allowed, because it takes that
 * effort to prove that no placement is better. */
enum { LEAST_COUNT = 64 };

static uint32_t *order_by(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          bool by_death)
{
    uint32_t *rows = mv_push_array(arena, uint32_t, count);
    mv_key_row *keys = mv_push_array(arena, mv_key_row, count);

    if (!rows || !keys)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (mv_key_row){by_death ? blocks[i].death : blocks[i].birth, i};
    mv_sort_rows(arena, keys, count, MV_RISING(mv_key_row, key));
    for (uint32_t i = 0; i < count; i++)
        rows[i] = keys[i].row;
    return rows;
}

/* Ends a method: releases its memory, and keeps its placement if it is the best so far. */
static void end_method(mv_placement_problem *p, uint64_t top, const uint64_t *offset,
                       mv_placement *out)
{
    mv_arena_release(p->arena);
    if (top >= out->top)
        return;
    out->top = p->best = top;
    memcpy(out->offset, offset, p->count * sizeof *offset);
}

static bool is_open(const mv_placement_problem *p, const mv_placement *out)
{
    return out->top > out->lower && !p->out_of_memory;
}

static void try_all(mv_placement_problem *p, uint64_t effort, uint64_t *offset, mv_placement *out);

/* ---- lasting blocks ---------------------------------------------------------------------- */

/* The first and last time at which more than `least` bytes are alive. */
static void find_high_time(const mv_placement_problem *p, uint64_t least, uint32_t *first,
                           uint32_t *last)
{
    uint64_t now = 0;
    uint32_t dead = 0;

    *first = UINT32_MAX;
    *last = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const mv_placed_block *b = &p->blocks[p->by_birth[i]];
        for (; p->blocks[p->by_death[dead]].death <= b->birth; dead++)
            now -= p->blocks[p->by_death[dead]].size;
        now += b->size;
        if (now <= least)
            continue;
        *first = *first == UINT32_MAX ? b->birth : *first;
        *last = b->birth;
    }
}

/* The blocks that are not alive during all times of the highest load. */
typedef struct {
    uint32_t count;
    mv_placed_block *blocks; /* [count] */
    uint32_t *rows;          /* [count] row of each block in the whole problem */
    uint64_t below;          /* bytes of the blocks that are alive during all these times, which
                              * are placed below */
} shorter_blocks;

/* Places the lasting blocks, starting at address 0, and lists the other blocks. */
static bool split_lasting(const mv_placement_problem *p, uint64_t load, shorter_blocks *out,
                          uint64_t *offset)
{
    uint32_t first, last;

    out->blocks = mv_push_array(p->arena, mv_placed_block, p->count);
    out->rows = mv_push_array(p->arena, uint32_t, p->count);
    if (!out->blocks || !out->rows)
        return false;
    find_high_time(p, load - 1, &first, &last);
    for (uint32_t i = 0; i < p->count; i++) {
        const mv_placed_block *b = &p->blocks[i];
        if (b->birth <= first && b->death > last) {
            offset[i] = out->below;
            out->below += b->size;
        } else {
            out->blocks[out->count] = *b;
            out->rows[out->count++] = i;
        }
    }
    return true;
}

/* Places the shorter blocks as a separate problem. They must never need more than the load minus
 * the bytes of the lasting blocks. */
static uint64_t place_shorter(mv_placement_problem *p, const shorter_blocks *s, uint64_t effort,
                              uint64_t load, uint64_t *offset)
{
    mv_arena own;
    mv_placement_problem q = {.arena = &own,
                              .count = s->count,
                              .blocks = s->blocks,
                              .enough = load - s->below,
                              .best = UINT64_MAX,
                              .is_part = true};
    mv_placement inner = {.top = UINT64_MAX, .lower = q.enough};
    uint64_t *trial = mv_push_array(p->arena, uint64_t, s->count);
    mv_err err = {0};

    mv_arena_init(&own, p->arena->budget);
    inner.offset = mv_push_array(p->arena, uint64_t, s->count);
    q.by_birth = order_by(p->arena, s->blocks, s->count, false);
    q.by_death = order_by(p->arena, s->blocks, s->count, true);
    q.out_of_memory = !trial || !inner.offset || !q.by_birth || !q.by_death ||
                      mv_placement_load(p->arena, s->blocks, s->count, &inner.load, &inner.load_at,
                                        &err) != MV_OK;
    if (!q.out_of_memory && inner.load <= q.enough)
        try_all(&q, effort, trial, &inner);
    p->out_of_memory = q.out_of_memory;
    for (uint32_t i = 0; inner.top != UINT64_MAX && i < s->count; i++)
        offset[s->rows[i]] = s->below + inner.offset[i];
    return inner.top == UINT64_MAX ? UINT64_MAX : s->below + inner.top;
}

/* Places blocks that are alive during all times of the highest load at the bottom, without holes.
 * The other blocks are placed above them, and are fewer and have fewer obstacles. */
static uint64_t place_above_lasting(mv_placement_problem *p, uint64_t effort, uint64_t load,
                                    uint64_t *offset)
{
    shorter_blocks s = {0};

    p->out_of_memory = !split_lasting(p, load, &s, offset);
    if (p->out_of_memory || s.count == 0 || s.count == p->count)
        return UINT64_MAX;
    return place_shorter(p, &s, effort, load, offset);
}

/* ---- all methods ------------------------------------------------------------------------- */

static void try_all(mv_placement_problem *p, uint64_t effort, uint64_t *offset, mv_placement *out)
{
    bool is_best = false;

    end_method(p, mv_place_from(p, 0, MV_STACK_OLDEST, offset), offset, out);
    for (uint32_t order = 0; order < MV_STACK_ORDERS && is_open(p, out); order++)
        end_method(p, mv_place_from(p, out->load_at, order, offset), offset, out);
    if (is_open(p, out))
        end_method(p, mv_place_exactly(p, effort / 4, offset, &is_best), offset, out);
    if (is_best && !p->is_part)
        out->lower = out->top;
    if (is_open(p, out) && !p->is_part)
        end_method(p, place_above_lasting(p, effort / 3, out->load, offset), offset, out);
    if (is_open(p, out))
        end_method(p, mv_place_by_priority(p, effort / 3, offset), offset, out);
    if (is_open(p, out)) {
        memcpy(offset, out->offset, p->count * sizeof *offset);
        end_method(p, mv_place_by_repair(p, effort / 3, offset), offset, out);
    }
}

mv_code mv_placement_find(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t effort, mv_placement *out, mv_err *err)
{
    mv_placement_problem p = {.count = count, .blocks = blocks, .best = UINT64_MAX};
    bool is_sound = true;
    uint64_t *offset;
    mv_arena own, of_method;
    mv_code code;

    effort = mv_placement_effort(count < LEAST_COUNT ? LEAST_COUNT : count, effort);
    *out = (mv_placement){.top = UINT64_MAX, .offset = mv_push_array(arena, uint64_t, count)};
    code = mv_placement_load(arena, blocks, count, &out->load, &out->load_at, err);
    if (code != MV_OK)
        return code;
    mv_arena_init(&own, arena->budget);
    mv_arena_init(&of_method, arena->budget);
    p.arena = &of_method;
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
