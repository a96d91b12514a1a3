#include "analyze/leaks/leak_signs.h"

#include "base/search.h"
#include "base/sort.h"

/* A burst: this many blocks, born in this many steps, freed with no allocation in between. */
#define BURST_BLOCKS 4
#define BURST_STEPS  3

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

/* The pool of a block; the default one when it is not known. */
static uint32_t pool_of(const search *s, uint32_t row)
{
    mv_pool_id pool = mv_alloc_pool(s->lives, row);

    return pool.row == MV_NO_ROW ? MV_DEFAULT_POOL.row : pool.row;
}

/* Blocks come in order of birth: a pool other than the latest one counts as new. */
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

/* ---- bursts ------------------------------------------------------------------------------ */

typedef struct {
    uint32_t leak;
    uint32_t at;   /* the event that freed it */
    uint32_t step; /* in which it was born */
} freed;

static uint32_t list_freed(const search *s, freed *list)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t count = 0;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t leak = leak_of_row(s, i);
        if (leak == MV_NO_ROW || a->freed[i] == MV_NEVER)
            continue;
        list[count++] = (freed){leak, a->freed[i], mv_steps_bin(&s->found->steps, a->birth[i])};
    }
    mv_sort_rows(s->arena, list, count, MV_RISING(freed, leak), MV_RISING(freed, at));
    return count;
}

/* Whether list[from] to list[to - 1] are a burst. No allocation came between their frees. */
static bool is_burst(const freed *list, uint32_t from, uint32_t to)
{
    uint32_t least = list[from].step, most = least;

    for (uint32_t i = from; i < to; i++) {
        least = list[i].step < least ? list[i].step : least;
        most = list[i].step > most ? list[i].step : most;
    }
    return to - from >= BURST_BLOCKS && most - least + 1 >= BURST_STEPS;
}

static bool look_for_bursts(const search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    const uint32_t *births = a->birth + a->preexisting;
    uint32_t born = a->count - a->preexisting, count;
    freed *list = mv_push_array(s->arena, freed, born);

    if (!list)
        return false;
    count = list_freed(s, list);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].leak == list[i].leak; end++)
            if (mv_lower_bound_u32(births, born, list[end - 1].at) !=
                mv_lower_bound_u32(births, born, list[end].at))
                break;
        if (is_burst(list, i, end))
            s->signs[list[i].leak].has_bursts = true;
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
    return look_for_backward(&s) && look_for_bursts(&s);
}
