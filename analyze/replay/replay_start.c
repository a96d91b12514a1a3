#include "analyze/lives/alive.h"
#include "analyze/replay/replay_script.h"
#include "base/sort.h"

typedef struct {
    const mv_replay_script *script;
    mv_replay_heap *heap;
    mv_block_rows *block_of;
    uint32_t alloc; /* next row from before the first event */
} start_state;

static uint32_t pool_of_segment(const mv_replay_script *script, uint32_t segment)
{
    const mv_segment_lives *s = &script->lives->segments;

    return 2 * mv_replay_segment_pool_id(script, segment) + (s->kind[segment] != MV_SEGMENT_SMALL);
}

/* Places an allocation from before the first event at the start of `block`, which is not in its
 * pool. */
static void occupy(start_state *st, uint32_t block, uint32_t row)
{
    const mv_alloc_lives *a = &st->script->lives->allocs;
    mv_replay_heap *heap = st->heap;

    heap->blocks[block].state = MV_REPLAY_USED;
    heap->blocks[block].requested = a->requested[row];
    heap->blocks[block].owner = row;
    heap->now.allocated += heap->blocks[block].size;
    heap->now.active += heap->blocks[block].size;
    heap->now.requested += a->requested[row];
    heap->out_of_memory |= !mv_block_rows_set(st->block_of, row, block);
    if (mv_alloc_was_pending(st->script->lives, row))
        mv_replay_request_free(heap, block);
}

/* Divides a free block, which is not in its pool, into the allocations within it. */
static void fill_segment(start_state *st, uint32_t block)
{
    const mv_alloc_lives *a = &st->script->lives->allocs;
    mv_replay_heap *heap = st->heap;
    uint64_t end = heap->blocks[block].addr + heap->blocks[block].size;

    for (; st->alloc < st->script->lives->allocs.preexisting && block != MV_NO_ROW; st->alloc++) {
        uint64_t at = a->addr[st->alloc], low = heap->blocks[block].addr,
                 size = a->block[st->alloc];
        if (at >= end)
            break;
        if (at < low || size == 0 || size > end - at)
            continue; /* skipped: the allocation overlaps another one, or is outside the block */
        if (at > low) {
            uint32_t rest = mv_replay_block_cut(heap, block, at - low);
            mv_replay_order_add(heap, block);
            block = rest;
        }
        if (block != MV_NO_ROW) {
            uint32_t rest = size < end - at ? mv_replay_block_cut(heap, block, size) : MV_NO_ROW;
            occupy(st, block, st->alloc);
            block = rest;
        }
    }
    if (block != MV_NO_ROW)
        mv_replay_block_settle(heap, block);
}

/* Returns the lowest address in the trace that belongs to this address space, which is taken as the
 * start of the space. */
static uint64_t space_start(mv_replay_heap *heap, const mv_replay_script *script, uint32_t segment)
{
    const mv_segment_lives *s = &script->lives->segments;
    uint64_t start = s->addr[segment];

    heap->work += s->count;
    if (mv_replay_is_endless(heap))
        return start;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->is_expandable[i] &&
            mv_replay_stream(script, s->stream[i]) ==
                mv_replay_stream(script, s->stream[segment]) &&
            pool_of_segment(script, i) == pool_of_segment(script, segment) && s->addr[i] < start &&
            s->addr[segment] - s->addr[i] < MV_RESERVATION)
            start = s->addr[i];
    return start;
}

/* Maps a range of an expandable segment. Returns the free block, which is not put into its pool. */
static uint32_t open_range(start_state *st, uint32_t segment, uint64_t size)
{
    const mv_segment_lives *s = &st->script->lives->segments;
    mv_replay_heap *heap = st->heap;
    uint32_t pool = pool_of_segment(st->script, segment), space = MV_NO_ROW;
    uint64_t stream = mv_replay_stream(st->script, s->stream[segment]);
    uint32_t order = mv_replay_order_find(heap, pool, stream);

    if (order != MV_NO_ROW)
        space = mv_replay_unmapped_until(heap, order, s->addr[segment]);
    if (space == MV_NO_ROW ||
        s->addr[segment] - heap->blocks[space].addr >= heap->blocks[space].size)
        space = mv_replay_reserve(heap, pool, stream, space_start(heap, st->script, segment));
    return mv_replay_map_at(heap, space, s->addr[segment], size);
}

static uint32_t open_segment(start_state *st, uint32_t segment, uint64_t size)
{
    const mv_segment_lives *s = &st->script->lives->segments;
    mv_driver_place place;

    if (size == 0 || s->addr[segment] > UINT64_MAX - size)
        return MV_NO_ROW;
    if (s->is_expandable[segment])
        return open_range(st, segment, size);
    place = mv_replay_driver_adopt(&st->heap->driver, s->addr[segment], size);
    mv_replay_note_effect(st->heap, MV_ACTION_SEGMENT_ALLOC, s->addr[segment], size);
    return mv_replay_segment_new(st->heap, pool_of_segment(st->script, segment),
                                 mv_replay_stream(st->script, s->stream[segment]), s->addr[segment],
                                 size, place.home);
}

/* Returns the rows of the segments before the first event, sorted by address. */
static mv_key_row *segments_before(const mv_replay_script *script, mv_arena *arena, uint32_t *count)
{
    const mv_segment_lives *s = &script->lives->segments;
    mv_key_row *rows = mv_push_array(arena, mv_key_row, s->count);

    *count = 0;
    for (uint32_t i = 0; rows && i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            rows[(*count)++] = (mv_key_row){s->addr[i], i};
    if (rows)
        mv_sort_rows(arena, rows, *count, MV_RISING(mv_key_row, key));
    return rows;
}

/* Returns the number of bytes, starting at rows[*at], that one block may fill, because adjoining
 * mapped ranges count as one. Moves *at to the last of these rows. */
static uint64_t run_of(const mv_replay_script *script, const mv_key_row *rows, uint32_t count,
                       uint32_t *at)
{
    const mv_segment_lives *s = &script->lives->segments;
    uint32_t first = rows[*at].row;
    uint64_t size = s->size[first];

    while (*at + 1 < count) {
        uint32_t next = rows[*at + 1].row;
        if (!s->is_expandable[first] || !s->is_expandable[next] ||
            s->addr[next] != s->addr[first] + size || s->stream[next].row != s->stream[first].row ||
            pool_of_segment(script, next) != pool_of_segment(script, first))
            break;
        size += s->size[next];
        ++*at;
    }
    return size;
}

void mv_replay_start_as_recorded(const mv_replay_script *script, mv_replay_heap *heap,
                                 mv_block_rows *block_of)
{
    const mv_alloc_lives *a = &script->lives->allocs;
    start_state st = {.script = script, .heap = heap, .block_of = block_of};
    uint32_t count;
    mv_key_row *rows = segments_before(script, heap->arena, &count);

    heap->out_of_memory = heap->out_of_memory || !rows;
    for (uint32_t i = 0; i < count && !heap->out_of_memory; i++) {
        uint32_t segment = rows[i].row, block;
        while (st.alloc < a->preexisting && a->addr[st.alloc] < rows[i].key)
            st.alloc++; /* skipped: the allocation is outside all segments */
        block = open_segment(&st, segment, run_of(script, rows, count, &i));
        if (block != MV_NO_ROW)
            fill_segment(&st, block);
    }
    mv_replay_raise_peaks(heap);
    heap->effect_count = 0;
    heap->counts = (mv_replay_counts){0};
}

void mv_replay_start_anew(const mv_replay_script *script, mv_replay_heap *heap,
                          mv_block_rows *block_of)
{
    const mv_alloc_lives *a = &script->lives->allocs;
    const mv_segment_lives *s = &script->lives->segments;

    for (uint32_t i = 0; i < a->preexisting && !heap->out_of_memory; i++) {
        uint32_t segment = a->segment[i], block;
        mv_stream_id stream = segment == MV_NO_ROW ? (mv_stream_id){0} : s->stream[segment];
        uint64_t bytes = script->start_bytes ? script->start_bytes[i] : a->requested[i];
        if (bytes == 0)
            continue;
        block = mv_replay_malloc(heap, bytes, mv_replay_stream(script, stream),
                                 mv_replay_pool_id(script, i), true);
        if (block == MV_NO_ROW)
            continue;
        heap->out_of_memory |= !mv_block_rows_set(block_of, i, block);
        heap->blocks[block].owner = i;
        if (mv_alloc_was_pending(script->lives, i))
            mv_replay_request_free(heap, block);
    }
    heap->effect_count = 0;
    heap->counts = (mv_replay_counts){0};
}
