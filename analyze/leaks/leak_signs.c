#include "analyze/leaks/leak_signs.h"

#include "analyze/heap/domains.h"

/* Measures the leaks' blocks. The blocks are in order of birth, so a pool that differs from the
 * latest one counts as a new pool. */
static void measure_blocks(const mv_leak_state *w, const uint32_t *leak_of, uint32_t *latest_pool,
                           mv_leak_signs *signs)
{
    const mv_alloc_lives *a = &w->lives->allocs;

    for (uint32_t k = a->preexisting; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k], leak, pool;

        if (!w->out->is_leaked[i])
            continue;
        leak = leak_of[mv_site_of(&w->sites, a->stack[i])];
        pool = mv_domain_pool(mv_alloc_pool(w->lives, i)).row;
        if (a->requested[i] > signs[leak].largest_block)
            signs[leak].largest_block = a->requested[i];
        signs[leak].private_pools += pool != MV_DEFAULT_POOL.row && pool != latest_pool[leak];
        latest_pool[leak] = pool;
    }
}

/* The rows [from, next) are not allocations of the backward pass; `next` is one, or the end. */
typedef struct {
    const mv_alloc_lives *allocs;
    const uint8_t *is_backward; /* [stacks] */
    uint32_t stacks, from, next;
} backward_search;

/* Returns the birth of the first allocation of the backward pass that was born at or after an
 * event. */
static uint32_t backward_after(backward_search *s, uint32_t event)
{
    const mv_alloc_lives *a = s->allocs;
    uint32_t row = mv_first_born_from(a, event), end = row < s->from ? s->from : a->count;

    if (row < s->from || row > s->next) {
        s->from = row;
        while (row < end && (a->stack[row].row >= s->stacks || !s->is_backward[a->stack[row].row]))
            row++;
        s->next = row < end || end == a->count ? row : s->next;
    }
    return s->next < a->count ? a->birth[s->next] : MV_NEVER;
}

static bool look_for_backward(const mv_leak_state *w, mv_leak_signs *signs)
{
    uint8_t *is_backward = mv_push_array(w->scratch, uint8_t, w->sites.stacks);
    uint32_t end = w->lives->allocs.count;
    backward_search s = {&w->lives->allocs, is_backward, w->sites.stacks, end, end};
    bool has_backward = false;

    for (uint32_t k = 0; is_backward && k < w->sites.stacks; k++) {
        is_backward[k] =
            w->stacks[k].births > 0 && mv_stack_is_backward(w->trace, (mv_stack_id){k});
        has_backward = has_backward || is_backward[k];
    }
    for (uint32_t k = 0; has_backward && k < w->out->count; k++)
        signs[k].has_backward =
            backward_after(&s, w->out->leaks[k].first_event) < w->out->leaks[k].last_event;
    return is_backward != NULL;
}

bool mv_leak_signs_find(const mv_leak_state *w, const uint32_t *leak_of, mv_leak_signs *signs)
{
    uint32_t *latest_pool = mv_push_array(w->scratch, uint32_t, w->out->count);

    if (!latest_pool)
        return false;
    measure_blocks(w, leak_of, latest_pool, signs);
    return look_for_backward(w, signs);
}
