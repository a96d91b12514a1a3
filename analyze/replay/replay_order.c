#include "analyze/replay/replay_order.h"
#include "base/grow.h"
#include "base/search.h"

/* This many orders have size classes, which take 7 KB each. Programs have a few streams and pools,
 * but a file may name a new stream in every event. */
enum { MOST_WITH_CLASSES = 256 };

/* ---- orders ------------------------------------------------------------------------------ */

/* Returns the first of order_rows whose pool and stream are at or after these. */
static uint32_t place_of_order(const mv_replay_heap *heap, uint32_t pool, uint64_t stream)
{
    mv_bisect b = mv_bisect_over(0, heap->order_count);

    while (mv_bisect_next(&b)) {
        const mv_replay_order *o = &heap->orders[heap->order_rows[b.middle]];
        mv_bisect_narrow(&b, o->pool < pool || (o->pool == pool && o->stream < stream));
    }
    return (uint32_t)b.low;
}

uint32_t mv_replay_order_search(mv_replay_heap *heap, uint32_t pool, uint64_t stream)
{
    uint32_t place = place_of_order(heap, pool, stream);
    uint32_t row = place < heap->order_count ? heap->order_rows[place] : MV_NO_ROW;
    if (row == MV_NO_ROW || heap->orders[row].pool != pool || heap->orders[row].stream != stream)
        return MV_NO_ROW;
    heap->pools[pool].latest = row;
    return row;
}

uint32_t mv_replay_order_make(mv_replay_heap *heap, uint32_t pool, uint64_t stream)
{
    uint32_t row = mv_replay_order_find(heap, pool, stream), place;
    bool has_classes = heap->order_count < MOST_WITH_CLASSES;
    mv_replay_classes *classes = NULL;

    if (row != MV_NO_ROW)
        return row;
    if (!mv_room(heap->arena, heap->orders, heap->order_count, heap->order_capacity) ||
        !mv_room(heap->arena, heap->order_rows, heap->order_count, heap->order_rows_capacity) ||
        (has_classes && !(classes = mv_push_struct(heap->arena, mv_replay_classes)))) {
        heap->out_of_memory = true;
        return MV_NO_ROW;
    }
    place = place_of_order(heap, pool, stream);
    row = heap->order_count++;
    heap->work += (row - place) / 64; /* moving 64 rows is one step */
    memmove(heap->order_rows + place + 1, heap->order_rows + place,
            (row - place) * sizeof *heap->order_rows);
    heap->order_rows[place] = row;
    heap->orders[row] =
        (mv_replay_order){.stream = stream,
                          .pool = pool,
                          .splits_small = heap->pools[pool].is_small || heap->conf.rules.expandable,
                          .classes = classes,
                          .root = MV_NO_ROW,
                          .unmapped = MV_NO_ROW};
    return row;
}

/* ---- size classes ------------------------------------------------------------------------ */

/* Returns the last class below `class` that has blocks, or MV_NO_ROW. */
static uint32_t class_before(const mv_replay_classes *c, uint32_t class)
{
    uint32_t word = class / 64;
    uint64_t rest = c->used[word] & (((uint64_t)1 << class % 64) - 1);

    if (!rest) {
        uint64_t words = c->words & (((uint64_t)1 << word) - 1);
        if (!words)
            return MV_NO_ROW;
        word = 63 - (uint32_t)__builtin_clzll(words);
        rest = c->used[word];
    }
    return 64 * word + 63 - (uint32_t)__builtin_clzll(rest);
}

/* The tree that a block is in, or belongs into. */
typedef struct {
    uint32_t *root;
    uint32_t *first;            /* first block; NULL: it is not kept */
    mv_replay_classes *classes; /* NULL: the tree is not one of several */
    uint32_t class;
    bool by_addr; /* sorted by address only */
} tree;

static tree tree_of(const mv_replay_heap *heap, const mv_replay_block *block)
{
    mv_replay_order *order = &heap->orders[block->order];
    mv_replay_classes *classes = mv_order_classes(heap, block);
    uint32_t class = classes ? mv_order_class(block->size) : 0;

    if (classes)
        return (tree){&classes->root[class], &classes->first[class], classes, class, false};
    if (block->state == MV_REPLAY_UNMAPPED)
        return (tree){.root = &order->unmapped, .by_addr = true};
    return (tree){.root = &order->root};
}

static bool is_empty(const tree *t)
{
    return t->classes ? !mv_order_is_used(t->classes, t->class) : *t->root == MV_NO_ROW;
}

/* ---- treaps ------------------------------------------------------------------------------ */

/* Rows distinguish blocks that a contradictory trace placed at the same address. */
typedef struct {
    uint64_t size, addr;
    uint32_t row;
} order_key;

static order_key key_of(const mv_replay_block *blocks, uint32_t row)
{
    return (order_key){blocks[row].size, blocks[row].addr, row};
}

static bool is_less(bool by_addr, order_key a, order_key b)
{
    if (!by_addr && a.size != b.size)
        return a.size < b.size;
    return a.addr != b.addr ? a.addr < b.addr : a.row < b.row;
}

/* Returns the pointer from `up` to its child `block`, or the root pointer if `up` is MV_NO_ROW. */
static uint32_t *link_to(mv_replay_block *blocks, uint32_t *root, uint32_t up, uint32_t block)
{
    if (up == MV_NO_ROW)
        return root;
    return blocks[up].left == block ? &blocks[up].left : &blocks[up].right;
}

/* Attaches `child`, which may be MV_NO_ROW, at `link`, which is a link of `up`. */
static void attach(mv_replay_block *blocks, uint32_t *link, uint32_t up, uint32_t child)
{
    *link = child;
    if (child != MV_NO_ROW)
        blocks[child].up = up;
}

static void add_to(mv_replay_block *blocks, const tree *t, uint32_t block)
{
    order_key key = key_of(blocks, block);
    uint32_t *link = t->root, up = MV_NO_ROW, priority = mv_treap_priority(block);
    uint32_t *low = &blocks[block].left, *high = &blocks[block].right, rest;
    uint32_t of_low = block, of_high = block;

    while (*link != MV_NO_ROW && mv_treap_priority(*link) >= priority) {
        up = *link;
        link = is_less(t->by_addr, key, key_of(blocks, up)) ? &blocks[up].left : &blocks[up].right;
    }
    rest = *link;
    attach(blocks, link, up, block);
    while (rest != MV_NO_ROW) {
        if (is_less(t->by_addr, key_of(blocks, rest), key)) {
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
}

void mv_order_add_to_tree(mv_replay_heap *heap, uint32_t block)
{
    mv_replay_block *b = &heap->blocks[block];
    tree t = tree_of(heap, b);

    if (!is_empty(&t)) {
        if (t.first && is_less(false, key_of(heap->blocks, block), key_of(heap->blocks, *t.first)))
            *t.first = block;
        add_to(heap->blocks, &t, block);
        return;
    }
    *t.root = block;
    if (t.first)
        *t.first = block;
    b->left = b->right = b->up = MV_NO_ROW;
    if (t.classes)
        mv_order_set(t.classes, t.class);
}

void mv_replay_order_add(mv_replay_heap *heap, uint32_t block)
{
    mv_order_add(heap, block);
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

static bool is_in(const mv_replay_block *blocks, const tree *t, uint32_t block)
{
    return blocks[block].up != MV_NO_ROW || (!is_empty(t) && *t->root == block);
}

static void drop_from(mv_replay_block *blocks, const tree *t, uint32_t block)
{
    uint32_t low = blocks[block].left, high = blocks[block].right, up = blocks[block].up, next;
    uint32_t *link;

    if (!is_in(blocks, t, block))
        return;
    if (t->first && *t->first == block)
        *t->first = neighbour(blocks, block, true);
    link = link_to(blocks, t->root, up, block);
    while (low != MV_NO_ROW && high != MV_NO_ROW) {
        bool is_low = mv_treap_priority(low) >= mv_treap_priority(high);
        next = is_low ? low : high;
        attach(blocks, link, up, next);
        up = next;
        link = is_low ? &blocks[next].right : &blocks[next].left;
        *(is_low ? &low : &high) = *link;
    }
    attach(blocks, link, up, low != MV_NO_ROW ? low : high);
    blocks[block].left = blocks[block].right = blocks[block].up = MV_NO_ROW;
    if (*t->root == MV_NO_ROW && t->classes)
        mv_order_clear(t->classes, t->class);
}

void mv_order_drop_from_tree(mv_replay_heap *heap, uint32_t block)
{
    tree t = tree_of(heap, &heap->blocks[block]);

    drop_from(heap->blocks, &t, block);
}

/* Whether a block of a tree would keep its place in it. */
static bool keeps_place(const mv_replay_heap *heap, uint32_t block, uint64_t addr, uint64_t size)
{
    const mv_replay_block *blocks = heap->blocks;
    tree t = tree_of(heap, &blocks[block]);
    order_key key = {size, addr, block};
    uint32_t row = neighbour(blocks, block, false);

    if (!is_in(blocks, &t, block) ||
        (row != MV_NO_ROW && !is_less(t.by_addr, key_of(blocks, row), key)))
        return false;
    row = neighbour(blocks, block, true);
    return row == MV_NO_ROW || is_less(t.by_addr, key, key_of(blocks, row));
}

void mv_order_move_in_tree(mv_replay_heap *heap, uint32_t block, uint64_t addr, uint64_t size)
{
    mv_replay_block *b = &heap->blocks[block];
    bool stays = keeps_place(heap, block, addr, size);

    if (!stays)
        mv_order_drop_from_tree(heap, block);
    b->addr = addr;
    b->size = size;
    if (!stays)
        mv_order_add_to_tree(heap, block);
}

/* ---- searches ---------------------------------------------------------------------------- */

/* Returns the first block of a tree that is at or after the key or, with `before`, the last block
 * before it. */
static uint32_t find(const mv_replay_block *blocks, uint32_t root, bool by_addr, order_key key,
                     bool before)
{
    uint32_t row = root, found = MV_NO_ROW;

    while (row != MV_NO_ROW) {
        bool is_before = is_less(by_addr, key_of(blocks, row), key);
        if (is_before == before)
            found = row;
        row = is_before ? blocks[row].right : blocks[row].left;
    }
    return found;
}

/* Returns the first or the last block of a tree. */
static uint32_t end_of(const mv_replay_block *blocks, uint32_t root, bool last)
{
    uint32_t row = root, child;

    while (row != MV_NO_ROW && (child = last ? blocks[row].right : blocks[row].left) != MV_NO_ROW)
        row = child;
    return row;
}

static uint32_t first_of_class(const mv_replay_classes *c, uint32_t class)
{
    return class == MV_NO_ROW ? MV_NO_ROW : c->first[class];
}

static uint32_t last_of_class(const mv_replay_heap *heap, const mv_replay_classes *c,
                              uint32_t class)
{
    return class == MV_NO_ROW ? MV_NO_ROW : end_of(heap->blocks, c->root[class], true);
}

uint32_t mv_replay_free_at_slowly(const mv_replay_heap *heap, uint32_t order, uint64_t size)
{
    const mv_replay_order *o = &heap->orders[order];
    const mv_replay_classes *c = o->classes;
    uint32_t class, found;

    if (!c)
        return find(heap->blocks, o->root, false, (order_key){.size = size}, false);
    class = mv_order_class(size);
    if (mv_order_is_used(c, class)) {
        found = find(heap->blocks, c->root[class], false, (order_key){.size = size}, false);
        if (found != MV_NO_ROW)
            return found;
    }
    return first_of_class(c, mv_order_class_at(c, class + 1));
}

uint32_t mv_replay_free_before(const mv_replay_heap *heap, uint32_t order, uint64_t size)
{
    const mv_replay_order *o = &heap->orders[order];
    const mv_replay_classes *c = o->classes;
    uint32_t class, found;

    if (!c)
        return find(heap->blocks, o->root, false, (order_key){.size = size}, true);
    class = mv_order_class(size);
    if (mv_order_is_used(c, class)) {
        found = find(heap->blocks, c->root[class], false, (order_key){.size = size}, true);
        if (found != MV_NO_ROW)
            return found;
    }
    return last_of_class(heap, c, class_before(c, class));
}

uint32_t mv_replay_unmapped_first(const mv_replay_heap *heap, uint32_t order)
{
    return end_of(heap->blocks, heap->orders[order].unmapped, false);
}

uint32_t mv_replay_unmapped_until(const mv_replay_heap *heap, uint32_t order, uint64_t addr)
{
    return find(heap->blocks, heap->orders[order].unmapped, true,
                (order_key){.addr = addr, .row = MV_NO_ROW}, true);
}

uint32_t mv_replay_order_next(const mv_replay_heap *heap, uint32_t block)
{
    tree t = tree_of(heap, &heap->blocks[block]);
    uint32_t row = neighbour(heap->blocks, block, true);

    if (row != MV_NO_ROW || !t.classes)
        return row;
    return first_of_class(t.classes, mv_order_class_at(t.classes, t.class + 1));
}

uint32_t mv_replay_order_prev(const mv_replay_heap *heap, uint32_t block)
{
    tree t = tree_of(heap, &heap->blocks[block]);
    uint32_t row = neighbour(heap->blocks, block, false);

    if (row != MV_NO_ROW || !t.classes)
        return row;
    return last_of_class(heap, t.classes, class_before(t.classes, t.class));
}

/* Returns the first free block of the orders of a pool from order_rows[place] on. */
static uint32_t first_from(const mv_replay_heap *heap, uint32_t pool, uint32_t place)
{
    uint32_t row = MV_NO_ROW;

    for (; row == MV_NO_ROW && place < heap->order_count &&
           heap->orders[heap->order_rows[place]].pool == pool;
         place++)
        row = mv_replay_free_at(heap, heap->order_rows[place], 0);
    return row;
}

uint32_t mv_replay_pool_first(const mv_replay_heap *heap, uint32_t pool)
{
    return first_from(heap, pool, place_of_order(heap, pool, 0));
}

uint32_t mv_replay_pool_next(const mv_replay_heap *heap, uint32_t block)
{
    uint32_t row = mv_replay_order_next(heap, block);
    const mv_replay_order *o = &heap->orders[heap->blocks[block].order];

    if (row != MV_NO_ROW)
        return row;
    return first_from(heap, o->pool, place_of_order(heap, o->pool, o->stream) + 1);
}
