#include "analyze/replay/replay_heap.h"

static mv_replay_key key_of(const mv_replay_block *blocks, uint32_t row)
{
    return (mv_replay_key){blocks[row].stream, blocks[row].size, blocks[row].addr, row};
}

static bool is_less(const mv_replay_order *order, mv_replay_key a, mv_replay_key b)
{
    if (a.stream != b.stream)
        return a.stream < b.stream;
    if (!order->by_addr && a.size != b.size)
        return a.size < b.size;
    return a.addr != b.addr ? a.addr < b.addr : a.row < b.row;
}

static void note_releasable(mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];

    heap->pools[b->pool].may_have_whole |= !mv_replay_is_split(b);
    heap->pools[b->pool].may_have_pages |= b->expandable;
}

/* Returns the pointer from `up` to its child `block`, or the root pointer if `up` is MV_NO_ROW. */
static uint32_t *link_to(mv_replay_block *blocks, mv_replay_order *order, uint32_t up,
                         uint32_t block)
{
    if (up == MV_NO_ROW)
        return &order->root;
    return blocks[up].left == block ? &blocks[up].left : &blocks[up].right;
}

/* Attaches `child`, which may be MV_NO_ROW, at `link`, which is a link of `up`. */
static void attach(mv_replay_block *blocks, uint32_t *link, uint32_t up, uint32_t child)
{
    *link = child;
    if (child != MV_NO_ROW)
        blocks[child].up = up;
}

void mv_replay_order_add(mv_replay_heap *heap, mv_replay_order *order, uint32_t block)
{
    mv_replay_block *blocks = heap->blocks;
    mv_replay_key key = key_of(blocks, block);
    uint32_t *link = &order->root, up = MV_NO_ROW, priority = blocks[block].priority;
    uint32_t *low = &blocks[block].left, *high = &blocks[block].right, rest;
    uint32_t of_low = block, of_high = block;

    while (*link != MV_NO_ROW && blocks[*link].priority >= priority) {
        up = *link;
        link = is_less(order, key, key_of(blocks, up)) ? &blocks[up].left : &blocks[up].right;
    }
    rest = *link;
    attach(blocks, link, up, block);
    while (rest != MV_NO_ROW) {
        if (is_less(order, key_of(blocks, rest), key)) {
            attach(blocks, low, of_low, rest);
            of_low = rest;
            low = &blocks[rest].right;
            rest = *low;
        } else {
            attach(blocks, high, of_high, rest);
            of_high = rest;
            high = &blocks[rest].left;
            rest = *high;
        }
    }
    *low = *high = MV_NO_ROW;
    note_releasable(heap, block);
}

static bool is_in(const mv_replay_block *blocks, const mv_replay_order *order, uint32_t block)
{
    return blocks[block].up != MV_NO_ROW || order->root == block;
}

void mv_replay_order_drop(mv_replay_heap *heap, mv_replay_order *order, uint32_t block)
{
    mv_replay_block *blocks = heap->blocks;
    uint32_t low = blocks[block].left, high = blocks[block].right, up = blocks[block].up, next;
    uint32_t *link = link_to(blocks, order, up, block);

    if (!is_in(blocks, order, block))
        return;
    while (low != MV_NO_ROW && high != MV_NO_ROW) {
        bool is_low = blocks[low].priority >= blocks[high].priority;
        next = is_low ? low : high;
        attach(blocks, link, up, next);
        up = next;
        link = is_low ? &blocks[next].right : &blocks[next].left;
        *(is_low ? &low : &high) = *link;
    }
    attach(blocks, link, up, low != MV_NO_ROW ? low : high);
    blocks[block].left = blocks[block].right = blocks[block].up = MV_NO_ROW;
}

/* Returns the previous or next block in the tree, or MV_NO_ROW. */
static uint32_t neighbour(const mv_replay_block *blocks, uint32_t block, bool is_after)
{
    uint32_t row = is_after ? blocks[block].right : blocks[block].left, up;

    if (row != MV_NO_ROW) {
        while ((up = is_after ? blocks[row].left : blocks[row].right) != MV_NO_ROW)
            row = up;
        return row;
    }
    for (row = block; (up = blocks[row].up) != MV_NO_ROW; row = up)
        if ((is_after ? blocks[up].left : blocks[up].right) == row)
            return up;
    return MV_NO_ROW;
}

void mv_replay_order_move(mv_replay_heap *heap, mv_replay_order *order, uint32_t block,
                          uint64_t addr, uint64_t size)
{
    mv_replay_block *blocks = heap->blocks, *b = &blocks[block];
    mv_replay_key key = {b->stream, size, addr, block};
    bool stays = is_in(blocks, order, block);
    uint32_t row;

    if (stays && (row = neighbour(blocks, block, false)) != MV_NO_ROW)
        stays = is_less(order, key_of(blocks, row), key);
    if (stays && (row = neighbour(blocks, block, true)) != MV_NO_ROW)
        stays = is_less(order, key, key_of(blocks, row));
    if (!stays)
        mv_replay_order_drop(heap, order, block);
    b->addr = addr;
    b->size = size;
    if (stays)
        note_releasable(heap, block);
    else
        mv_replay_order_add(heap, order, block);
}

uint32_t mv_replay_order_at(const mv_replay_heap *heap, const mv_replay_order *order,
                            mv_replay_key key)
{
    uint32_t row = order->root, found = MV_NO_ROW;

    while (row != MV_NO_ROW) {
        if (is_less(order, key_of(heap->blocks, row), key)) {
            row = heap->blocks[row].right;
        } else {
            found = row;
            row = heap->blocks[row].left;
        }
    }
    return found;
}

uint32_t mv_replay_order_before(const mv_replay_heap *heap, const mv_replay_order *order,
                                mv_replay_key key)
{
    uint32_t row = order->root, found = MV_NO_ROW;

    while (row != MV_NO_ROW) {
        if (is_less(order, key_of(heap->blocks, row), key)) {
            found = row;
            row = heap->blocks[row].right;
        } else {
            row = heap->blocks[row].left;
        }
    }
    return found;
}

uint32_t mv_replay_order_first(const mv_replay_heap *heap, const mv_replay_order *order)
{
    return mv_replay_order_at(heap, order, (mv_replay_key){0});
}

uint32_t mv_replay_order_next(const mv_replay_heap *heap, const mv_replay_order *order,
                              uint32_t block)
{
    mv_replay_key key = key_of(heap->blocks, block);

    key.row++;
    return mv_replay_order_at(heap, order, key);
}

uint32_t mv_replay_order_prev(const mv_replay_heap *heap, const mv_replay_order *order,
                              uint32_t block)
{
    return mv_replay_order_before(heap, order, key_of(heap->blocks, block));
}
