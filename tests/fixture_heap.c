#include "tests/fixture_heap.h"

#include <criterion/criterion.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { MOST_BLOCKS = 1 << 14, EVENTS_A_CALL = 48 };

typedef enum { FREE, USED, PENDING, UNMAPPED } state;

/* Blocks of all segments, by address. Those of one segment (or reservation) tile it. */
typedef struct {
    uint64_t addr, size;
    uint32_t segment;
    uint32_t alloc; /* row of truth.allocs when USED or PENDING */
    state state;
    bool small;
} block;

typedef struct {
    mvt_trace *t;
    mvt_heap_opts opts;
    mvt_heap_truth truth;
    mv_levels now;
    bool recording;
    uint32_t random;
    uint32_t segments;
    uint64_t next_addr;
    block *blocks; /* [count] */
    uint32_t count;
} heap;

static uint32_t draw(heap *h, uint32_t below)
{
    h->random = h->random * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(h->random >> 8) * below >> 24);
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint32_t emit(heap *h, mv_action action, uint64_t addr, uint64_t bytes)
{
    if (!h->recording)
        return MV_BEFORE;
    mvt_event(h->t, action, (mvt_event_args){.addr = addr, .bytes = bytes});
    h->truth.levels[h->truth.events] = h->now;
    return h->truth.events++;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static uint32_t insert(heap *h, block b)
{
    uint32_t at = h->count;

    cr_assert_lt(h->count, MOST_BLOCKS);
    for (; at > 0 && h->blocks[at - 1].addr > b.addr; at--)
        h->blocks[at] = h->blocks[at - 1];
    h->blocks[at] = b;
    h->count++;
    return at;
}

static void take_out(heap *h, uint32_t at)
{
    memmove(&h->blocks[at], &h->blocks[at + 1], (h->count - at - 1) * sizeof *h->blocks);
    h->count--;
}

/* Cuts a block; the upper part is free like the lower. */
static void split(heap *h, uint32_t at, uint64_t size)
{
    block rest = h->blocks[at];

    if (size == rest.size)
        return;
    rest.addr += size;
    rest.size -= size;
    h->blocks[at].size = size;
    insert(h, rest);
}

static bool are_mergeable(const heap *h, uint32_t low, uint32_t high)
{
    const block *a = &h->blocks[low], *b = &h->blocks[high];
    return a->segment == b->segment && a->state == b->state &&
           (a->state == FREE || a->state == UNMAPPED);
}

/* Merges a free block with its neighbours; its new position. */
static uint32_t merge(heap *h, uint32_t at)
{
    if (at + 1 < h->count && are_mergeable(h, at, at + 1)) {
        h->blocks[at].size += h->blocks[at + 1].size;
        take_out(h, at + 1);
    }
    if (at > 0 && are_mergeable(h, at - 1, at)) {
        h->blocks[at - 1].size += h->blocks[at].size;
        take_out(h, at--);
    }
    return at;
}

static uint64_t max_split(const heap *h)
{
    return h->opts.max_split ? h->opts.max_split : UINT64_MAX;
}

/* Smallest free block that suffices, lowest address on ties; -1: none. */
static int find_free(const heap *h, uint64_t size, bool small)
{
    int best = -1;

    for (uint32_t i = 0; i < h->count; i++) {
        const block *b = &h->blocks[i];
        if (b->state == FREE && b->small == small && b->size >= size &&
            (best < 0 || b->size < h->blocks[best].size))
            best = (int)i;
    }
    if (best >= 0 && size < max_split(h) && h->blocks[best].size >= max_split(h))
        return -1;
    if (best >= 0 && size >= max_split(h) && h->blocks[best].size >= size + 20 * MIB)
        return -1;
    return best;
}

/* ---- segments ---------------------------------------------------------------------------- */

static uint32_t new_segment(heap *h, uint64_t size, bool small)
{
    uint64_t bytes = small ? 2 * MIB : size < 10 * MIB ? 20 * MIB : round_up(size, 2 * MIB);
    block b = {.addr = h->next_addr, .size = bytes, .segment = h->segments++, .small = small};

    h->next_addr += bytes + (draw(h, 2) ? 0 : 2 * MIB); /* some stand side by side */
    h->now.reserved += bytes;
    emit(h, MV_ACTION_SEGMENT_ALLOC, b.addr, b.size);
    return insert(h, b);
}

static uint64_t page_of(bool small)
{
    return small ? 2 * MIB : 20 * MIB;
}

static uint32_t map(heap *h, uint32_t at, uint64_t bytes)
{
    uint64_t mapped = round_up(bytes, page_of(h->blocks[at].small));

    cr_assert_leq(mapped, h->blocks[at].size, "reservation is full");
    split(h, at, mapped);
    h->blocks[at].state = FREE;
    h->now.reserved += mapped;
    emit(h, MV_ACTION_SEGMENT_MAP, h->blocks[at].addr, mapped);
    return merge(h, at);
}

static bool is_room(const heap *h, uint32_t at)
{
    return at < h->count && (h->blocks[at].state == FREE || h->blocks[at].state == UNMAPPED);
}

/* First run of free and unmapped blocks of the pool's reservation that is large enough and needs
 * mapping. */
static uint32_t find_run(const heap *h, uint64_t size, bool small)
{
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t start = i;
        uint64_t room = 0;
        if (h->blocks[i].state != UNMAPPED || h->blocks[i].small != small)
            continue;
        if (i > 0 && h->blocks[i - 1].state == FREE &&
            h->blocks[i - 1].segment == h->blocks[i].segment)
            start--;
        for (uint32_t k = start; is_room(h, k) && h->blocks[k].segment == h->blocks[i].segment; k++)
            room += h->blocks[k].size;
        if (room >= size)
            return start;
    }
    cr_assert_fail("reservation is full");
    return 0;
}

static uint32_t grow(heap *h, uint64_t size, bool small)
{
    uint32_t at = find_run(h, size, small);

    if (h->blocks[at].state == UNMAPPED) {
        uint64_t most = h->blocks[at].size;
        at = map(h, at, most < size ? most : size);
    }
    while (h->blocks[at].size < size) {
        uint64_t missing = size - h->blocks[at].size, most = h->blocks[at + 1].size;
        map(h, at + 1, most < missing ? most : missing);
    }
    return at;
}

static void reserve_pools(heap *h)
{
    for (uint32_t i = 0; i < 2; i++) {
        insert(h, (block){.addr = h->next_addr,
                          .size = 8192 * MIB / 20 * 20,
                          .segment = h->segments++,
                          .small = i == 0,
                          .state = UNMAPPED});
        h->next_addr += 16384 * MIB;
    }
}

static uint32_t unmap(heap *h, uint32_t at)
{
    block b = h->blocks[at];
    uint32_t first = at;
    uint64_t page = page_of(b.small), base = b.addr, low, high;

    while (first > 0 && h->blocks[first - 1].segment == b.segment)
        base = h->blocks[--first].addr;
    low = base + round_up(b.addr - base, page);
    high = base + (b.addr + b.size - base) / page * page;
    if (low >= high)
        return at;
    if (low > b.addr)
        split(h, at++, low - b.addr);
    split(h, at, high - low);
    h->blocks[at].state = UNMAPPED;
    h->now.reserved -= high - low;
    emit(h, MV_ACTION_SEGMENT_UNMAP, low, high - low);
    return merge(h, at);
}

static bool is_whole_segment(const heap *h, uint32_t at)
{
    uint32_t segment = h->blocks[at].segment;

    return (at == 0 || h->blocks[at - 1].segment != segment) &&
           (at + 1 == h->count || h->blocks[at + 1].segment != segment);
}

static void complete(heap *h, uint32_t at)
{
    mvt_heap_alloc *a = &h->truth.allocs[h->blocks[at].alloc];

    h->now.active -= a->block;
    h->now.requested -= a->requested;
    a->completed = emit(h, MV_ACTION_FREE_COMPLETED, a->addr, a->requested);
    h->truth.ended_before[h->blocks[at].alloc] = !h->recording;
    h->blocks[at].state = FREE;
    merge(h, at);
}

/* As at the start of a malloc, or all of them as in empty_cache(). */
static void complete_pending(heap *h, bool all)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->blocks[i].state == PENDING && (all || draw(h, 3) == 0)) {
            complete(h, i);
            i = i > 1 ? i - 2 : 0;
        }
}

static void empty_cache(heap *h)
{
    complete_pending(h, true);
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->blocks[i].state != FREE)
            continue;
        if (h->opts.expandable) {
            i = unmap(h, i);
        } else if (is_whole_segment(h, i)) {
            h->now.reserved -= h->blocks[i].size;
            emit(h, MV_ACTION_SEGMENT_FREE, h->blocks[i].addr, h->blocks[i].size);
            take_out(h, i--);
        }
    }
}

/* ---- the workload ------------------------------------------------------------------------ */

static bool splits(const heap *h, uint64_t size, uint64_t rest, bool small)
{
    if (small || h->opts.expandable)
        return rest >= 512;
    return size < max_split(h) && rest > MIB;
}

static void allocate(heap *h, uint64_t requested)
{
    uint64_t size = round_up(requested, 512);
    bool small = size <= MIB;
    uint32_t row = h->truth.count++, at;
    mvt_heap_alloc *a = &h->truth.allocs[row];
    int found;

    complete_pending(h, false);
    found = find_free(h, size, small);
    if (found >= 0)
        at = (uint32_t)found;
    else
        at = h->opts.expandable ? grow(h, size, small) : new_segment(h, size, small);
    if (splits(h, size, h->blocks[at].size - size, small))
        split(h, at, size);
    h->blocks[at].state = USED;
    h->blocks[at].alloc = row;
    *a = (mvt_heap_alloc){h->blocks[at].addr, requested, h->blocks[at].size, 0, MV_NEVER, MV_NEVER};
    h->now.allocated += a->block;
    h->now.active += a->block;
    h->now.requested += requested;
    a->birth = emit(h, MV_ACTION_ALLOC, a->addr, requested);
}

static void release(heap *h, uint32_t at, bool deferred)
{
    mvt_heap_alloc *a = &h->truth.allocs[h->blocks[at].alloc];

    h->now.allocated -= a->block;
    a->freed = h->recording ? h->truth.events : MV_BEFORE;
    emit(h, MV_ACTION_FREE_REQUESTED, a->addr, a->requested);
    h->blocks[at].state = PENDING;
    if (!deferred)
        complete(h, at);
}

static void release_any(heap *h)
{
    uint32_t at = h->count ? draw(h, h->count) : 0;

    for (uint32_t i = 0; i < h->count; i++, at = (at + 1) % h->count)
        if (h->blocks[at].state == USED) {
            release(h, at, draw(h, 8) == 0);
            return;
        }
}

static uint64_t any_request(heap *h)
{
    switch (draw(h, 6)) {
    case 0:
        return 1 + draw(h, 2000);
    case 1:
    case 2:
        return 1 + draw(h, 1 << 20);
    case 3:
        return 1 * MIB + draw(h, 10 << 20);
    case 4:
        return (18 + draw(h, 3)) * MIB - draw(h, 1 << 20); /* near the edge of an unsplit rest */
    default:
        return 10 * MIB + draw(h, 60 << 20);
    }
}

static void make_call(heap *h)
{
    uint32_t kind = draw(h, 100);

    if (kind < 52)
        allocate(h, any_request(h));
    else if (kind < 96)
        release_any(h);
    else if (kind < 98)
        empty_cache(h);
    else
        emit(h, kind == 98 ? MV_ACTION_SNAPSHOT : MV_ACTION_OOM, 0, 1 * MIB);
}

static void drain(heap *h)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->blocks[i].state == USED) {
            release(h, i, false);
            i = i > 1 ? i - 2 : 0;
        }
    empty_cache(h);
}

/* One entry for each cudaMalloc segment or contiguous mapped range. */
static void write_final(heap *h)
{
    static const mv_block_state states[] = {MV_BLOCK_INACTIVE, MV_BLOCK_ALLOCATED,
                                            MV_BLOCK_PENDING_FREE};

    for (uint32_t i = 0, end; i < h->count; i = end) {
        const block *first = &h->blocks[i];
        end = i + 1;
        if (first->state == UNMAPPED)
            continue;
        while (end < h->count && h->blocks[end].segment == first->segment &&
               h->blocks[end].state != UNMAPPED)
            end++;
        mvt_segment(h->t, .addr = first->addr,
                    .bytes = h->blocks[end - 1].addr + h->blocks[end - 1].size - first->addr,
                    .small = first->small, .expandable = h->opts.expandable);
        for (uint32_t k = i; k < end; k++)
            mvt_block(h->t, .bytes = h->blocks[k].size, .state = states[h->blocks[k].state],
                      .requested = h->blocks[k].state == FREE
                                       ? 0
                                       : h->truth.allocs[h->blocks[k].alloc].requested);
    }
}

mvt_heap_truth mvt_heap_run(mvt_trace *t, mvt_heap_opts opts)
{
    mv_arena *arena = mvt_arena(t);
    uint64_t most = (uint64_t)opts.calls * EVENTS_A_CALL;
    heap h = {.t = t, .opts = opts, .random = opts.seed, .next_addr = 0x7f0000000000};

    h.blocks = mv_push_array(arena, block, MOST_BLOCKS + 1);
    h.truth.levels = mv_push_array(arena, mv_levels, most);
    h.truth.allocs = mv_push_array(arena, mvt_heap_alloc, opts.calls);
    h.truth.ended_before = mv_push_array(arena, bool, opts.calls);
    cr_assert(h.blocks && h.truth.levels && h.truth.allocs && h.truth.ended_before);
    if (opts.expandable)
        reserve_pools(&h);
    for (uint32_t i = 0; i < opts.calls; i++) {
        if (i == opts.unrecorded) {
            h.recording = true;
            h.truth.before = h.now;
        }
        cr_assert_lt(h.truth.events, most - 2 * opts.calls);
        make_call(&h);
    }
    if (opts.drains)
        drain(&h);
    write_final(&h);
    mvt_setting_int(t, "max_split_size", opts.max_split ? (int64_t)opts.max_split : -1);
    mvt_setting_int(t, "expandable_segments", opts.expandable);
    return h.truth;
}
