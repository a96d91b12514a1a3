#include "analyze/replay/replay_heap.h"
#include "base/grow.h"

static uint64_t page_of(const mv_replay_pool *pool, const mv_replay_heap *heap)
{
    return pool->is_small ? MV_SMALL_SEGMENT : heap->conf.large_segment;
}

uint32_t mv_replay_reserve(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t start)
{
    uint64_t page = page_of(&heap->pools[pool], heap), most = (UINT64_MAX - start) / page * page;
    uint64_t size = MV_RESERVATION / page * page;
    uint32_t row;

    if (!mv_room(heap->arena, heap->reservations, heap->reservation_count,
                 heap->reservation_capacity)) {
        heap->out_of_memory = true;
        return MV_NO_ROW;
    }
    row = mv_replay_segment_new(heap, pool, stream, start, size < most ? size : most,
                                heap->reservation_count);
    if (row == MV_NO_ROW)
        return MV_NO_ROW;
    heap->reservations[heap->reservation_count++] = (mv_replay_reservation){start, page};
    heap->blocks[row].expandable = true;
    heap->blocks[row].state = MV_REPLAY_UNMAPPED;
    mv_replay_order_add(heap, row);
    return row;
}

static bool is_available(const mv_replay_block *block)
{
    return block->state == MV_REPLAY_FREE || block->state == MV_REPLAY_UNMAPPED;
}

/* Whether the free and unmapped blocks that begin with `block` add up to `bytes`. */
static bool reaches(mv_replay_heap *heap, uint32_t block, uint64_t bytes)
{
    uint64_t sum = 0;

    while (block != MV_NO_ROW && sum < bytes && is_available(&heap->blocks[block])) {
        heap->work++;
        sum += heap->blocks[block].size;
        block = heap->blocks[block].next;
    }
    return sum >= bytes;
}

/* find_expandable_block(): finds the lowest block that can grow to `bytes`. */
static uint32_t find_room(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t bytes)
{
    uint32_t order = mv_replay_order_find(heap, pool, stream);
    uint32_t row = order == MV_NO_ROW ? MV_NO_ROW : mv_replay_unmapped_first(heap, order);
    uint64_t start;

    for (; row != MV_NO_ROW; row = mv_replay_order_next(heap, row)) {
        uint32_t prev = heap->blocks[row].prev, from = row;
        if (prev != MV_NO_ROW && heap->blocks[prev].state == MV_REPLAY_FREE)
            from = prev;
        if (reaches(heap, from, bytes))
            return from;
    }
    start = mv_replay_driver_reserve(&heap->driver);
    row = mv_replay_reserve(heap, pool, stream, start);
    return row != MV_NO_ROW && heap->blocks[row].size >= bytes ? row : MV_NO_ROW;
}

/* map_block(): maps whole pages at the start of an unmapped block. Returns the mapped block, which
 * has been joined with its free neighbours and put into its pool. */
static uint32_t map(mv_replay_heap *heap, uint32_t block, uint64_t bytes)
{
    uint64_t page = page_of(mv_replay_pool_of_block(heap, block), heap);
    uint64_t size = (bytes + page - 1) / page * page, addr = heap->blocks[block].addr;
    uint32_t rest;

    mv_replay_take(heap, block);
    if (size < heap->blocks[block].size) {
        rest = mv_replay_block_cut(heap, block, size);
        if (rest == MV_NO_ROW)
            return MV_NO_ROW;
        mv_replay_order_add(heap, rest);
    }
    size = heap->blocks[block].size;
    heap->blocks[block].state = MV_REPLAY_FREE;
    block = mv_replay_block_settle(heap, block);
    mv_replay_note_effect(heap, MV_ACTION_SEGMENT_MAP, addr, size);
    return block;
}

uint32_t mv_replay_map_at(mv_replay_heap *heap, uint32_t space, uint64_t addr, uint64_t size)
{
    uint32_t rest;

    if (space == MV_NO_ROW || addr < heap->blocks[space].addr ||
        addr - heap->blocks[space].addr >= heap->blocks[space].size ||
        size > heap->blocks[space].size - (addr - heap->blocks[space].addr))
        return MV_NO_ROW;
    mv_replay_take(heap, space);
    if (addr > heap->blocks[space].addr) {
        rest = mv_replay_block_cut(heap, space, addr - heap->blocks[space].addr);
        if (rest == MV_NO_ROW)
            return MV_NO_ROW;
        mv_replay_order_add(heap, space);
        space = rest;
    }
    if (size < heap->blocks[space].size) {
        rest = mv_replay_block_cut(heap, space, size);
        if (rest == MV_NO_ROW)
            return MV_NO_ROW;
        mv_replay_order_add(heap, rest);
    }
    heap->blocks[space].state = MV_REPLAY_FREE;
    mv_replay_note_effect(heap, MV_ACTION_SEGMENT_MAP, addr, size);
    return space;
}

uint32_t mv_replay_expand(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded)
{
    uint32_t block = find_room(heap, pool, stream, rounded);

    if (block != MV_NO_ROW && heap->blocks[block].state == MV_REPLAY_UNMAPPED) {
        uint64_t room = heap->blocks[block].size;
        block = map(heap, block, room < rounded ? room : rounded);
    }
    while (block != MV_NO_ROW && heap->blocks[block].size < rounded) {
        uint32_t next = heap->blocks[block].next; /* the next block is unmapped, because free
                                                   * blocks are never adjacent */
        uint64_t lacks = rounded - heap->blocks[block].size;
        block = map(heap, next, lacks < heap->blocks[next].size ? lacks : heap->blocks[next].size);
    }
    if (block != MV_NO_ROW)
        mv_replay_take(heap, block);
    return heap->out_of_memory ? MV_NO_ROW : block;
}
