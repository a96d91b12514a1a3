#include "analyze/ledger/holdings.h"

#include "base/grow.h"

static_assert(MV_NOT_IN_MAP == MV_NO_ROW, "a key that is not in a map has no row");

void mv_holdings_init(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace, int32_t device,
                      bool takes_unplaced)
{
    *holdings = (mv_holdings){.trace = trace,
                              .arena = arena,
                              .device = device,
                              .takes_unplaced = takes_unplaced,
                              .by_addr.arena = arena,
                              .by_array.arena = arena,
                              .by_handle.arena = arena,
                              .by_context.arena = arena,
                              .contexts.arena = arena,
                              .of_contexts.arena = arena,
                              .free_lots = MV_NO_ROW};
    mv_gaps_init(&holdings->mapped, arena);
    for (int i = 0; i < MV_LOT_KINDS; i++)
        holdings->first[i] = MV_NO_ROW;
}

void mv_holdings_drop(mv_holdings *holdings)
{
    mv_map *maps[] = {&holdings->by_addr,    &holdings->by_array, &holdings->by_handle,
                      &holdings->by_context, &holdings->contexts, &holdings->of_contexts};

    for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
        mv_arena_drop(holdings->arena, maps[i]->slots);
    mv_arena_drop(holdings->arena, holdings->lots);
    mv_arena_drop(holdings->arena, holdings->mapped.gaps);
}

/* The columns of each action's row that determine its effect on the holdings. */
static const struct {
    uint8_t key, memory;
} actions[MV_API_ACTION_COUNT] = {
#define ROW(name, number, text, way, key, memory) \
    [number] = {MV_API_BY_##key, MV_API_MAKES_##memory},
    MV_API_ACTION_LIST(ROW)
#undef ROW
};

bool mv_is_device_alloc(uint8_t action)
{
    return action < MV_API_ACTION_COUNT && actions[action].memory == MV_API_MAKES_DEVICE;
}

bool mv_is_alloc(uint8_t action)
{
    return action < MV_API_ACTION_COUNT && actions[action].memory != MV_API_MAKES_NONE;
}

bool mv_is_on_host(const mv_api_calls *calls, uint32_t call)
{
    uint8_t action = calls->action[call];
    bool has_place =
        action == MV_API_CREATE || (action == MV_API_ALLOC_ASYNC && calls->handle[call] != 0);

    return has_place && calls->device[call] < 0;
}

/* Returns the device of a call, or a negative number if it is unknown. */
static int32_t device_of(const mv_holdings *h, uint32_t call)
{
    int32_t device = h->trace->api_calls.device[call];

    return device < 0 && h->takes_unplaced ? h->device : device;
}

/* ---- memory of contexts -------------------------------------------------------------------- */

/* Whether memory ends with its context. Created memory has separate handles, and memory from a pool
 * belongs to the device, so both outlive the context. */
static bool is_of_context(const mv_holdings *h, uint32_t call)
{
    uint8_t action = h->trace->api_calls.action[call];

    return actions[action].key != MV_API_BY_HANDLE && action != MV_API_ALLOC_ASYNC &&
           device_of(h, call) >= 0;
}

static uint64_t contexts_key(int32_t device, int kind)
{
    return (uint64_t)device * MV_LOT_KINDS + (unsigned)kind;
}

/* Inserts a lot, whose call and kind are set, before the other lots of its device. Returns false
 * when out of memory. */
static bool join_contexts(mv_holdings *h, uint32_t at)
{
    mv_lot *lot = &h->lots[at];
    uint64_t key;

    lot->newer = lot->older = MV_NO_ROW;
    if (!is_of_context(h, lot->call))
        return true;
    key = contexts_key(device_of(h, lot->call), lot->kind);
    lot->older = mv_map_find(&h->of_contexts, key);
    if (lot->older != MV_NO_ROW)
        h->lots[lot->older].newer = at;
    return mv_map_put(&h->of_contexts, key, at);
}

static void leave_contexts(mv_holdings *h, const mv_lot *lot)
{
    uint64_t key;

    if (lot->older != MV_NO_ROW)
        h->lots[lot->older].newer = lot->newer;
    if (lot->newer != MV_NO_ROW) {
        h->lots[lot->newer].older = lot->older;
        return;
    }
    if (!is_of_context(h, lot->call))
        return;
    key = contexts_key(device_of(h, lot->call), lot->kind);
    if (lot->older == MV_NO_ROW)
        mv_map_take(&h->of_contexts, key);
    else
        mv_map_put(&h->of_contexts, key, lot->older); /* this cannot fail, because the key exists */
}

/* ---- lots -------------------------------------------------------------------------------- */

/* Returns the row of a new lot, which is already in the list of its kind, or MV_NO_ROW when out of
 * memory. */
static uint32_t lot_add(mv_holdings *h, uint32_t call, mv_lot_kind kind, uint64_t key)
{
    uint32_t at = h->free_lots;
    mv_lot *lot;

    if (at != MV_NO_ROW) {
        h->free_lots = h->lots[at].next;
    } else {
        if (!mv_room(h->arena, h->lots, h->lots_used, h->lots_capacity))
            return MV_NO_ROW;
        at = h->lots_used++;
    }
    lot = &h->lots[at];
    *lot = (mv_lot){.call = call,
                    .bytes = h->trace->api_calls.size[call],
                    .key = key,
                    .kind = (uint8_t)kind,
                    .prev = MV_NO_ROW,
                    .next = h->first[kind]};
    if (!join_contexts(h, at))
        return MV_NO_ROW;
    if (lot->next != MV_NO_ROW)
        h->lots[lot->next].prev = at;
    h->first[kind] = at;
    h->held[kind].bytes += lot->bytes;
    h->held[kind].count++;
    if (h->watch)
        h->watch(h->user, lot, at, h->call, true);
    return at;
}

static void lot_remove(mv_holdings *h, uint32_t at)
{
    mv_lot *lot = &h->lots[at];

    if (h->watch)
        h->watch(h->user, lot, at, h->call, false);
    h->held[lot->kind].bytes -= lot->bytes;
    h->held[lot->kind].count--;
    leave_contexts(h, lot);
    if (lot->prev != MV_NO_ROW)
        h->lots[lot->prev].next = lot->next;
    else
        h->first[lot->kind] = lot->next;
    if (lot->next != MV_NO_ROW)
        h->lots[lot->next].prev = lot->prev;
    lot->next = h->free_lots;
    h->free_lots = at;
}

/* ---- allocated memory -------------------------------------------------------------------- */

static bool allocate(mv_holdings *h, mv_map *map, uint32_t call, mv_lot_kind kind, uint64_t key)
{
    uint32_t before = mv_map_take(map, key), at;

    /* the free of the previous allocation was not recorded */
    if (before != MV_NO_ROW)
        lot_remove(h, before);
    at = lot_add(h, call, kind, key);
    return at != MV_NO_ROW && mv_map_put(map, key, at);
}

static void give_back(mv_holdings *h, mv_map *map, uint64_t key)
{
    uint32_t at = mv_map_take(map, key);

    if (at != MV_NO_ROW)
        lot_remove(h, at);
}

/* ---- created memory ---------------------------------------------------------------------- */

static void lot_settle(mv_holdings *h, uint32_t at)
{
    if (h->lots[at].references == 0 && h->lots[at].mapping == 0)
        lot_remove(h, at);
}

static bool create(mv_holdings *h, uint32_t call, mv_lot_kind kind)
{
    uint64_t handle = h->trace->api_calls.handle[call];
    uint32_t before = mv_map_take(&h->by_handle, handle), at;

    if (before != MV_NO_ROW) {
        h->lots[before].references = 0;
        lot_settle(h, before);
    }
    at = lot_add(h, call, kind, handle);
    if (at == MV_NO_ROW)
        return false;
    h->lots[at].references = 1;
    return mv_map_put(&h->by_handle, handle, at);
}

static void release(mv_holdings *h, uint64_t handle)
{
    uint32_t at = mv_map_find(&h->by_handle, handle);

    if (at == MV_NO_ROW)
        return;
    if (--h->lots[at].references == 0) {
        mv_map_take(&h->by_handle, handle);
        lot_settle(h, at);
    }
}

/* Returns the mapped range that contains the address, or MV_NO_GAP. */
static uint32_t mapped_at(const mv_holdings *h, uint64_t addr)
{
    uint32_t range = addr == UINT64_MAX ? MV_NO_GAP : mv_gaps_before(&h->mapped, addr + 1);

    return range != MV_NO_GAP && addr - h->mapped.gaps[range].addr < h->mapped.gaps[range].size
               ? range
               : MV_NO_GAP;
}

/* Returns the mapped range that begins at the address, or MV_NO_GAP. */
static uint32_t mapped_from(const mv_holdings *h, uint64_t addr)
{
    uint32_t range = mv_gaps_at(&h->mapped, addr);

    return range != MV_NO_GAP && h->mapped.gaps[range].addr == addr ? range : MV_NO_GAP;
}

/* Assigns this handle to the memory at an address, because CUDA returns the handle with which the
 * memory was mapped. Any other known handle of the memory becomes invalid, so that handles never
 * outlive their memory. */
static bool name_mapped(mv_holdings *h, uint32_t range, uint64_t handle)
{
    uint32_t at = h->mapped.gaps[range].owner;
    mv_lot *lot = &h->lots[at];

    if (lot->references > 0)
        mv_map_take(&h->by_handle, lot->key);
    lot->key = handle;
    return mv_map_put(&h->by_handle, handle, at);
}

/* Adds a reference to a handle, which is either known or found by an address of its memory. */
static bool retain(mv_holdings *h, uint64_t addr, uint64_t handle)
{
    uint32_t at = mv_map_find(&h->by_handle, handle);
    uint32_t range = at == MV_NO_ROW ? mapped_at(h, addr) : MV_NO_GAP;

    if (range != MV_NO_GAP) {
        at = h->mapped.gaps[range].owner;
        if (!name_mapped(h, range, handle))
            return false;
    }
    if (at != MV_NO_ROW)
        h->lots[at].references++;
    return true;
}

static void unmap_one(mv_holdings *h, uint32_t range)
{
    uint32_t lot = h->mapped.gaps[range].owner;

    mv_gaps_drop(&h->mapped, range);
    h->lots[lot].mapping--;
    lot_settle(h, lot);
}

static bool map(mv_holdings *h, uint64_t addr, uint64_t bytes, uint64_t handle)
{
    uint32_t lot = mv_map_find(&h->by_handle, handle);
    uint32_t range = mapped_from(h, addr);

    if (lot == MV_NO_ROW)
        return true;
    h->lots[lot].mapping++;
    if (range != MV_NO_GAP)
        unmap_one(h, range);
    return mv_gaps_add(&h->mapped, addr, bytes, lot);
}

/* Unmaps a range, which may consist of several mapped ranges without holes between them. */
static void unmap(mv_holdings *h, uint64_t addr, uint64_t bytes)
{
    do {
        uint32_t range = mapped_from(h, addr);
        uint64_t length;
        if (range == MV_NO_GAP)
            return;
        length = h->mapped.gaps[range].size;
        unmap_one(h, range);
        addr += length;
        bytes -= length < bytes ? length : bytes;
    } while (bytes > 0);
}

/* ---- contexts ---------------------------------------------------------------------------- */

static void drop_allocated(mv_holdings *h, int32_t device)
{
    for (int kind = 0; device >= 0 && kind < MV_LOT_KINDS; kind++) {
        uint32_t at;
        while ((at = mv_map_find(&h->of_contexts, contexts_key(device, kind))) != MV_NO_ROW) {
            uint64_t key = h->lots[at].key;
            mv_map_take(mv_map_find(&h->by_addr, key) == at ? &h->by_addr : &h->by_array, key);
            lot_remove(h, at);
        }
    }
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether the call destroys every context of the device, regardless of how the context was
 * created. */
static bool is_reset(const mv_trace *trace, uint32_t call)
{
    const char *api = mv_string_text(trace, trace->api_calls.api[call]);

    return starts_with(api, "cudaDeviceReset") || starts_with(api, "cudaThreadExit") ||
           starts_with(api, "cuDevicePrimaryCtxReset");
}

/* Counts a context. The primary context may be retained several times, and each time counts. */
static bool begin_context(mv_holdings *h, uint32_t call)
{
    uint32_t *count = mv_map_value(&h->contexts, (uint64_t)device_of(h, call));

    if (!count)
        return false;
    ++*count;
    return mv_map_put(&h->by_context, h->trace->api_calls.handle[call], call);
}

/* Ends a context. Only the creation of a context names its device. If the creation was not
 * recorded, because the runtime creates the primary context itself, the end of the context frees
 * nothing, because it is unknown which memory belongs to it. */
static void end_context(mv_holdings *h, uint32_t call)
{
    uint32_t made = mv_map_take(&h->by_context, h->trace->api_calls.handle[call]);
    bool resets = is_reset(h->trace, call);
    uint32_t left;

    if (!resets && made == MV_NO_ROW)
        return;
    /* the call that names the device */
    made = resets ? call : made;
    left = mv_map_take(&h->contexts, (uint64_t)device_of(h, made));
    if (resets || left == 1)
        drop_allocated(h, device_of(h, made));
    else if (left != MV_NOT_IN_MAP)
        mv_map_put(&h->contexts, (uint64_t)device_of(h, made), left - 1);
}

/* ---- calls ------------------------------------------------------------------------------- */

static mv_lot_kind kind_of(const mv_holdings *h, uint32_t call, uint8_t action)
{
    if (actions[action].memory == MV_API_MAKES_FOREIGN)
        return MV_LOT_FOREIGN;
    if (actions[action].memory == MV_API_MAKES_HOST)
        return MV_LOT_HOST;
    return mv_is_on_host(&h->trace->api_calls, call) ? MV_LOT_HOST : MV_LOT_DEVICE;
}

/* Whether a call creates a multicast object, which contains no memory, although older captures give
 * it a size. */
static bool is_multicast(const mv_trace *trace, uint32_t call)
{
    return starts_with(mv_string_text(trace, trace->api_calls.api[call]), "cuMulticastCreate");
}

static bool apply_gain(mv_holdings *h, uint32_t call, uint8_t action)
{
    const mv_api_calls *c = &h->trace->api_calls;
    mv_lot_kind kind = kind_of(h, call, action);
    bool counts = kind == MV_LOT_HOST || device_of(h, call) == h->device;

    if (kind == MV_LOT_FOREIGN && is_multicast(h->trace, call))
        return true;
    switch (actions[action].key) {
    case MV_API_BY_ADDR:
        return !counts || allocate(h, &h->by_addr, call, kind, c->addr[call]);
    case MV_API_BY_ARRAY:
        return !counts || allocate(h, &h->by_array, call, kind, c->handle[call]);
    case MV_API_BY_HANDLE:
        return !counts || create(h, call, kind);
    case MV_API_BY_CONTEXT:
        return begin_context(h, call);
    case MV_API_BY_REFERENCE:
        return retain(h, c->addr[call], c->handle[call]);
    case MV_API_BY_MAPPING:
        return map(h, c->addr[call], c->size[call], c->handle[call]);
    default:
        return true;
    }
}

static void apply_loss(mv_holdings *h, uint32_t call, uint8_t action)
{
    const mv_api_calls *c = &h->trace->api_calls;

    switch (actions[action].key) {
    case MV_API_BY_ADDR:
        give_back(h, &h->by_addr, c->addr[call]);
        break;
    case MV_API_BY_ARRAY:
        give_back(h, &h->by_array, c->handle[call]);
        break;
    case MV_API_BY_HANDLE:
        release(h, c->handle[call]);
        break;
    case MV_API_BY_MAPPING:
        unmap(h, c->addr[call], c->size[call]);
        break;
    case MV_API_BY_CONTEXT:
        end_context(h, call);
        break;
    default:
        break;
    }
}

bool mv_holdings_apply(mv_holdings *holdings, uint32_t call)
{
    const mv_api_calls *c = &holdings->trace->api_calls;
    uint8_t action = c->action[call];

    holdings->call = call;
    if (c->result[call] != 0 || action >= MV_API_ACTION_COUNT)
        return true;
    if (mv_api_gives(action)) {
        apply_loss(holdings, call, action);
        return true;
    }
    return apply_gain(holdings, call, action);
}
