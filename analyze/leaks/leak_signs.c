#include "analyze/leaks/leak_signs.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    const mv_leaks *found;
    const uint32_t *leak_of;
    mv_leak_signs *signs;
} search;

static uint32_t leak_of_row(const search *s, uint32_t row)
{
    return s->leak_of[mv_site_of(s->sites, s->lives->allocs.stack[row])];
}

/* Returns the pool of a block, or the default pool if the block's pool is unknown. */
static uint32_t pool_of(const search *s, uint32_t row)
{
    mv_pool_id pool = mv_alloc_pool(s->lives, row);

    return pool.row == MV_NO_ROW ? MV_DEFAULT_POOL.row : pool.row;
}

/* Measures the leaks' blocks. The blocks are in order of birth, so a pool that differs from the
 * latest one counts as a new pool. */
static void measure_blocks(const search *s, uint32_t *latest_pool)
{
    const mv_alloc_lives *a = &s->lives->allocs;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        mv_leak_signs *signs;
        uint32_t *latest;

        if (!s->found->is_leaked[i])
            continue;
        signs = &s->signs[leak_of_row(s, i)];
        if (a->requested[i] > signs->largest_block)
            signs->largest_block = a->requested[i];
        latest = &latest_pool[leak_of_row(s, i)];
        signs->private_pools += pool_of(s, i) != MV_DEFAULT_POOL.row && pool_of(s, i) != *latest;
        *latest = pool_of(s, i);
    }
}

static bool look_for_backward(const search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t stacks = s->trace->stacks.count, count = 0;
    uint8_t *is_backward = mv_push_array(s->arena, uint8_t, stacks);
    uint32_t *births = mv_push_array(s->arena, uint32_t, a->count);

    if (!is_backward || !births)
        return false;
    for (uint32_t k = 0; k < stacks; k++)
        is_backward[k] = mv_stack_is_backward(s->trace, (mv_stack_id){k});
    for (uint32_t i = a->preexisting; i < a->count; i++)
        if (a->stack[i].row < stacks && is_backward[a->stack[i].row])
            births[count++] = a->birth[i];
    for (uint32_t k = 0; k < s->found->count; k++) {
        const mv_leak *leak = &s->found->leaks[k];
        s->signs[k].has_backward = mv_lower_bound_u32(births, count, leak->first_event) <
                                   mv_lower_bound_u32(births, count, leak->last_event);
    }
    return true;
}

bool mv_leak_signs_find(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                        const mv_sites *sites, const mv_leaks *found, const uint32_t *leak_of,
                        mv_leak_signs *signs)
{
    const search s = {scratch, trace, lives, sites, found, leak_of, signs};

    uint32_t *latest_pool = mv_push_array(scratch, uint32_t, found->count);

    if (!latest_pool)
        return false;
    measure_blocks(&s, latest_pool);
    return look_for_backward(&s);
}
