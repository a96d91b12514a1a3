#include "analyze/lives/address_ranks.h"

#include "analyze/lives/lives.h"
#include "base/grow.h"
#include "base/intern.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "base/sort.h"
#include "parse/model/living.h"

enum {
    BATCH = 32, /* how many addresses are prefetched at the same time */
    LEAST_SLOTS = 256,
    EVENTS_PER_SLOT = 4, /* as a guess, to begin with a table that does not have to grow */
    MOST_FIRST_SLOTS = 1 << 16,
    MOST_PARTS = 16,
    /* minimum number of events per part; with fewer, a second thread costs more than it saves */
    PART_EVENTS = 1 << 17
};

/* Part of address_slot.value: the address was allocated or freed. */
#define WAS_USED ((uint32_t)1 << 31)

/* A slot of a hash table, in which the row with the address itself is read only to confirm a match.
 * At most half of the slots are used, so the first one that is read is nearly always the right
 * one. */
typedef struct {
    uint32_t hash;
    uint32_t value; /* the address's id + 1, and WAS_USED; 0: free slot */
} address_slot;

/* The distinct addresses in one part of the events; the addresses of the final heap belong to the
 * first part. Ids are assigned in the order in which addresses are found; the addresses are sorted
 * at the end. */
typedef struct {
    mv_arena scratch;
    address_slot *slots; /* [mask + 1] */
    uint32_t mask;
    mv_key_row *found;
    uint32_t count, capacity;
    uint32_t *basis; /* see mv_address_ranks */
    uint32_t basis_count, basis_capacity;
    uint32_t *rank;          /* [count] rank of the address with this id */
    uint32_t first, end;     /* events */
    uint32_t segment_events; /* number of segment events among them */
    uint32_t alloc_events;   /* number of alloc events among them */
    mv_code code;
} address_table;

struct mv_address_search {
    mv_arena *arena;
    const mv_trace *trace;
    uint32_t device;
    mv_events ev;
    mv_address_ranks *out; /* `of_event` contains ids until the addresses are ranked */
    uint32_t done;         /* number of events that are done; with a single part, each event is
                            * first added and later ranked */
    bool is_merged;
    uint32_t count;
    address_table parts[MOST_PARTS];
};

static uint32_t hash_of(uint64_t addr)
{
    return (uint32_t)(mv_mix(addr, 0) >> 32);
}

/* Returns the slot of an address, or the free slot where it belongs. */
static inline address_slot *slot_of(const address_table *t, uint64_t addr, uint32_t hash)
{
    uint32_t at = hash & t->mask;

    while (t->slots[at].value && (t->slots[at].hash != hash ||
                                  t->found[(t->slots[at].value & ~WAS_USED) - 1].key != addr))
        at = (at + 1) & t->mask;
    return &t->slots[at];
}

static bool make_slots(address_table *t, uint64_t count)
{
    address_slot *old = t->slots, *slots = mv_arena_grow(&t->scratch, NULL, count * sizeof *slots);
    uint32_t mask = (uint32_t)(count - 1);

    if (!slots)
        return false;
    for (uint64_t i = 0; old && i <= t->mask; i++) {
        uint32_t at = old[i].hash & mask;
        while (old[i].value && slots[at].value)
            at = (at + 1) & mask;
        if (old[i].value)
            slots[at] = old[i];
    }
    mv_arena_drop(&t->scratch, old);
    t->slots = slots;
    t->mask = mask;
    return true;
}

/* Adds a new address to the table and to the list. Returns its value; NULL on failure. */
static __attribute__((noinline)) uint32_t *add_address(address_table *t, uint64_t addr,
                                                       uint32_t hash)
{
    address_slot *slot;
    uint32_t id = t->count;

    if (t->code != MV_OK)
        return NULL;
    if (id >= WAS_USED - 1)
        t->code = MV_LIMIT;
    else if ((id > t->mask / 2 && !make_slots(t, 2 * ((uint64_t)t->mask + 1))) ||
             !mv_append(&t->scratch, t->found, t->count, t->capacity, (mv_key_row){addr, id}))
        t->code = MV_NOMEM;
    if (t->code != MV_OK)
        return NULL;
    slot = slot_of(t, addr, hash);
    *slot = (address_slot){hash, id + 1};
    return &slot->value;
}

/* Returns the value of an address, which is added if it is new; NULL on failure. */
static inline uint32_t *value_of(address_table *t, uint64_t addr, uint32_t hash)
{
    uint32_t *value = &slot_of(t, addr, hash)->value;

    return *value ? value : add_address(t, addr, hash);
}

static uint32_t *add(address_table *t, uint64_t addr)
{
    return value_of(t, addr, hash_of(addr));
}

static void add_basis(address_table *t, uint32_t event)
{
    if (!mv_append(&t->scratch, t->basis, t->basis_count, t->basis_capacity, event))
        t->code = MV_NOMEM;
}

/* Adds an event about a segment or an annotation of a block. Returns the id of its address. */
static uint32_t add_rare(address_table *t, const mv_events *ev, uint32_t event)
{
    uint64_t addr = ev->addr[event];
    bool is_segment = mv_is_segment_action(ev->action[event]);
    const uint32_t *value;
    uint32_t id;

    if (addr == MV_NO_BYTES || (!is_segment && ev->action[event] != MV_ACTION_ANNOTATE))
        return MV_NO_ROW;
    value = add(t, addr);
    id = value ? (*value & ~WAS_USED) - 1 : 0;
    if (is_segment) {
        add(t, mv_range_end(addr, ev->size[event]));
        t->segment_events++;
        add_basis(t, event);
    }
    return id;
}

/* Adds at most BATCH events. First begins to read all their slots, because each takes long. */
static void add_batch(address_table *t, const mv_events *ev, uint32_t *of_event, uint32_t first,
                      uint32_t end)
{
    uint64_t last = MV_NO_BYTES; /* the previous address of an alloc or free, and its id */
    uint32_t id = MV_NO_ROW, hash[BATCH], allocs = 0;

    for (uint32_t i = first; i < end; i++) {
        hash[i - first] = hash_of(ev->addr[i]);
        __builtin_prefetch(&t->slots[hash[i - first] & t->mask]);
    }
    for (uint32_t i = first; i < end; i++) {
        uint8_t action = ev->action[i];
        uint32_t *value;

        allocs += action == MV_ACTION_ALLOC;
        if (action > MV_ACTION_FREE_COMPLETED) {
            of_event[i] = add_rare(t, ev, i);
            continue;
        }
        if (ev->addr[i] != last) { /* the two events of a free have the same address */
            last = ev->addr[i];
            value = last == MV_NO_BYTES ? NULL : value_of(t, last, hash[i - first]);
            id = value ? (*value & ~WAS_USED) - 1 : MV_NO_ROW;
            if (value && !(*value & WAS_USED)) {
                *value |= WAS_USED;
                add_basis(t, i);
            }
        }
        of_event[i] = id;
    }
    t->alloc_events += allocs;
}

static void add_events(address_table *t, const mv_events *ev, uint32_t *of_event, uint32_t first,
                       uint32_t end)
{
    while (first < end && t->code == MV_OK) {
        uint32_t next = end - first < BATCH ? end : first + BATCH;
        add_batch(t, ev, of_event, first, next);
        first = next;
    }
}

static void add_heap(address_table *t, const mv_trace *trace, uint32_t device)
{
    const mv_segments *s = &trace->segments;
    const mv_blocks *b = &trace->blocks;

    if (t->code != MV_OK || mv_living_of(trace, device).is_cut)
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int64_t)device || s->address[i] == MV_NO_BYTES)
            continue;
        add(t, s->address[i]);
        add(t, mv_range_end(s->address[i], s->total_size[i]));
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            if (mv_block_is_active(trace, k) && b->address[k] != MV_NO_BYTES)
                add(t, b->address[k]);
    }
}

static void begin_part(mv_address_search *s, uint32_t part)
{
    address_table *t = &s->parts[part];
    uint32_t slots = LEAST_SLOTS;

    while (slots < MOST_FIRST_SLOTS && slots < (t->end - t->first) / EVENTS_PER_SLOT)
        slots *= 2;
    if (!make_slots(t, slots))
        t->code = MV_NOMEM;
    mv_arena_touch(s->arena, s->out->of_event + t->first, (t->end - t->first) * sizeof(uint32_t));
}

static void end_part(mv_address_search *s, uint32_t part)
{
    address_table *t = &s->parts[part];
    mv_key_row *spare;

    if (part == 0)
        add_heap(t, s->trace, s->device);
    spare = mv_arena_grow(&t->scratch, NULL, ((uint64_t)t->count + 1) * sizeof *spare);
    t->rank = mv_push_unset(&t->scratch, uint32_t, t->count);
    if (t->code == MV_OK && (!spare || !t->rank))
        t->code = MV_NOMEM;
    if (t->code == MV_OK)
        mv_sort_key_rows(t->found, spare, t->count);
}

static void find_part(void *user, uint32_t part)
{
    mv_address_search *s = user;
    address_table *t = &s->parts[part];

    begin_part(s, part);
    add_events(t, &s->ev, s->out->of_event, t->first, t->end);
    end_part(s, part);
}

static mv_code rank_alone(const address_table *t, mv_address_ranks *out)
{
    for (uint32_t i = 0; i < t->count; i++) {
        out->addr[i] = t->found[i].key;
        t->rank[t->found[i].row] = i;
    }
    out->count = t->count;
    return MV_OK;
}

static bool join_bases(mv_arena *arena, mv_address_search *s)
{
    mv_address_ranks *out = s->out;
    uint64_t count = 0;

    for (uint32_t i = 0; i < s->count; i++)
        count += s->parts[i].basis_count;
    out->basis = mv_push_unset(arena, uint32_t, count);
    for (uint32_t i = 0; out->basis && i < s->count; i++) {
        const address_table *t = &s->parts[i];
        for (uint32_t k = 0; k < t->basis_count; k++)
            out->basis[out->basis_count++] = t->basis[k];
    }
    return out->basis != NULL;
}

/* Merges the sorted addresses of all parts and assigns ranks in ascending order. */
static mv_code merge_parts(mv_arena *arena, mv_address_search *s)
{
    uint32_t at[MOST_PARTS] = {0};
    uint64_t most = 0, addr;
    bool is_left;

    if (!join_bases(arena, s))
        return MV_NOMEM;
    for (uint32_t i = 0; i < s->count; i++)
        most += s->parts[i].count;
    s->out->addr = mv_push_unset(arena, uint64_t, most);
    if (!s->out->addr)
        return MV_NOMEM;
    if (s->count == 1)
        return rank_alone(&s->parts[0], s->out);
    for (is_left = most > 0; is_left && s->out->count < MV_NO_ROW - 1;) {
        addr = UINT64_MAX;
        for (uint32_t i = 0; i < s->count; i++)
            if (at[i] < s->parts[i].count && s->parts[i].found[at[i]].key < addr)
                addr = s->parts[i].found[at[i]].key;
        is_left = false;
        for (uint32_t i = 0; i < s->count; i++) {
            address_table *t = &s->parts[i];
            if (at[i] < t->count && t->found[at[i]].key == addr)
                t->rank[t->found[at[i]++].row] = s->out->count;
            is_left = is_left || at[i] < t->count;
        }
        s->out->addr[s->out->count++] = addr;
    }
    return is_left ? MV_LIMIT : MV_OK;
}

static void rank_events(const address_table *t, uint32_t *of_event, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (of_event[i] != MV_NO_ROW)
            of_event[i] = t->rank[of_event[i]];
}

static void rank_part(void *user, uint32_t part)
{
    mv_address_search *s = user;
    const address_table *t = &s->parts[part];

    rank_events(t, s->out->of_event, t->first, t->end);
}

/* Merges the parts and ranks their addresses. */
static mv_code merge(mv_address_search *s)
{
    mv_code code = MV_OK;

    s->is_merged = true;
    for (uint32_t i = 0; i < s->count; i++) {
        s->out->segment_events += s->parts[i].segment_events;
        s->out->alloc_events += s->parts[i].alloc_events;
        code = code == MV_OK ? s->parts[i].code : code;
    }
    return code == MV_OK ? merge_parts(s->arena, s) : code;
}

static mv_code find_by_threads(mv_address_search *s)
{
    mv_code code;

    mv_parallel_for(s->count, 0, find_part, s);
    code = merge(s);
    if (code == MV_OK)
        mv_parallel_for(s->count, 0, rank_part, s);
    return code;
}

static mv_code find_alone(mv_address_search *s, uint32_t events, bool *again)
{
    uint32_t first = s->done, left = s->ev.count - first;

    s->done += left < events ? left : events;
    *again = !s->is_merged || s->done < s->ev.count;
    if (s->is_merged) {
        rank_events(s->parts, s->out->of_event, first, s->done);
        return MV_OK;
    }
    if (first == 0)
        begin_part(s, 0);
    add_events(s->parts, &s->ev, s->out->of_event, first, s->done);
    if (s->done < s->ev.count)
        return s->parts->code;
    end_part(s, 0);
    s->done = 0;
    return merge(s);
}

mv_address_search *mv_address_search_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                           mv_address_ranks *out)
{
    mv_address_search *s = mv_push_struct(arena, mv_address_search);

    *out = (mv_address_ranks){0};
    if (!s)
        return NULL;
    *s = (mv_address_search){.arena = arena,
                             .trace = trace,
                             .device = device,
                             .ev = mv_trace_events(trace, device),
                             .out = out};
    out->of_event = mv_push_unset(arena, uint32_t, s->ev.count);
    s->count = mv_parallel_for_threads(1 + s->ev.count / PART_EVENTS, 0);
    s->count = s->count < MOST_PARTS ? s->count : MOST_PARTS;
    for (uint32_t i = 0; i < s->count; i++) {
        address_table *t = &s->parts[i];
        mv_arena_init(&t->scratch, arena->budget);
        t->first = (uint32_t)((uint64_t)s->ev.count * i / s->count);
        t->end = (uint32_t)((uint64_t)s->ev.count * (i + 1) / s->count);
    }
    return out->of_event ? s : NULL;
}

mv_code mv_address_search_some(mv_address_search *s, uint32_t events, bool *again, mv_err *err)
{
    mv_code code;

    *again = false;
    code = s->count > 1 ? find_by_threads(s) : find_alone(s, events, again);
    return code == MV_OK ? code
                         : mv_fail(err, code, MV_NO_OFFSET, "addresses of device %u", s->device);
}

void mv_address_search_end(mv_address_search *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        mv_arena_release(&s->parts[i].scratch);
}

mv_code mv_address_ranks_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              mv_address_ranks *out, mv_err *err)
{
    mv_address_search *s = mv_address_search_begin(arena, trace, device, out);
    mv_code code = MV_OK;

    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "addresses of device %u", device);
    for (bool again = true; again && code == MV_OK;)
        code = mv_address_search_some(s, UINT32_MAX, &again, err);
    mv_address_search_end(s);
    return code;
}

uint32_t mv_address_rank(const mv_address_ranks *ranks, uint64_t addr)
{
    return (uint32_t)mv_lower_bound_u64(ranks->addr, ranks->count, addr);
}

uint32_t mv_address_rank_after(const mv_address_ranks *ranks, uint32_t rank, uint64_t addr)
{
    uint64_t left = ranks->count - rank, step = 1;

    while (step < left && ranks->addr[rank + step] < addr)
        step *= 2;
    return rank + (uint32_t)mv_lower_bound_u64(ranks->addr + rank, step < left ? step : left, addr);
}
