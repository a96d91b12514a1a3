#include "analyze/oom/request_pool.h"

#include "analyze/replay/segment_kinds.h"

bool mv_request_pools_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           mv_request_pools *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t stacks = trace->stacks.count;
    uint8_t *is_known;

    *out = (mv_request_pools){.stacks = stacks};
    if (!mv_has_pools_of_user(trace))
        return true;
    out->of_stack = mv_push_array(arena, mv_pool_id, stacks);
    is_known = mv_push_array(arena, uint8_t, stacks);
    if (!out->of_stack || !is_known)
        return false;
    for (uint32_t s = 0; s < stacks; s++)
        out->of_stack[s] = MV_NO_POOL;
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t stack = a->stack[i].row;
        mv_pool_id pool = mv_alloc_pool(lives, i);

        if (stack >= stacks || stack == MV_EMPTY_STACK.row)
            continue;
        if (!is_known[stack] && mv_pool_is_of_user(trace, pool))
            out->of_stack[stack] = pool;
        else if (out->of_stack[stack].row != pool.row)
            out->of_stack[stack] = MV_NO_POOL;
        is_known[stack] = 1;
    }
    return true;
}

mv_pool_id mv_request_pool(const mv_request_pools *pools, const mv_trace *trace,
                           const mv_lives *lives, uint32_t event)
{
    mv_pool_id pool = trace->tags.pool[lives->events.tag[event].row];
    uint32_t stack = lives->events.stack[event].row;

    if (pool.row != MV_NO_POOL.row || !pools->of_stack || stack >= pools->stacks)
        return pool;
    return pools->of_stack[stack];
}
