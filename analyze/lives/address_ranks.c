#include "analyze/lives/address_ranks.h"

#include "analyze/lives/lives.h"

enum { FIRST_SLOTS = 4096, DIGITS = 256, AHEAD = 12 };

typedef struct {
    uint64_t addr;
    uint32_t id; /* in order of discovery */
} known_address;

/* Open addressing, at most half full. An empty slot has id MV_NO_ROW. */
typedef struct {
    mv_arena *scratch;
    known_address *slots;
    uint64_t mask;
    known_address *found; /* [count] */
    uint64_t capacity;
    uint32_t count;
    mv_code code;
} address_table;

static uint64_t slot_of(const address_table *t, uint64_t addr)
{
    uint64_t h = addr * UINT64_C(0x9e3779b97f4a7c15);
    return (h ^ h >> 32) & t->mask;
}

static bool resize(address_table *t, uint64_t slots)
{
    known_address *fresh = mv_arena_grow(t->scratch, NULL, slots * sizeof *fresh);

    if (!fresh)
        return false;
    mv_arena_drop(t->scratch, t->slots);
    t->slots = fresh;
    t->mask = slots - 1;
    for (uint64_t i = 0; i < slots; i++)
        fresh[i].id = MV_NO_ROW;
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t at = slot_of(t, t->found[i].addr);
        while (fresh[at].id != MV_NO_ROW)
            at = (at + 1) & t->mask;
        fresh[at] = t->found[i];
    }
    return true;
}

static bool make_room(address_table *t)
{
    if (t->count >= t->capacity) {
        uint64_t capacity = t->capacity ? t->capacity * 2 : FIRST_SLOTS;
        known_address *found = mv_arena_grow(t->scratch, t->found, capacity * sizeof *found);
        if (!found)
            return false;
        t->found = found;
        t->capacity = capacity;
    }
    return ((uint64_t)t->count + 1) * 2 <= t->mask || resize(t, (t->mask + 1) * 2);
}

/* The id of an address, new or known. */
static uint32_t address_id(address_table *t, uint64_t addr)
{
    uint64_t at = slot_of(t, addr);

    while (t->slots[at].id != MV_NO_ROW) {
        if (t->slots[at].addr == addr)
            return t->slots[at].id;
        at = (at + 1) & t->mask;
    }
    if (t->code != MV_OK)
        return 0;
    if (t->count >= MV_NO_ROW - 1) {
        t->code = MV_LIMIT;
        return 0;
    }
    if (!make_room(t)) {
        t->code = MV_NOMEM;
        return 0;
    }
    at = slot_of(t, addr);
    while (t->slots[at].id != MV_NO_ROW)
        at = (at + 1) & t->mask;
    t->found[t->count] = (known_address){addr, t->count};
    t->slots[at] = t->found[t->count];
    return t->count++;
}

/* Ids of the events' addresses into `of_event`, which holds ids until they are ranked. */
static void add_events(address_table *t, const mv_events *ev, mv_address_ranks *out)
{
    for (uint32_t i = 0; i < ev->count; i++) {
        bool is_segment = mv_is_segment_action(ev->action[i]);
        if (i + AHEAD < ev->count && ev->action[i + AHEAD] != MV_ACTION_FREE_COMPLETED)
            __builtin_prefetch(&t->slots[slot_of(t, ev->addr[i + AHEAD])]);
        out->of_event[i] = MV_NO_ROW;
        if (ev->addr[i] == MV_NO_BYTES || (!is_segment && !mv_is_block_action(ev->action[i])))
            continue;
        if (i > 0 && ev->addr[i] == ev->addr[i - 1] && out->of_event[i - 1] != MV_NO_ROW)
            out->of_event[i] = out->of_event[i - 1]; /* the two events of a free */
        else
            out->of_event[i] = address_id(t, ev->addr[i]);
        if (is_segment) {
            address_id(t, mv_range_end(ev->addr[i], ev->size[i]));
            out->segment_events++;
        }
    }
}

static void add_heap(address_table *t, const mv_trace *trace, uint32_t device)
{
    const mv_segments *s = &trace->segments;
    const mv_blocks *b = &trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int64_t)device || s->address[i] == MV_NO_BYTES)
            continue;
        address_id(t, s->address[i]);
        address_id(t, mv_range_end(s->address[i], s->total_size[i]));
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            if (mv_block_is_active(trace, k) && b->address[k] != MV_NO_BYTES)
                address_id(t, b->address[k]);
    }
}

/* Sorts by address, byte by byte from the lowest; a byte that is equal in all rows is only counted.
 * The result is in `*rows`; `*spare` is swapped with it as needed. */
static void sort_addresses(known_address **rows, known_address **spare, uint32_t count)
{
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        uint32_t start[DIGITS + 1] = {0};
        known_address *swap;

        for (uint32_t i = 0; i < count; i++)
            start[((*rows)[i].addr >> shift & 0xff) + 1]++;
        if (start[((*rows)[0].addr >> shift & 0xff) + 1] == count)
            continue;
        for (uint32_t d = 1; d <= DIGITS; d++)
            start[d] += start[d - 1];
        for (uint32_t i = 0; i < count; i++)
            (*spare)[start[(*rows)[i].addr >> shift & 0xff]++] = (*rows)[i];
        swap = *rows;
        *rows = *spare;
        *spare = swap;
    }
}

static mv_code rank_places(mv_arena *arena, address_table *t, const mv_events *ev,
                           mv_address_ranks *out, mv_err *err)
{
    known_address *spare =
        mv_arena_grow(t->scratch, NULL, ((uint64_t)t->count + 1) * sizeof *spare);
    uint32_t *rank = mv_push_array(t->scratch, uint32_t, t->count);

    out->count = t->count;
    out->addr = mv_push_array(arena, uint64_t, t->count);
    if (!spare || !rank || !out->addr)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u addresses", t->count);
    if (t->count)
        sort_addresses(&t->found, &spare, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        out->addr[i] = t->found[i].addr;
        rank[t->found[i].id] = i;
    }
    for (uint32_t i = 0; i < ev->count; i++)
        if (out->of_event[i] != MV_NO_ROW)
            out->of_event[i] = rank[out->of_event[i]];
    return MV_OK;
}

mv_code mv_address_ranks_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              mv_address_ranks *out, mv_err *err)
{
    mv_events ev = mv_trace_events(trace, device);
    mv_arena scratch;
    address_table t = {.scratch = &scratch, .code = MV_OK};
    mv_code code;

    *out = (mv_address_ranks){0};
    mv_arena_init(&scratch, arena->budget);
    out->of_event = mv_push_array(arena, uint32_t, ev.count);
    if (!out->of_event || !resize(&t, FIRST_SLOTS))
        t.code = MV_NOMEM;
    if (t.code == MV_OK)
        add_events(&t, &ev, out);
    if (t.code == MV_OK)
        add_heap(&t, trace, device);
    if (t.code == MV_OK)
        code = rank_places(arena, &t, &ev, out, err);
    else
        code = mv_fail(err, t.code, MV_NO_OFFSET, "addresses of device %u", device);
    mv_arena_release(&scratch);
    return code;
}

uint32_t mv_address_rank(const mv_address_ranks *ranks, uint64_t addr)
{
    uint32_t low = 0, high = ranks->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranks->addr[middle] < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
