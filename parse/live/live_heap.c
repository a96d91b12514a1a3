#include "parse/live/live_heap.h"

#include <stdlib.h>

/* Sources: kSmallSize, kSmallBuffer, PyTorch CUDACachingAllocator. A block of the small pool has
 * at most SMALL_BLOCK bytes, one of the large pool more; so the final heap tells the pools. */
enum { SMALL_BLOCK = 1 << 20, SMALL_SEGMENT = 2 << 20 };

/* ---- holdings ---------------------------------------------------------------------------- */

static uint64_t slot_of(const mv_live_holdings *h, uint32_t list, uint64_t addr)
{
    return mv_mix(addr, list) & (h->capacity - 1);
}

/* Where the holding is, or where it belongs. */
static uint64_t find(const mv_live_holdings *h, uint32_t list, uint64_t addr)
{
    uint64_t at = slot_of(h, list, addr);

    while (h->slots[at].list != MV_NO_ROW &&
           (h->slots[at].addr != addr || h->slots[at].list != list))
        at = (at + 1) & (h->capacity - 1);
    return at;
}

static bool grow(mv_live_holdings *h)
{
    mv_live_holdings next = {.arena = h->arena, .capacity = h->capacity ? h->capacity * 2 : 1024};

    next.slots = mv_arena_grow(h->arena, NULL, next.capacity * sizeof *next.slots);
    if (!next.slots)
        return false;
    for (uint64_t i = 0; i < next.capacity; i++)
        next.slots[i].list = MV_NO_ROW;
    for (uint64_t i = 0; i < h->capacity; i++)
        if (h->slots[i].list != MV_NO_ROW)
            next.slots[find(&next, h->slots[i].list, h->slots[i].addr)] = h->slots[i];
    mv_arena_drop(h->arena, h->slots);
    next.count = h->count;
    *h = next;
    return true;
}

bool mv_live_hold(mv_live_holdings *h, const mv_live_holding *holding, mv_live_holding *old)
{
    uint64_t at;

    *old = (mv_live_holding){0};
    if (2 * h->count >= h->capacity && !grow(h))
        return false;
    at = find(h, holding->list, holding->addr);
    if (h->slots[at].list != MV_NO_ROW)
        *old = h->slots[at];
    else
        h->count++;
    h->slots[at] = *holding;
    return true;
}

/* Empties a slot and moves those behind it up, so that each is found from where it belongs. */
static void empty_slot(mv_live_holdings *h, uint64_t at)
{
    uint64_t mask = h->capacity - 1, next = at;

    for (;;) {
        uint64_t home;
        next = (next + 1) & mask;
        if (h->slots[next].list == MV_NO_ROW)
            break;
        home = slot_of(h, h->slots[next].list, h->slots[next].addr);
        if (((next - home) & mask) < ((next - at) & mask))
            continue;
        h->slots[at] = h->slots[next];
        at = next;
    }
    h->slots[at].list = MV_NO_ROW;
    h->count--;
}

bool mv_live_release(mv_live_holdings *h, uint32_t list, uint64_t addr, mv_live_holding *out)
{
    uint64_t at;

    if (h->count == 0)
        return false;
    at = find(h, list, addr);
    if (h->slots[at].list == MV_NO_ROW)
        return false;
    *out = h->slots[at];
    empty_slot(h, at);
    return true;
}

bool mv_live_release_any(mv_live_holdings *h, uint32_t lists, uint64_t addr, mv_live_holding *out)
{
    for (uint32_t list = 0; list < lists; list++)
        if (mv_live_release(h, list, addr, out))
            return true;
    return false;
}

/* ---- the final heap ---------------------------------------------------------------------- */

typedef struct {
    mv_live_holding *rows; /* by device and address */
    uint64_t count;
} sorted;

typedef struct {
    mv_build *build;
    const mv_live_heap *heap;
    sorted blocks, segments;
    uint64_t next_block;
} tiling;

static uint64_t end_of(const mv_live_holding *h)
{
    return h->size > UINT64_MAX - h->addr ? UINT64_MAX : h->addr + h->size;
}

static int by_place(const void *a, const void *b)
{
    const mv_live_holding *x = a, *y = b;

    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

static void note_conflict(tiling *t, const mv_live_holding *h)
{
    mv_build_note(t->build, MV_NOTE_LOST, "the end of %llu bytes at %#llx on device %u",
                  (unsigned long long)h->size, (unsigned long long)h->addr, h->list);
}

/* Of holdings that overlap the newest stays: the others must have ended. */
static void drop_overlaps(tiling *t, sorted *s)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < s->count; i++) {
        const mv_live_holding *h = &s->rows[i];
        bool stays = h->size > 0;
        while (stays && kept && s->rows[kept - 1].list == h->list &&
               end_of(&s->rows[kept - 1]) > h->addr) {
            stays = s->rows[kept - 1].order < h->order;
            note_conflict(t, stays ? &s->rows[kept - 1] : h);
            kept -= stays;
        }
        if (stays)
            s->rows[kept++] = *h;
    }
    s->count = kept;
}

static bool sort_holdings(mv_arena *scratch, tiling *t, const mv_live_holdings *from, sorted *out)
{
    out->rows = mv_push_array(scratch, mv_live_holding, from->count);
    if (!out->rows)
        return false;
    for (uint64_t i = 0; i < from->capacity; i++) {
        if (from->slots[i].list == MV_NO_ROW)
            continue;
        out->rows[out->count++] = from->slots[i];
    }
    qsort(out->rows, out->count, sizeof *out->rows, by_place);
    drop_overlaps(t, out);
    return true;
}

static bool is_reservation(const mv_live_holdings *h, uint64_t addr)
{
    return h->count && h->slots[find(h, 0, addr)].list != MV_NO_ROW;
}

static void join_ranges(tiling *t)
{
    sorted *s = &t->segments;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < s->count; i++) {
        mv_live_holding *last = kept ? &s->rows[kept - 1] : NULL;
        const mv_live_holding *h = &s->rows[i];
        if (last && last->is_expandable && h->is_expandable && last->list == h->list &&
            end_of(last) == h->addr && !is_reservation(t->heap->reservations, h->addr))
            last->size += h->size;
        else
            s->rows[kept++] = *h;
    }
    s->count = kept;
}

/* ---- rows -------------------------------------------------------------------------------- */

static void add_block(tiling *t, mv_segment_row *segment, uint64_t addr, uint64_t size,
                      const mv_live_holding *h)
{
    mv_block_row row = MV_BLOCK_ROW;

    if (size == 0)
        return;
    row.address = addr;
    row.size = size;
    row.requested = h ? size : 0;
    row.state = h ? MV_BLOCK_ALLOCATED : MV_BLOCK_INACTIVE;
    row.stack = h && h->stack.row != MV_NO_ROW ? h->stack : MV_EMPTY_STACK;
    row.call = h ? h->call : MV_NO_CALL;
    mv_build_block(t->build, &row);
    segment->blocks++;
    if (!h)
        return;
    segment->allocated += size;
    if (segment->kind == MV_SEGMENT_UNKNOWN)
        segment->kind = size <= SMALL_BLOCK ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
}

static mv_segment_row begin_segment(const tiling *t, const mv_live_holding *h)
{
    mv_segment_row row = MV_SEGMENT_ROW;

    row.device = (int32_t)h->list;
    row.address = h->addr;
    row.total_size = h->size;
    row.allocated = 0;
    row.stack = h->stack.row != MV_NO_ROW ? h->stack : MV_EMPTY_STACK;
    row.call = h->call;
    row.is_expandable = h->is_expandable;
    row.first_block = t->build->trace->blocks.count;
    if (!h->is_expandable)
        row.kind = h->size == SMALL_SEGMENT ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
    return row;
}

static void end_segment(tiling *t, mv_segment_row *row)
{
    if (row->kind == MV_SEGMENT_UNKNOWN)
        row->kind = row->total_size <= SMALL_SEGMENT ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
    row->active = row->requested = row->allocated;
    mv_build_segment(t->build, row);
}

/* The segment with the blocks in it; one that reaches over its end is left out. */
static void tile_segment(tiling *t, const mv_live_holding *h)
{
    mv_segment_row row = begin_segment(t, h);
    uint64_t at = h->addr, end = end_of(h);

    for (; t->next_block < t->blocks.count; t->next_block++) {
        const mv_live_holding *block = &t->blocks.rows[t->next_block];
        if (block->list != h->list || block->addr >= end)
            break;
        if (end_of(block) > end) {
            note_conflict(t, block);
            continue;
        }
        add_block(t, &row, at, block->addr - at, NULL);
        add_block(t, &row, block->addr, block->size, block);
        at = end_of(block);
    }
    add_block(t, &row, at, end - at, NULL);
    end_segment(t, &row);
}

/* Blocks that stand in no segment, up to `limit`: those that touch each other share one. */
static void tile_strays(tiling *t, uint64_t limit)
{
    const mv_live_holding *first = &t->blocks.rows[t->next_block], *block = first;
    mv_live_holding made = {
        .addr = first->addr, .list = first->list, .stack = MV_NO_STACK, .call = MV_NO_CALL};
    mv_segment_row row;

    if (end_of(first) > limit) {
        note_conflict(t, first);
        t->next_block++;
        return;
    }
    row = begin_segment(t, &made);
    row.kind = MV_SEGMENT_UNKNOWN;
    do {
        add_block(t, &row, block->addr, block->size, block);
        row.total_size += block->size;
        block = ++t->next_block < t->blocks.count ? &t->blocks.rows[t->next_block] : NULL;
    } while (block && block->list == made.list && block->addr == made.addr + row.total_size &&
             end_of(block) <= limit);
    end_segment(t, &row);
    mv_build_note(t->build, MV_NOTE_LOST, "the segment of %llu bytes at %#llx on device %u",
                  (unsigned long long)row.total_size, (unsigned long long)made.addr, made.list);
}

static void tile_all(tiling *t)
{
    uint64_t next = 0;

    while (next < t->segments.count || t->next_block < t->blocks.count) {
        const mv_live_holding *segment = next < t->segments.count ? &t->segments.rows[next] : NULL;
        const mv_live_holding *block =
            t->next_block < t->blocks.count ? &t->blocks.rows[t->next_block] : NULL;
        if (segment && (!block || by_place(segment, block) <= 0)) {
            tile_segment(t, segment);
            next++;
        } else if (t->heap->has_segments[block->list]) {
            tile_strays(t, segment && segment->list == block->list ? segment->addr : UINT64_MAX);
        } else {
            t->next_block++;
        }
    }
}

bool mv_live_heap_build(mv_arena *scratch, mv_build *b, const mv_live_heap *heap, mv_range *out)
{
    tiling t = {.build = b, .heap = heap};
    uint32_t first = b->segments.count;

    if (!sort_holdings(scratch, &t, heap->blocks, &t.blocks) ||
        !sort_holdings(scratch, &t, heap->segments, &t.segments))
        return false;
    join_ranges(&t);
    tile_all(&t);
    *out = (mv_range){first, b->segments.count - first};
    return b->code == MV_OK;
}
