#include "analyze/levels/heap_blocks.h"

#include "base/grow.h"
#include "base/text.h"

/* Block sizes at or above this limit are invalid: no device has this much memory, and sums of valid
 * sizes cannot overflow. */
#define MOST_BYTES ((uint64_t)1 << MV_LIVE_SIZE_BITS)

void mv_heaps_init(mv_heaps *heaps, mv_arena *arena, const mv_trace *trace)
{
    *heaps = (mv_heaps){.calls = &trace->heap_calls,
                        .arena = arena,
                        .by_addr.arena = arena,
                        .by_name.arena = arena,
                        .free_blocks = MV_NO_ROW};
}

void mv_heaps_drop(mv_heaps *heaps)
{
    mv_arena_drop(heaps->arena, heaps->by_addr.slots);
    mv_arena_drop(heaps->arena, heaps->by_name.slots);
    mv_arena_drop(heaps->arena, heaps->sums);
    mv_arena_drop(heaps->arena, heaps->blocks);
}

/* Returns the row of the heap with this name, which is added if needed; MV_NO_ROW when out of
 * memory. */
static uint32_t heap_named(mv_heaps *h, mv_string_id name)
{
    uint32_t at = mv_map_find(&h->by_name, name.row);

    if (at != MV_NOT_IN_MAP)
        return at;
    if (!mv_append(h->arena, h->sums, h->count, h->capacity,
                   (mv_heap_sum){.name = name, .first = MV_NO_ROW}) ||
        !mv_map_put(&h->by_name, name.row, h->count - 1))
        return MV_NO_ROW;
    return h->count - 1;
}

/* Returns the block at an address that belongs to `heap` or, for MV_NO_ROW, to any heap. */
static uint32_t block_at(const mv_heaps *h, uint32_t heap, uint64_t address)
{
    uint32_t at = mv_map_find(&h->by_addr, address);

    while (at != MV_NO_ROW && heap != MV_NO_ROW && h->blocks[at].heap != heap)
        at = h->blocks[at].below;
    return at;
}

static uint32_t new_row(mv_heaps *h)
{
    uint32_t at = h->free_blocks;

    if (at != MV_NO_ROW) {
        h->free_blocks = h->blocks[at].next;
        return at;
    }
    if (!mv_room(h->arena, h->blocks, h->blocks_used, h->blocks_capacity))
        return MV_NO_ROW;
    return h->blocks_used++;
}

/* Adds a block. `maker` is the call that allocated the block, which is earlier than `call` for a
 * resize. */
static bool gain(mv_heaps *h, uint32_t call, uint32_t heap, uint32_t maker)
{
    mv_heap_sum *sum = &h->sums[heap];
    uint64_t address = h->calls->addr[call], bytes = h->calls->size[call];
    uint32_t at = new_row(h);
    mv_heap_block *block;

    if (at == MV_NO_ROW)
        return false;
    block = &h->blocks[at];
    *block = (mv_heap_block){.address = address,
                             .bytes = bytes < MOST_BYTES ? bytes : 0,
                             .name = sum->name,
                             .heap = heap,
                             .call = maker,
                             .prev = MV_NO_ROW,
                             .next = sum->first,
                             .below = mv_map_find(&h->by_addr, address),
                             .device = h->calls->device[maker] < 0 ? 0 : h->calls->device[maker]};
    if (!mv_map_put(&h->by_addr, address, at))
        return false;
    if (block->next != MV_NO_ROW)
        h->blocks[block->next].prev = at;
    sum->first = at;
    sum->held++;
    sum->held_bytes += block->bytes;
    if (sum->held_bytes > sum->peak_bytes)
        sum->peak_bytes = sum->held_bytes;
    sum->odd_sizes += block->bytes == 0;
    if (h->watch && block->bytes)
        h->watch(h->user, block, call, true);
    return true;
}

/* Removes the block from the chain of blocks at its address. Returns false when out of memory. */
static bool unchain(mv_heaps *h, uint32_t at)
{
    uint64_t address = h->blocks[at].address;
    uint32_t above = mv_map_find(&h->by_addr, address);

    if (above == at) {
        if (h->blocks[at].below != MV_NO_ROW)
            return mv_map_put(&h->by_addr, address, h->blocks[at].below);
        mv_map_take(&h->by_addr, address);
        return true;
    }
    while (h->blocks[above].below != at)
        above = h->blocks[above].below;
    h->blocks[above].below = h->blocks[at].below;
    return true;
}

static bool lose(mv_heaps *h, uint32_t call, uint32_t at)
{
    mv_heap_block *block = &h->blocks[at];
    mv_heap_sum *sum = &h->sums[block->heap];

    if (h->watch && block->bytes)
        h->watch(h->user, block, call, false);
    sum->held--;
    sum->held_bytes -= block->bytes;
    if (block->prev != MV_NO_ROW)
        h->blocks[block->prev].next = block->next;
    else
        sum->first = block->next;
    if (block->next != MV_NO_ROW)
        h->blocks[block->next].prev = block->prev;
    if (!unchain(h, at))
        return false;
    block->next = h->free_blocks;
    h->free_blocks = at;
    return true;
}

static bool apply_alloc(mv_heaps *h, uint32_t call, uint32_t heap)
{
    uint32_t before = block_at(h, heap, h->calls->addr[call]);

    h->sums[heap].allocs++;
    h->sums[heap].doubles += before != MV_NO_ROW;
    return (before == MV_NO_ROW || lose(h, call, before)) && gain(h, call, heap, call);
}

/* Applies a free or a resize. */
static bool apply_loss(mv_heaps *h, uint32_t call, uint32_t heap, bool is_resize)
{
    uint32_t at = block_at(h, heap, h->calls->addr[call]), maker;

    if (at == MV_NO_ROW) {
        ++*(heap == MV_NO_ROW ? &h->lone_frees : &h->sums[heap].lone_frees);
        return true;
    }
    heap = h->blocks[at].heap;
    maker = h->blocks[at].call;
    h->sums[heap].frees += !is_resize;
    return lose(h, call, at) && (!is_resize || gain(h, call, heap, maker));
}

static bool apply_reset(mv_heaps *h, uint32_t call, uint32_t heap)
{
    while (h->sums[heap].first != MV_NO_ROW) {
        h->sums[heap].frees++;
        if (!lose(h, call, h->sums[heap].first))
            return false;
    }
    return true;
}

bool mv_heaps_apply(mv_heaps *heaps, uint32_t call)
{
    mv_string_id name = heaps->calls->heap[call];
    uint32_t heap = name.row == MV_NO_ROW ? MV_NO_ROW : heap_named(heaps, name);

    if (heap == MV_NO_ROW && name.row != MV_NO_ROW)
        return false;
    switch ((mv_heap_action)heaps->calls->action[call]) {
    case MV_HEAP_ALLOC:
        return heap == MV_NO_ROW || apply_alloc(heaps, call, heap);
    case MV_HEAP_RESET:
        return heap == MV_NO_ROW || apply_reset(heaps, call, heap);
    case MV_HEAP_FREE:
        return apply_loss(heaps, call, heap, false);
    case MV_HEAP_RESIZE:
        return apply_loss(heaps, call, heap, true);
    default:
        return true;
    }
}

mv_code mv_heaps_find(mv_arena *arena, const mv_trace *trace, mv_heaps *out, mv_err *err)
{
    mv_heaps_init(out, arena, trace);
    for (uint32_t i = 0; i < trace->heap_calls.count; i++)
        if (!mv_heaps_apply(out, i))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "heaps");
    return MV_OK;
}

const char *mv_heap_doubts(const mv_heap_sum *heap, char words[MV_HEAP_WORDS])
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } doubts[] = {
        {heap->lone_frees, "free of an unknown block", "frees of unknown blocks"},
        {heap->doubles, "block allocated twice", "blocks allocated twice"},
        {heap->odd_sizes, "size of 0 or too large for any device",
         "sizes of 0 or too large for any device"},
    };

    words[0] = 0;
    for (unsigned i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (doubts[i].count)
            mv_text_append(words, MV_HEAP_WORDS, "%s%llu %s", *words ? ", " : "",
                           (unsigned long long)doubts[i].count,
                           doubts[i].count == 1 ? doubts[i].one : doubts[i].many);
    return words;
}
