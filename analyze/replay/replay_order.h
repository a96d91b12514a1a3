/* The order of free blocks, for the files that implement the heap. Most size classes have at most
 * one block. These functions handle such classes, and leave the others to replay_order.c. */
#pragma once

#include "analyze/replay/replay_heap.h"

/* The class of a size (MV_REPLAY_CLASSES). Sizes up to 32 KiB are not shifted. */
static inline uint32_t mv_order_class(uint64_t size)
{
    uint64_t units = size / MV_MIN_BLOCK;
    uint32_t shift = 58 - (uint32_t)__builtin_clzll(units | 32);

    return 32 * shift + (uint32_t)(units >> shift);
}

static inline bool mv_order_is_used(const mv_replay_classes *c, uint32_t class)
{
    return c->used[class / 64] >> class % 64 & 1;
}

static inline void mv_order_set(mv_replay_classes *c, uint32_t class)
{
    c->used[class / 64] |= (uint64_t)1 << class % 64;
    c->words |= (uint64_t)1 << class / 64;
}

static inline void mv_order_clear(mv_replay_classes *c, uint32_t class)
{
    c->used[class / 64] &= ~((uint64_t)1 << class % 64);
    if (!c->used[class / 64])
        c->words &= ~((uint64_t)1 << class / 64);
}

/* Returns the first class from `class` on that has blocks, or MV_NO_ROW. */
static inline uint32_t mv_order_class_at(const mv_replay_classes *c, uint32_t class)
{
    uint32_t word = class / 64, found;
    uint64_t rest, words;

    if (class >= MV_REPLAY_CLASSES)
        return MV_NO_ROW;
    /* without a branch for a class in the same word, because it would be a matter of chance */
    rest = c->used[word] & ~(uint64_t)0 << class % 64;
    words = (c->words >> word & ~(uint64_t)1) | (rest != 0);
    if (!words)
        return MV_NO_ROW;
    found = word + (uint32_t)__builtin_ctzll(words);
    return 64 * found + (uint32_t)__builtin_ctzll(found == word ? rest : c->used[found]);
}

/* Returns the classes of a block's order; NULL if the block is unmapped, or its order has none. */
static inline mv_replay_classes *mv_order_classes(const mv_replay_heap *heap,
                                                  const mv_replay_block *block)
{
    return block->state == MV_REPLAY_UNMAPPED ? NULL : heap->orders[block->order].classes;
}

/* Whether a block of a tree is the only one. */
static inline bool mv_order_is_alone(const mv_replay_block *b, const uint32_t *root, uint32_t block)
{
    return (b->left & b->right & b->up) == MV_NO_ROW && *root == block;
}

void mv_order_add_to_tree(mv_replay_heap *heap, uint32_t block);
void mv_order_drop_from_tree(mv_replay_heap *heap, uint32_t block);

static inline void mv_order_note_releasable(mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];

    if (!mv_replay_is_split(b))
        mv_replay_pool_of_block(heap, block)->may_have_whole = true;
    if (b->expandable)
        mv_replay_pool_of_block(heap, block)->may_have_pages = true;
}

/* Puts a block into a class of its order. */
static inline void mv_order_insert_into(mv_replay_heap *heap, uint32_t block, mv_replay_classes *c,
                                        uint32_t class)
{
    mv_replay_block *b = &heap->blocks[block];

    b->class = (uint16_t) class;
    if (mv_order_is_used(c, class)) {
        mv_order_add_to_tree(heap, block);
        return;
    }
    mv_order_set(c, class);
    c->root[class] = c->first[class] = block;
    b->left = b->right = b->up = MV_NO_ROW;
}

static inline void mv_order_drop_out(mv_replay_heap *heap, uint32_t block, mv_replay_classes *c)
{
    const mv_replay_block *b = &heap->blocks[block];

    if (mv_order_is_alone(b, &c->root[b->class], block) && mv_order_is_used(c, b->class))
        mv_order_clear(c, b->class);
    else
        mv_order_drop_from_tree(heap, block);
}

/* Puts a free or unmapped block into its order. */
static inline void mv_order_add(mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];
    mv_replay_classes *c = mv_order_classes(heap, b);

    if (c)
        mv_order_insert_into(heap, block, c, mv_order_class(b->size));
    else
        mv_order_add_to_tree(heap, block);
    mv_order_note_releasable(heap, block);
}

/* Removes a block from its order if it is in it. */
static inline void mv_order_drop(mv_replay_heap *heap, uint32_t block)
{
    const mv_replay_block *b = &heap->blocks[block];
    mv_replay_classes *c = mv_order_classes(heap, b);

    if (c)
        mv_order_drop_out(heap, block, c);
    else
        mv_order_drop_from_tree(heap, block);
}

/* Changes a block's address and size if its order has no classes, or the class remains. */
void mv_order_move_in_tree(mv_replay_heap *heap, uint32_t block, uint64_t addr, uint64_t size);

/* Changes a block's address and size. With `stays`, the caller knows that this does not change the
 * block's place in the order. */
static inline void mv_order_move(mv_replay_heap *heap, uint32_t block, uint64_t addr, uint64_t size,
                                 bool stays)
{
    mv_replay_block *b = &heap->blocks[block];
    mv_replay_classes *c = mv_order_classes(heap, b);
    uint32_t from = c ? b->class : 0, to = c ? mv_order_class(size) : 0;

    if (from != to) {
        mv_order_drop_out(heap, block, c);
        b->addr = addr;
        b->size = size;
        mv_order_insert_into(heap, block, c, to);
    } else if (stays ||
               (c && mv_order_is_used(c, from) && mv_order_is_alone(b, &c->root[from], block))) {
        b->addr = addr;
        b->size = size;
    } else {
        mv_order_move_in_tree(heap, block, addr, size);
    }
    if (!stays)
        mv_order_note_releasable(heap, block);
}

/* Returns the first free block of an order with at least `size` bytes, or MV_NO_ROW. */
uint32_t mv_replay_free_at_slowly(const mv_replay_heap *heap, uint32_t order, uint64_t size);

static inline uint32_t mv_replay_free_at(const mv_replay_heap *heap, uint32_t order, uint64_t size)
{
    const mv_replay_classes *c = heap->orders[order].classes;
    uint32_t class;

    if (!c)
        return mv_replay_free_at_slowly(heap, order, size);
    class = mv_order_class_at(c, mv_order_class(size));
    if (class == MV_NO_ROW)
        return MV_NO_ROW;
    return heap->blocks[c->first[class]].size < size ? mv_replay_free_at_slowly(heap, order, size)
                                                     : c->first[class];
}
