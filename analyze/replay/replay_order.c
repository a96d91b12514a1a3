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

void mv_replay_order_add(mv_replay_heap *heap, mv_replay_order *order, uint32_t block)
{
    mv_replay_block *blocks = heap->blocks;
    mv_replay_key key = key_of(blocks, block);
    uint32_t *link = &order->root, *low, *high, rest, priority = blocks[block].priority;

    while (*link != MV_NO_ROW && blocks[*link].priority >= priority)
        link =
            is_less(order, key, key_of(blocks, *link)) ? &blocks[*link].left : &blocks[*link].right;
    rest = *link;
    *link = block;
    low = &blocks[block].left;
    high = &blocks[block].right;
    while (rest != MV_NO_ROW) {
        if (is_less(order, key_of(blocks, rest), key)) {
            *low = rest;
            low = &blocks[rest].right;
            rest = *low;
        } else {
            *high = rest;
            high = &blocks[rest].left;
            rest = *high;
        }
    }
    *low = *high = MV_NO_ROW;
    note_releasable(heap, block);
}

/* Takes the block out of the tree: its parts replace it where `link` points to it. */
static void unlink_block(mv_replay_block *blocks, uint32_t *link, uint32_t block)
{
    uint32_t low = blocks[block].left, high = blocks[block].right;

    while (low != MV_NO_ROW && high != MV_NO_ROW) {
        if (blocks[low].priority >= blocks[high].priority) {
            *link = low;
            link = &blocks[low].right;
            low = *link;
        } else {
            *link = high;
            link = &blocks[high].left;
            high = *link;
        }
    }
    *link = low != MV_NO_ROW ? low : high;
    blocks[block].left = blocks[block].right = MV_NO_ROW;
}

/* The place that points to `block`, and the blocks before and after it on the way there; MV_NO_ROW:
 * none. NULL: it is not in the tree. */
static uint32_t *link_of(mv_replay_block *blocks, mv_replay_order *order, uint32_t block,
                         uint32_t *before, uint32_t *after)
{
    mv_replay_key key = key_of(blocks, block);
    uint32_t *link = &order->root;

    *before = *after = MV_NO_ROW;
    while (*link != block) {
        if (*link == MV_NO_ROW)
            return NULL;
        if (is_less(order, key, key_of(blocks, *link))) {
            *after = *link;
            link = &blocks[*link].left;
        } else {
            *before = *link;
            link = &blocks[*link].right;
        }
    }
    return link;
}

void mv_replay_order_drop(mv_replay_heap *heap, mv_replay_order *order, uint32_t block)
{
    uint32_t before, after, *link = link_of(heap->blocks, order, block, &before, &after);

    if (link)
        unlink_block(heap->blocks, link, block);
}

void mv_replay_order_move(mv_replay_heap *heap, mv_replay_order *order, uint32_t block,
                          uint64_t addr, uint64_t size)
{
    mv_replay_block *blocks = heap->blocks, *b = &blocks[block];
    mv_replay_key key = {b->stream, size, addr, block};
    uint32_t before, after, *link = link_of(blocks, order, block, &before, &after), row;
    bool stays = link != NULL;

    for (row = b->left; stays && row != MV_NO_ROW; row = blocks[row].right)
        before = row;
    for (row = b->right; stays && row != MV_NO_ROW; row = blocks[row].left)
        after = row;
    stays = stays && (before == MV_NO_ROW || is_less(order, key_of(blocks, before), key)) &&
            (after == MV_NO_ROW || is_less(order, key, key_of(blocks, after)));
    if (link && !stays)
        unlink_block(blocks, link, block);
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
