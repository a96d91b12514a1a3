#include "analyze/replay/replay_order.h"
#include "base/grow.h"

static void plan_add(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_plan *plan = &heap->plan;

    if (!mv_append(heap->arena, plan->row, plan->count, plan->capacity, block))
        heap->out_of_memory = true;
}

/* Plans to release the free blocks in `order` that are whole segments or, with `pages`, that
 * contain whole pages. Returns false if there are none. */
static bool plan_those(mv_replay_heap *heap, uint32_t pool, bool pages)
{
    uint32_t before = heap->plan.count;

    for (uint32_t row = mv_replay_pool_first(heap, pool); row != MV_NO_ROW;
         row = mv_replay_pool_next(heap, row)) {
        const mv_replay_block *b = &heap->blocks[row];
        heap->work++;
        if (pages ? b->expandable && mv_replay_give_back_effect(heap, row).size > 0
                  : !b->expandable && !mv_replay_is_split(b))
            plan_add(heap, row);
    }
    return heap->plan.count > before;
}

/* release_blocks(): plans whole segments first, then the free pages of expandable segments. */
static void plan_pool(mv_replay_heap *heap, uint32_t pool)
{
    mv_replay_pool *p = &heap->pools[pool];

    if (p->may_have_whole)
        p->may_have_whole = plan_those(heap, pool, false);
    if (p->may_have_pages)
        p->may_have_pages = plan_those(heap, pool, true);
}

void mv_replay_plan_cached(mv_replay_heap *heap)
{
    heap->plan.count = 0;
    plan_pool(heap, 1);
    plan_pool(heap, 0);
    for (uint32_t i = 2; i < heap->pool_count; i++)
        if (heap->pools[i].may_release)
            plan_pool(heap, i);
}

bool mv_replay_plan_available(mv_replay_heap *heap, uint32_t pool, uint64_t stream,
                              uint64_t rounded)
{
    uint32_t order = mv_replay_order_find(heap, pool, stream), row;
    uint64_t max_split = heap->conf.rules.max_split, freed = 0;
    uint64_t want = rounded > max_split ? rounded : max_split;

    heap->plan.count = 0;
    if (max_split == UINT64_MAX || order == MV_NO_ROW)
        return false;
    row = mv_replay_free_at(heap, order, want);
    if (row != MV_NO_ROW && !heap->blocks[row].expandable) {
        plan_add(heap, row);
        return true;
    }
    for (row = mv_replay_free_before(heap, order, want);
         row != MV_NO_ROW && freed < want && heap->blocks[row].size >= max_split;
         row = mv_replay_order_prev(heap, row)) {
        heap->work++;
        if (heap->blocks[row].expandable)
            continue;
        plan_add(heap, row);
        freed += heap->blocks[row].size;
    }
    return freed >= want;
}

/* Plans one pass, which takes every whole segment of the default large pool that is at least of
 * average age. */
bool mv_replay_plan_collection(mv_replay_heap *heap)
{
    mv_replay_pool *pool = &heap->pools[1];
    uint64_t ages = 0, count = 0;
    double average;

    heap->plan.count = 0;
    if (!pool->may_have_whole)
        return false;
    for (uint32_t row = mv_replay_pool_first(heap, 1); row != MV_NO_ROW;
         row = mv_replay_pool_next(heap, row)) {
        heap->work++;
        if (mv_replay_is_split(&heap->blocks[row]))
            continue;
        ages += pool->calls - heap->blocks[row].since;
        count++;
    }
    pool->may_have_whole = count > 0;
    average = count ? (double)ages / (double)count : 0;
    for (uint32_t row = count ? mv_replay_pool_first(heap, 1) : MV_NO_ROW; row != MV_NO_ROW;
         row = mv_replay_pool_next(heap, row)) {
        const mv_replay_block *b = &heap->blocks[row];
        if (!mv_replay_is_split(b) && !b->expandable && (double)(pool->calls - b->since) >= average)
            plan_add(heap, row);
    }
    return heap->plan.count > 0;
}

/* The range of whole pages in an expandable block. */
static void pages_of(const mv_replay_heap *heap, const mv_replay_block *b, uint64_t *low,
                     uint64_t *high)
{
    mv_replay_reservation r = heap->reservations[b->home];

    *low = r.start + (b->addr - r.start + r.page - 1) / r.page * r.page;
    *high = r.start + (b->addr + b->size - r.start) / r.page * r.page;
}

mv_replay_effect mv_replay_give_back_effect(const mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];
    uint64_t low, high;

    if (!b->expandable)
        return (mv_replay_effect){b->addr, b->size, MV_ACTION_SEGMENT_FREE};
    pages_of(heap, b, &low, &high);
    return (mv_replay_effect){low, high > low ? high - low : 0, MV_ACTION_SEGMENT_UNMAP};
}

static void unmap(mv_replay_heap *heap, uint32_t block, uint64_t low, uint64_t size)
{
    uint64_t front = low - heap->blocks[block].addr;

    if (front > 0) {
        uint32_t lower = block;
        block = mv_replay_block_cut(heap, lower, front);
        mv_replay_order_add(heap, lower);
    }
    if (block != MV_NO_ROW && heap->blocks[block].size > size) {
        uint32_t upper = mv_replay_block_cut(heap, block, size);
        if (upper != MV_NO_ROW)
            mv_replay_order_add(heap, upper);
    }
    if (heap->out_of_memory)
        return;
    heap->blocks[block].state = MV_REPLAY_UNMAPPED;
    mv_replay_block_settle(heap, block);
}

void mv_replay_give_back(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_effect effect = mv_replay_give_back_effect(heap, block);
    mv_replay_block *b = &heap->blocks[block];

    if (effect.size == 0)
        return;
    mv_replay_take(heap, block);
    mv_replay_note_effect(heap, (mv_action)effect.action, effect.addr, effect.size);
    if (b->expandable) {
        unmap(heap, block, effect.addr, effect.size);
        return;
    }
    mv_replay_driver_free(&heap->driver, b->addr, b->size, b->home);
    if (mv_replay_is_split(b)) /* after this, a neighbour may be a whole segment */
        mv_replay_pool_of_block(heap, block)->may_have_whole = true;
    if (b->prev != MV_NO_ROW)
        heap->blocks[b->prev].next = MV_NO_ROW;
    if (b->next != MV_NO_ROW)
        heap->blocks[b->next].prev = MV_NO_ROW;
    mv_replay_block_drop(heap, block);
}
