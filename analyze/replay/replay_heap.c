#include "analyze/replay/replay_order.h"

#include "base/grow.h"

bool mv_replay_heap_init(mv_replay_heap *heap, mv_arena *arena, const mv_alloc_conf *conf,
                         uint32_t pools)
{
    *heap = (mv_replay_heap){
        .arena = arena,
        .conf = *conf,
        .limit = UINT64_MAX,
        .most_work = UINT64_MAX,
        .spare = MV_NO_ROW,
        .pending_first = MV_NO_ROW,
        .pending_last = MV_NO_ROW,
        .pool_count = 2 * pools,
        .pools = pools < UINT32_MAX / 2 ? mv_push_array(arena, mv_replay_pool, 2 * (uint64_t)pools)
                                        : NULL,
    };
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        heap->rounds_up |= conf->rules.divisions[i] > 1;
    if (!heap->pools || !mv_replay_driver_init(&heap->driver, arena))
        return false;
    for (uint32_t i = 0; i < heap->pool_count; i++)
        heap->pools[i] = (mv_replay_pool){
            .latest = MV_NO_ROW,
            .is_small = i % 2 == 0,
            .may_release = i < 2,
        };
    return true;
}

/* ---- effects and levels ------------------------------------------------------------------ */

void mv_replay_note_effect(mv_replay_heap *heap, mv_action action, uint64_t addr, uint64_t size)
{
    if (!mv_append(heap->arena, heap->effects, heap->effect_count, heap->effect_capacity,
                   (mv_replay_effect){addr, size, (uint8_t)action})) {
        heap->out_of_memory = true;
        return;
    }
    if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP) {
        heap->counts.segment_allocs++;
        heap->largest = size > heap->largest ? size : heap->largest;
        heap->now.reserved += size;
    } else {
        heap->counts.segment_frees++;
        heap->now.reserved -= size;
    }
    mv_replay_raise_peaks(heap);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Returns a row with any content. */
static inline uint32_t new_row(mv_replay_heap *heap)
{
    uint32_t row = heap->spare;

    if (row != MV_NO_ROW) {
        heap->spare = heap->blocks[row].next;
        if (heap->spare != MV_NO_ROW)
            __builtin_prefetch(&heap->blocks[heap->spare], 1);
        return row;
    }
    if (!mv_room(heap->arena, heap->blocks, heap->count, heap->capacity)) {
        heap->out_of_memory = true;
        return MV_NO_ROW;
    }
    return heap->count++;
}

void mv_replay_block_drop(mv_replay_heap *heap, uint32_t block)
{
    heap->blocks[block].state = MV_REPLAY_GONE;
    heap->blocks[block].next = heap->spare;
    heap->spare = block;
}

/* Notes the time at which a block became free. */
static inline void set_age(mv_replay_heap *heap, uint32_t block)
{
    if (mv_replay_collects(heap))
        heap->blocks[block].since = mv_replay_pool_of_block(heap, block)->calls;
}

uint32_t mv_replay_block_cut(mv_replay_heap *heap, uint32_t block, uint64_t size)
{
    uint32_t rest = new_row(heap);
    mv_replay_block *low, *high;

    if (rest == MV_NO_ROW)
        return MV_NO_ROW;
    low = &heap->blocks[block];
    high = &heap->blocks[rest];
    *high = *low;
    high->left = high->right = high->up = MV_NO_ROW;
    high->addr += size;
    high->size -= size;
    high->prev = block;
    low->size = size;
    low->next = rest;
    if (high->next != MV_NO_ROW)
        heap->blocks[high->next].prev = rest;
    return rest;
}

/* Makes `high` part of `low`. Neither block may be in its pool. */
static void absorb(mv_replay_heap *heap, uint32_t low, uint32_t high)
{
    mv_replay_block *a = &heap->blocks[low], *b = &heap->blocks[high];

    a->size += b->size;
    a->next = b->next;
    if (b->next != MV_NO_ROW)
        heap->blocks[b->next].prev = low;
    mv_replay_block_drop(heap, high);
}

/* Makes `low` part of `high`, which is in its pool and usually keeps its position there. */
static void join_above(mv_replay_heap *heap, uint32_t low, uint32_t high)
{
    mv_replay_block *a = &heap->blocks[low], *b = &heap->blocks[high];
    uint64_t addr = a->addr, size = a->size + b->size;

    b->prev = a->prev;
    if (b->prev != MV_NO_ROW)
        heap->blocks[b->prev].next = high;
    set_age(heap, high);
    mv_replay_block_drop(heap, low);
    mv_order_move(heap, high, addr, size, false);
}

/* Makes `high` part of `low`, which is in its pool. */
static void join_below(mv_replay_heap *heap, uint32_t low, uint32_t high)
{
    mv_replay_block *a = &heap->blocks[low], *b = &heap->blocks[high];
    uint64_t size = a->size + b->size;

    a->next = b->next;
    if (a->next != MV_NO_ROW)
        heap->blocks[a->next].prev = low;
    set_age(heap, low);
    mv_replay_block_drop(heap, high);
    mv_order_move(heap, low, a->addr, size, false);
}

static inline bool is_in_state(const mv_replay_heap *heap, uint32_t block, uint8_t state)
{
    return block != MV_NO_ROW && heap->blocks[block].state == state;
}

static inline uint32_t settle(mv_replay_heap *heap, uint32_t block, uint8_t state)
{
    uint32_t prev = heap->blocks[block].prev, next = heap->blocks[block].next;
    bool joins_prev = is_in_state(heap, prev, state), joins_next = is_in_state(heap, next, state);

    if (joins_prev && !joins_next) {
        join_below(heap, prev, block);
        return prev;
    }
    if (joins_prev) {
        mv_order_drop(heap, prev);
        absorb(heap, prev, block);
        block = prev;
    }
    if (joins_next) {
        join_above(heap, block, next);
        return next;
    }
    set_age(heap, block);
    mv_order_add(heap, block);
    return block;
}

uint32_t mv_replay_block_settle(mv_replay_heap *heap, uint32_t block)
{
    return settle(heap, block, heap->blocks[block].state);
}

uint32_t mv_replay_segment_new(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t addr,
                               uint64_t size, uint32_t home)
{
    uint32_t order = mv_replay_order_make(heap, pool, stream);
    uint32_t row = order == MV_NO_ROW ? MV_NO_ROW : new_row(heap);

    if (row == MV_NO_ROW)
        return MV_NO_ROW;
    heap->blocks[row] = (mv_replay_block){.addr = addr,
                                          .size = size,
                                          .order = order,
                                          .home = home,
                                          .state = MV_REPLAY_FREE,
                                          .prev = MV_NO_ROW,
                                          .next = MV_NO_ROW,
                                          .left = MV_NO_ROW,
                                          .right = MV_NO_ROW,
                                          .up = MV_NO_ROW};
    return row;
}

/* ---- malloc ------------------------------------------------------------------------------ */

uint64_t mv_replay_segment_size(const mv_alloc_conf *conf, uint64_t rounded)
{
    if (rounded <= MV_SMALL_REQUEST)
        return MV_SMALL_SEGMENT;
    if (rounded < MV_SHARED_BELOW)
        return conf->large_segment;
    return (rounded + MV_SMALL_SEGMENT - 1) / MV_SMALL_SEGMENT * MV_SMALL_SEGMENT;
}

static inline bool grows(const mv_replay_heap *heap, uint32_t block)
{
    return is_in_state(heap, heap->blocks[block].next, MV_REPLAY_UNMAPPED);
}

/* Returns the size to which a block could grow with the unmapped space after it. */
static uint64_t reach_of(const mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];

    return b->size + (grows(heap, block) ? heap->blocks[b->next].size : 0);
}

/* Chooses among several expandable blocks that are large enough: returns the block that would waste
 * the fewest bytes by growing. A block that cannot grow wastes none, because later blocks are not
 * smaller. Without expandable_segments, returns the first block that is not expandable. */
static uint32_t prefer(mv_replay_heap *heap, uint32_t block)
{
    uint32_t next;

    if (heap->conf.rules.expandable) {
        while (heap->blocks[block].expandable && grows(heap, block) &&
               (next = mv_replay_order_next(heap, block)) != MV_NO_ROW &&
               reach_of(heap, next) < reach_of(heap, block)) {
            heap->work++;
            block = next;
        }
        return block;
    }
    do {
        heap->work++;
        block = mv_replay_order_next(heap, block);
    } while (block != MV_NO_ROW && heap->blocks[block].expandable);
    return block;
}

static inline uint32_t search(mv_replay_heap *heap, uint32_t pool, uint64_t stream,
                              uint64_t rounded)
{
    uint64_t max_split = heap->conf.rules.max_split, slack = heap->conf.max_non_split_rounding;
    uint32_t order = mv_replay_order_find(heap, pool, stream), block;

    if (mv_replay_collects(heap))
        heap->pools[pool].calls++;
    block = order == MV_NO_ROW ? MV_NO_ROW : mv_replay_free_at(heap, order, rounded);
    heap->least = block;
    if (block == MV_NO_ROW)
        return MV_NO_ROW;
    if (heap->blocks[block].expandable && (!heap->conf.rules.expandable || grows(heap, block)))
        block = prefer(heap, block);
    if (block == MV_NO_ROW)
        return MV_NO_ROW;
    if (rounded < max_split && heap->blocks[block].size >= max_split)
        return MV_NO_ROW;
    if (rounded >= max_split && heap->blocks[block].size - rounded >= slack)
        return MV_NO_ROW;
    return block;
}

uint32_t mv_replay_search(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded)
{
    return search(heap, pool, stream, rounded);
}

static uint32_t add_segment(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded)
{
    uint64_t size = mv_replay_segment_size(&heap->conf, rounded);
    mv_driver_place place = mv_replay_driver_alloc(&heap->driver, size);

    heap->out_of_memory = heap->out_of_memory || heap->driver.out_of_memory;
    if (place.addr == 0)
        return MV_NO_ROW;
    mv_replay_note_effect(heap, MV_ACTION_SEGMENT_ALLOC, place.addr, size);
    return mv_replay_segment_new(heap, pool, stream, place.addr, size, place.home);
}

/* alloc_block(): returns a free block that is not in its pool, from a new segment or from newly
 * mapped pages. */
static uint32_t grow(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded)
{
    uint64_t size = mv_replay_segment_size(&heap->conf, rounded);

    if (heap->limit != UINT64_MAX &&
        (heap->now.reserved > heap->limit || size > heap->limit - heap->now.reserved))
        return MV_NO_ROW;
    if (heap->conf.rules.expandable)
        return mv_replay_expand(heap, pool, stream, rounded);
    return add_segment(heap, pool, stream, rounded);
}

void mv_replay_take(mv_replay_heap *heap, uint32_t block)
{
    mv_order_drop(heap, block);
}

/* Raises the peaks to the levels with another block. */
static inline void raise_use(mv_replay_heap *heap, uint64_t size, uint64_t bytes)
{
    mv_replay_raise(heap->now.allocated + size, &heap->peak.allocated);
    mv_replay_raise(heap->now.active + size, &heap->peak.active);
    mv_replay_raise(heap->now.requested + bytes, &heap->peak.requested);
}

static inline void note_use(mv_replay_heap *heap, uint64_t size, uint64_t bytes)
{
    raise_use(heap, size, bytes);
    heap->now.allocated += size;
    heap->now.active += size;
    heap->now.requested += bytes;
}

/* Hands out a block that is not in its pool. */
static inline void use(mv_replay_heap *heap, uint32_t block, uint64_t bytes)
{
    heap->blocks[block].state = MV_REPLAY_USED;
    heap->blocks[block].requested = bytes;
    note_use(heap, heap->blocks[block].size, bytes);
}

void mv_replay_hand_out(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded)
{
    bool splits = heap->orders[heap->blocks[block].order].splits_small;
    uint64_t rest = heap->blocks[block].size - rounded;

    if (mv_should_split(&heap->conf.rules, rounded, rest, splits)) {
        uint32_t upper = mv_replay_block_cut(heap, block, rounded);
        if (upper == MV_NO_ROW)
            return;
        set_age(heap, upper);
        mv_order_add(heap, upper);
    }
    use(heap, block, bytes);
}

/* Makes the low end of a block a block that is in use. The high end is left in its pool. */
static inline uint32_t use_low_end(mv_replay_heap *heap, uint32_t block, uint64_t bytes,
                                   uint64_t size)
{
    uint32_t low = new_row(heap);
    mv_replay_block *b;

    if (low == MV_NO_ROW)
        return MV_NO_ROW;
    b = &heap->blocks[block];
    heap->blocks[low] = (mv_replay_block){.size = size,
                                          .addr = b->addr,
                                          .left = MV_NO_ROW,
                                          .right = MV_NO_ROW,
                                          .up = MV_NO_ROW,
                                          .order = b->order,
                                          .prev = b->prev,
                                          .next = block,
                                          .requested = bytes,
                                          .home = b->home,
                                          .state = MV_REPLAY_USED,
                                          .expandable = b->expandable};
    if (b->prev != MV_NO_ROW)
        heap->blocks[b->prev].next = low;
    b->prev = low;
    set_age(heap, block);
    return low;
}

static inline uint32_t serve(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded)
{
    const mv_replay_block *b = &heap->blocks[block];
    uint64_t rest = b->size - rounded, addr = b->addr + rounded;
    uint32_t low;

    if (!mv_should_split(&heap->conf.rules, rounded, rest, heap->orders[b->order].splits_small)) {
        mv_replay_take(heap, block);
        use(heap, block, bytes);
        return block;
    }
    low = use_low_end(heap, block, bytes, rounded);
    if (low == MV_NO_ROW)
        return MV_NO_ROW;
    /* if this is the first block that was large enough, all earlier ones are too small */
    mv_order_move(heap, block, addr, rest, block == heap->least && rest >= rounded);
    note_use(heap, rounded, bytes);
    return low;
}

static inline bool use_briefly(mv_replay_heap *heap, uint32_t block, uint64_t bytes,
                               uint64_t rounded)
{
    const mv_replay_block *b = &heap->blocks[block];
    bool splits = mv_should_split(&heap->conf.rules, rounded, b->size - rounded,
                                  heap->orders[b->order].splits_small);

    if (heap->spare == MV_NO_ROW || mv_replay_collects(heap) ||
        is_in_state(heap, b->prev, MV_REPLAY_FREE) ||
        (!splits && is_in_state(heap, b->next, MV_REPLAY_FREE)))
        return false;
    raise_use(heap, splits ? rounded : b->size, bytes);
    mv_order_note_releasable(heap, block);
    return true;
}

uint32_t mv_replay_serve(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded)
{
    return serve(heap, block, bytes, rounded);
}

bool mv_replay_use_briefly(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded)
{
    return use_briefly(heap, block, bytes, rounded);
}

static void give_back_plan(mv_replay_heap *heap)
{
    for (uint32_t i = 0; i < heap->plan.count; i++)
        mv_replay_give_back(heap, heap->plan.row[i]);
}

/* Collects garbage before a request to the device, until enough memory has been given back. */
static void collect(mv_replay_heap *heap)
{
    double threshold = heap->conf.gc_threshold * (double)heap->limit;
    uint64_t keep = threshold < (double)UINT64_MAX ? (uint64_t)threshold : UINT64_MAX;
    uint64_t before = heap->now.reserved, target;

    if (before <= keep)
        return;
    target = before - keep;
    while (before - heap->now.reserved < target && mv_replay_plan_collection(heap))
        give_back_plan(heap);
}

static void complete_all(mv_replay_heap *heap)
{
    while (heap->pending_first != MV_NO_ROW)
        mv_replay_complete_free(heap, heap->pending_first);
}

void mv_replay_empty_cache(mv_replay_heap *heap)
{
    complete_all(heap);
    mv_replay_plan_cached(heap);
    give_back_plan(heap);
}

/* Obtains memory in the order that PyTorch uses: from the device, then after releasing large cached
 * blocks, then after releasing all cached blocks. */
static uint32_t obtain(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded,
                       bool capturing)
{
    uint32_t block;
    bool enough;

    if (mv_replay_collects(heap))
        collect(heap);
    block = grow(heap, pool, stream, rounded);
    if (block != MV_NO_ROW || heap->out_of_memory)
        return block;
    enough = mv_replay_plan_available(heap, pool, stream, rounded);
    give_back_plan(heap);
    if (enough)
        block = grow(heap, pool, stream, rounded);
    if (block == MV_NO_ROW && !capturing) {
        mv_replay_empty_cache(heap);
        block = grow(heap, pool, stream, rounded);
    }
    if (block != MV_NO_ROW)
        heap->counts.retries++;
    return block;
}

static inline uint32_t take(mv_replay_heap *heap, uint64_t bytes, uint64_t stream, uint32_t pool_id,
                            bool capturing, bool *is_brief)
{
    uint64_t rounded = mv_replay_round(heap, bytes);
    uint32_t pool = mv_replay_pool_of(pool_id, rounded), block;

    block = search(heap, pool, stream, rounded);
    if (*is_brief && block != MV_NO_ROW && use_briefly(heap, block, bytes, rounded))
        return block;
    *is_brief = false;
    if (block != MV_NO_ROW)
        return serve(heap, block, bytes, rounded);
    block = obtain(heap, pool, stream, rounded, capturing);
    if (block == MV_NO_ROW) {
        heap->counts.ooms++;
        return MV_NO_ROW;
    }
    mv_replay_hand_out(heap, block, bytes, rounded);
    return block;
}

uint32_t mv_replay_malloc(mv_replay_heap *heap, uint64_t bytes, uint64_t stream, uint32_t pool_id,
                          bool capturing)
{
    bool is_brief = false;

    return take(heap, bytes, stream, pool_id, capturing, &is_brief);
}

uint32_t mv_replay_malloc_briefly(mv_replay_heap *heap, uint64_t bytes, uint64_t stream,
                                  uint32_t pool_id, bool capturing, bool *is_freed)
{
    *is_freed = true;
    return take(heap, bytes, stream, pool_id, capturing, is_freed);
}

/* ---- free -------------------------------------------------------------------------------- */

void mv_replay_request_free(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_block *b = &heap->blocks[block];

    heap->now.allocated -= b->size;
    b->state = MV_REPLAY_PENDING;
    b->left = heap->pending_last;
    b->right = MV_NO_ROW;
    if (heap->pending_last != MV_NO_ROW)
        heap->blocks[heap->pending_last].right = block;
    else
        heap->pending_first = block;
    heap->pending_last = block;
}

void mv_replay_free(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_block *b = &heap->blocks[block];

    heap->now.allocated -= b->size;
    heap->now.active -= b->size;
    heap->now.requested -= b->requested;
    b->state = MV_REPLAY_FREE;
    settle(heap, block, MV_REPLAY_FREE);
}

void mv_replay_complete_free(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_block *b = &heap->blocks[block];

    if (b->left != MV_NO_ROW)
        heap->blocks[b->left].right = b->right;
    else
        heap->pending_first = b->right;
    if (b->right != MV_NO_ROW)
        heap->blocks[b->right].left = b->left;
    else
        heap->pending_last = b->left;
    b->left = b->right = MV_NO_ROW;
    heap->now.allocated += b->size; /* the request subtracted it */
    mv_replay_free(heap, block);
}
