#include "parse/live/live_heap.h"

#include "base/grow.h"
#include "base/sort.h"

/* Sources: kSmallSize and kSmallBuffer in PyTorch's CUDACachingAllocator. A block of the small pool
 * has at most SMALL_BLOCK bytes and a block of the large pool has more, so the final heap shows to
 * which pool a segment belongs. */
enum { SMALL_BLOCK = 1 << 20, SMALL_SEGMENT = 2 << 20 };

/* ---- holdings ---------------------------------------------------------------------------- */

void mv_live_holdings_init(mv_arena *arena, mv_live_holdings *out)
{
    *out = (mv_live_holdings){.arena = arena, .spare = MV_NOT_IN_MAP};
    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++)
        out->row_of[i].arena = arena;
}

/* Takes an unused row, or adds a row. */
static bool take_row(mv_live_holdings *h, uint32_t *row)
{
    if (h->spare != MV_NOT_IN_MAP) {
        *row = h->spare;
        h->spare = h->rows[*row].call;
        return true;
    }
    *row = h->count;
    return mv_append(h->arena, h->rows, h->count, h->capacity, (mv_live_holding){0});
}

bool mv_live_hold(mv_live_holdings *h, const mv_live_holding *holding, mv_live_holding *old)
{
    mv_map *rows = &h->row_of[holding->list];
    uint32_t row = mv_map_find(rows, holding->addr);

    *old = (mv_live_holding){0};
    if (row != MV_NOT_IN_MAP)
        *old = h->rows[row];
    else if (!take_row(h, &row) || !mv_map_put(rows, holding->addr, row))
        return false;
    h->rows[row] = *holding;
    return true;
}

bool mv_live_release(mv_live_holdings *h, uint32_t list, uint64_t addr, mv_live_holding *out)
{
    uint32_t row = mv_map_take(&h->row_of[list], addr);

    if (row == MV_NOT_IN_MAP)
        return false;
    *out = h->rows[row];
    h->rows[row] = (mv_live_holding){.list = MV_NO_ROW, .call = h->spare};
    h->spare = row;
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
    mv_live_holding *rows; /* holdings sorted by device and address */
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

static void note_conflict(tiling *t, const mv_live_holding *h)
{
    mv_build_note(t->build, MV_NOTE_LOST, "the end of %llu bytes at %#llx on device %u",
                  (unsigned long long)h->size, (unsigned long long)h->addr, h->list);
}

/* Drops all but the newest of overlapping holdings, because the older ones must have ended. */
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
    for (uint32_t i = 0; i < from->count; i++)
        if (from->rows[i].list != MV_NO_ROW)
            out->rows[out->count++] = from->rows[i];
    mv_sort_rows(scratch, out->rows, out->count, MV_RISING(mv_live_holding, list),
                 MV_RISING(mv_live_holding, addr));
    drop_overlaps(t, out);
    return true;
}

static void join_ranges(tiling *t)
{
    sorted *s = &t->segments;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < s->count; i++) {
        mv_live_holding *last = kept ? &s->rows[kept - 1] : NULL;
        const mv_live_holding *h = &s->rows[i];
        if (last && last->is_expandable && h->is_expandable && last->list == h->list &&
            end_of(last) == h->addr &&
            mv_map_find(&t->heap->reservations->row_of[0], h->addr) == MV_NOT_IN_MAP)
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

/* Adds a segment and its blocks. A block that extends beyond the segment's end is left out. */
static void tile_segment(tiling *t, const mv_live_holding *h)
{
    mv_segment_row row = begin_segment(t, h);
    uint64_t at = h->addr, end = end_of(h);

    for (; t->next_block < t->blocks.count; t->next_block++) {
        const mv_live_holding *block = &t->blocks.rows[t->next_block];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a list with a count has rows */
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

/* Adds the blocks outside all segments, up to `limit`. Adjacent blocks share a new segment. */
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

/* Returns true if the segment comes first. A segment comes before the block at its beginning. */
static bool is_first(const mv_live_holding *segment, const mv_live_holding *block)
{
    return segment->list != block->list ? segment->list < block->list
                                        : segment->addr <= block->addr;
}

static void tile_all(tiling *t)
{
    uint64_t next = 0;

    while (next < t->segments.count || t->next_block < t->blocks.count) {
        const mv_live_holding *segment = next < t->segments.count ? &t->segments.rows[next] : NULL;
        const mv_live_holding *block =
            t->next_block < t->blocks.count ? &t->blocks.rows[t->next_block] : NULL;
        if (segment && (!block || is_first(segment, block))) {
            tile_segment(t, segment);
            next++;
        } else if (block && t->heap->has_segments[block->list]) {
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
