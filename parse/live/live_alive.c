#include "parse/live/live_alive.h"

#include "base/grow.h"

/* The effect of a call on the object that its key identifies: the call makes or ends the object. */
typedef struct {
    uint8_t key; /* mv_live_alive_key; MV_ALIVE_KEYS: none */
    bool is_by_handle, makes, ends;
    uint8_t ended_by; /* action that ends the object, if this call makes it */
} effect;

#define MAKES(what, by_handle, ended_by)                           \
    {                                                              \
        MV_ALIVE_##what, by_handle, true, false, MV_API_##ended_by \
    }
#define ENDS(what, by_handle)                      \
    {                                              \
        MV_ALIVE_##what, by_handle, false, true, 0 \
    }

/* Actions without a row make no object that is kept. */
static const effect effects[MV_API_ACTION_COUNT] = {
    [MV_API_ALLOC] = MAKES(ADDR, false, FREE),
    [MV_API_FREE] = ENDS(ADDR, false),
    [MV_API_ALLOC_ASYNC] = MAKES(ADDR, false, FREE_ASYNC),
    [MV_API_FREE_ASYNC] = ENDS(ADDR, false),
    [MV_API_ALLOC_MANAGED] = MAKES(ADDR, false, FREE),
    [MV_API_ALLOC_ARRAY] = MAKES(ARRAY, true, FREE_ARRAY),
    [MV_API_FREE_ARRAY] = ENDS(ARRAY, true),
    [MV_API_ALLOC_HOST] = MAKES(ADDR, false, FREE_HOST),
    [MV_API_FREE_HOST] = ENDS(ADDR, false),
    [MV_API_REGISTER] = MAKES(ADDR, false, UNREGISTER),
    [MV_API_UNREGISTER] = ENDS(ADDR, false),
    [MV_API_RESERVE] = MAKES(RESERVATION, false, UNRESERVE),
    [MV_API_UNRESERVE] = ENDS(RESERVATION, false),
    [MV_API_CREATE] = MAKES(HANDLE, true, RELEASE),
    [MV_API_RELEASE] = ENDS(HANDLE, true),
    [MV_API_RETAIN] = MAKES(HANDLE, true, RELEASE),
    [MV_API_IMPORT] = MAKES(HANDLE, true, RELEASE),
    [MV_API_MAP] = MAKES(MAPPING, false, UNMAP),
    [MV_API_UNMAP] = ENDS(MAPPING, false),
    [MV_API_OPEN] = MAKES(ADDR, false, CLOSE),
    [MV_API_CLOSE] = ENDS(ADDR, false),
    [MV_API_POOL_CREATE] = MAKES(POOL, true, POOL_DESTROY),
    [MV_API_POOL_DESTROY] = ENDS(POOL, true),
    [MV_API_LOAD] = MAKES(LOAD, true, UNLOAD),
    [MV_API_UNLOAD] = ENDS(LOAD, true),
    [MV_API_OBJECT_CREATE] = MAKES(OBJECT, true, OBJECT_DESTROY),
    [MV_API_OBJECT_DESTROY] = ENDS(OBJECT, true),
};

void mv_live_alive_init(mv_arena *arena, mv_live_alive *out)
{
    *out = (mv_live_alive){.arena = arena, .spare = MV_NOT_IN_MAP};
    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++)
        out->blocks[i].arena = arena;
    for (uint32_t i = 0; i < MV_ALIVE_KEYS; i++)
        out->by[i].arena = arena;
    for (uint32_t i = 0; i < MV_LIVE_ALIVE_PINNED; i++)
        out->pinned_row[i] = MV_NOT_IN_MAP;
}

uint32_t mv_live_alive_list(const mv_live_record *r)
{
    if (r->device_type == 0)
        return MV_LIVE_CPU;
    return r->device >= 0 && r->device < MV_LIVE_CPU ? (uint32_t)r->device : MV_NO_ROW;
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool keep(mv_live_alive *a, const mv_live_record *r, uint32_t *row)
{
    mv_live_alive_row made = {.record = *r,
                              .sequence = r->sequence,
                              .launches = a->launches,
                              .waits = a->waits,
                              .outer = MV_NOT_IN_MAP,
                              .is_used = true};

    *row = a->spare;
    if (*row != MV_NOT_IN_MAP)
        a->spare = a->rows[*row].outer;
    else if (mv_append(a->arena, a->rows, a->count, a->capacity, (mv_live_alive_row){0}))
        *row = a->count - 1;
    else
        return false;
    a->rows[*row] = made;
    a->newest = *row;
    a->kept++;
    return true;
}

static void drop(mv_live_alive *a, uint32_t row)
{
    a->rows[row] = (mv_live_alive_row){.outer = a->spare};
    a->spare = row;
    a->kept--;
}

/* Keeps the record as the newest record with its key. If `hides` is set, an older record with this
 * key stays below the new record; otherwise the older record is dropped. */
static bool hold(mv_live_alive *a, mv_map *map, uint64_t key, const mv_live_record *r, bool hides)
{
    uint32_t older = mv_map_find(map, key), row;

    if (!keep(a, r, &row) || !mv_map_put(map, key, row))
        return false;
    if (hides)
        a->rows[row].outer = older;
    else if (older != MV_NOT_IN_MAP)
        drop(a, older);
    return true;
}

/* Drops the newest record with a key. Returns the record's size; 0 if there is none. */
static uint64_t end(mv_live_alive *a, mv_map *map, uint64_t key)
{
    uint32_t row = mv_map_take(map, key), outer;
    uint64_t size;

    if (row == MV_NOT_IN_MAP)
        return 0;
    size = a->rows[row].record.size;
    outer = a->rows[row].outer;
    drop(a, row);
    if (outer != MV_NOT_IN_MAP)
        mv_map_put(map, key, outer); /* cannot fail, because the slot was just emptied */
    return size;
}

/* ---- records ----------------------------------------------------------------------------- */

static bool add_block(mv_live_alive *a, const mv_live_record *r)
{
    uint32_t list = mv_live_alive_list(r), old;

    if (list == MV_NO_ROW)
        return true;
    if (r->kind == MV_LIVE_EVENT_TOTALS) {
        a->reserved[list] = r->reserved;
        return true;
    }
    if (r->kind == MV_LIVE_EVENT_FREE) {
        a->allocated[list] -= end(a, &a->blocks[list], r->addr);
        return true;
    }
    old = mv_map_find(&a->blocks[list], r->addr);
    if (old != MV_NOT_IN_MAP)
        a->allocated[list] -= a->rows[old].record.size;
    a->allocated[list] += r->size;
    return hold(a, &a->blocks[list], r->addr, r, false);
}

/* Drops the mappings that an unmap call ends. One call may end several pieces that were mapped
 * separately. */
static void end_mappings(mv_live_alive *a, const mv_live_record *r)
{
    uint64_t found = 0, size;

    while (found < r->size && (size = end(a, &a->by[MV_ALIVE_MAPPING], r->addr + found)))
        found += size;
}

static bool add_call(mv_live_alive *a, const mv_live_record *r)
{
    const effect *e = &effects[r->action];
    uint64_t key = e->is_by_handle ? r->number : r->addr;
    uint32_t row;

    if (r->result != 0)
        return true;
    if (r->action == MV_API_CONTEXT_CREATE || r->action == MV_API_CONTEXT_DESTROY)
        return keep(a, r, &row);
    if (r->action == MV_API_UNMAP)
        end_mappings(a, r);
    else if (e->ends)
        end(a, &a->by[e->key], key);
    return !e->makes || hold(a, &a->by[e->key], key, r, r->action == MV_API_RETAIN);
}

/* Returns the row of the heap's block at an address; for heap 0, the newest block of any heap.
 * Blocks of several heaps may begin at the same address, so *above is set to the row that hides the
 * block. */
static uint32_t find_heap_block(const mv_live_alive *a, uint64_t heap, uint64_t addr,
                                uint32_t *above)
{
    uint32_t row = mv_map_find(&a->by[MV_ALIVE_HEAP], addr);

    *above = MV_NOT_IN_MAP;
    while (row != MV_NOT_IN_MAP && heap && a->rows[row].record.text != heap) {
        *above = row;
        row = a->rows[row].outer;
    }
    return row;
}

static void end_heap_block(mv_live_alive *a, uint32_t row, uint32_t above)
{
    if (above == MV_NOT_IN_MAP) {
        end(a, &a->by[MV_ALIVE_HEAP], a->rows[row].record.addr);
        return;
    }
    a->rows[above].outer = a->rows[row].outer;
    drop(a, row);
}

static void reset_heap(mv_live_alive *a, uint64_t heap)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const mv_live_record *r = &a->rows[i].record;
        uint32_t row, above;
        if (!a->rows[i].is_used || r->kind != MV_LIVE_EVENT_HEAP || r->text != heap)
            continue;
        row = find_heap_block(a, heap, r->addr, &above);
        if (row != MV_NOT_IN_MAP)
            end_heap_block(a, row, above);
    }
}

/* Adds a call about a heap. A resize counts as a free, followed by an allocation with the same
 * stack. */
static bool add_heap(mv_live_alive *a, const mv_live_record *r)
{
    uint32_t above, row = find_heap_block(a, r->text, r->addr, &above);
    mv_live_record made = *r;

    if (r->action == MV_HEAP_RESET)
        reset_heap(a, r->text);
    if (r->action < MV_HEAP_ALLOC || r->action > MV_HEAP_RESIZE ||
        (row == MV_NOT_IN_MAP && r->action != MV_HEAP_ALLOC))
        return true;
    if (r->action == MV_HEAP_RESIZE) {
        made = a->rows[row].record;
        made.sequence = r->sequence;
        made.time_us = r->time_us;
        made.size = r->size;
    }
    if (row != MV_NOT_IN_MAP)
        end_heap_block(a, row, above);
    return r->action == MV_HEAP_FREE || hold(a, &a->by[MV_ALIVE_HEAP], r->addr, &made, true);
}

/* Adds a mark. A new pinned mark replaces the previous mark with the same string, which becomes an
 * ordinary mark. */
static bool add_mark(mv_live_alive *a, const mv_live_record *r)
{
    uint32_t row, swapped, *place;

    if (!keep(a, r, &row))
        return false;
    for (uint32_t i = 0; i < MV_LIVE_ALIVE_PINNED; i++)
        if (a->pinned[i] && a->pinned[i] == r->text) {
            swapped = a->pinned_row[i];
            a->pinned_row[i] = row;
            row = swapped;
        }
    if (row == MV_NOT_IN_MAP)
        return true;
    place = &a->marks[a->mark_count % MV_LIVE_ALIVE_MARKS];
    if (a->mark_count >= MV_LIVE_ALIVE_MARKS)
        drop(a, *place);
    *place = row;
    a->mark_count++;
    return true;
}

static bool add_range(mv_live_alive *a, const mv_live_record *r)
{
    switch (r->kind) {
    case MV_LIVE_EVENT_PUSH:
        return hold(a, &a->by[MV_ALIVE_THREAD], r->thread, r, true);
    case MV_LIVE_EVENT_BEGIN:
        return hold(a, &a->by[MV_ALIVE_RANGE], r->number, r, false);
    case MV_LIVE_EVENT_POP:
        end(a, &a->by[MV_ALIVE_THREAD], r->thread);
        return true;
    case MV_LIVE_EVENT_END:
        end(a, &a->by[MV_ALIVE_RANGE], r->number);
        return true;
    default:
        return true;
    }
}

/* Adds a count that belongs to the last call. The counts of a call are in the records after the
 * call. */
static bool add_clock(mv_live_alive *a, const mv_live_record *r)
{
    if (r->kind == MV_LIVE_EVENT_LAUNCHES && r->number > a->launches)
        a->launches = r->number;
    if (r->kind == MV_LIVE_EVENT_COUNT && r->action == MV_LIVE_COUNT_WAITS && r->number > a->waits)
        a->waits = r->number;
    if (a->newest < a->count && a->rows[a->newest].sequence == r->sequence) {
        a->rows[a->newest].launches = a->launches;
        a->rows[a->newest].waits = a->waits;
    }
    return true;
}

bool mv_live_alive_add(mv_live_alive *a, const mv_live_record *r)
{
    uint32_t row;

    a->seen += !mv_live_is_beside(r->kind);
    switch (r->kind) {
    case MV_LIVE_EVENT_BLOCK:
    case MV_LIVE_EVENT_FREE:
    case MV_LIVE_EVENT_TOTALS:
        return add_block(a, r);
    case MV_LIVE_EVENT_OOM:
        return keep(a, r, &row);
    case MV_LIVE_EVENT_CALL:
        return add_call(a, r);
    case MV_LIVE_EVENT_HEAP:
        return add_heap(a, r);
    case MV_LIVE_EVENT_MARK:
        return add_mark(a, r);
    case MV_LIVE_EVENT_LAUNCHES:
    case MV_LIVE_EVENT_COUNT:
        return add_clock(a, r);
    default:
        return add_range(a, r);
    }
}

bool mv_live_alive_ending(const mv_live_record *made, mv_live_record *out)
{
    *out = *made;
    switch (made->kind) {
    case MV_LIVE_EVENT_BLOCK:
        out->kind = MV_LIVE_EVENT_FREE;
        return true;
    case MV_LIVE_EVENT_HEAP:
        out->action = MV_HEAP_FREE;
        return true;
    case MV_LIVE_EVENT_CALL:
        out->action = effects[made->action].ended_by;
        return effects[made->action].makes;
    default:
        return false;
    }
}
