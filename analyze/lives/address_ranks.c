#include "analyze/lives/address_ranks.h"

#include "analyze/lives/lives.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "base/sort.h"

enum {
    PREFETCH = 12,
    FAR_SLOTS = 1 << 15,     /* a map with fewer slots fits into a core's cache */
    EVENTS_PER_ADDRESS = 32, /* as a guess, to begin with a map that does not have to grow */
    MOST_PARTS = 16,
    /* minimum number of events per part; with fewer, a second thread costs more than it saves */
    PART_EVENTS = 1 << 17
};

/* Part of a value in address_table.id_of: the address was allocated or freed. */
#define WAS_USED ((uint32_t)1 << 31)

/* The distinct addresses in one part of the events; the addresses of the final heap belong to the
 * first part. Ids are assigned in the order in which addresses are found; the addresses are sorted
 * at the end. */
typedef struct {
    mv_arena scratch;
    mv_map id_of; /* for each address, its id + 1, and WAS_USED */
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

/* Adds a new address to the map and to the list. Returns the value in the map; NULL on failure. */
static __attribute__((noinline)) uint32_t *add_address(address_table *t, uint64_t addr)
{
    uint32_t *known = t->code == MV_OK ? mv_map_value(&t->id_of, addr) : NULL, id = t->count;

    if (t->code != MV_OK)
        return NULL;
    if (id >= WAS_USED - 1)
        t->code = MV_LIMIT;
    else if (!known ||
             !mv_append(&t->scratch, t->found, t->count, t->capacity, (mv_key_row){addr, id}))
        t->code = MV_NOMEM;
    if (t->code != MV_OK)
        return NULL;
    *known = id + 1;
    return known;
}

/* Returns the map's value for an address, which is added if it is new; NULL on failure. */
static inline uint32_t *value_of(address_table *t, uint64_t addr)
{
    uint32_t *known = mv_map_known(&t->id_of, addr);

    return known ? known : add_address(t, addr);
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
    value = value_of(t, addr);
    id = value ? (*value & ~WAS_USED) - 1 : 0;
    if (is_segment) {
        value_of(t, mv_range_end(addr, ev->size[event]));
        t->segment_events++;
        add_basis(t, event);
    }
    return id;
}

static void add_events(address_table *t, const mv_events *ev, uint32_t *of_event, uint32_t first,
                       uint32_t end)
{
    uint64_t last = MV_NO_BYTES; /* the previous address of an alloc or free, and its id */
    uint32_t id = MV_NO_ROW;

    for (uint32_t i = first; i < end; i++) {
        uint8_t action = ev->action[i];
        uint32_t *value;

        t->alloc_events += action == MV_ACTION_ALLOC;
        if (t->id_of.mask >= FAR_SLOTS && i + PREFETCH < t->end &&
            ev->action[i + PREFETCH] != MV_ACTION_FREE_COMPLETED)
            mv_map_prefetch(&t->id_of, ev->addr[i + PREFETCH]);
        if (action > MV_ACTION_FREE_COMPLETED) {
            of_event[i] = add_rare(t, ev, i);
            continue;
        }
        if (ev->addr[i] != last) { /* the two events of a free have the same address */
            last = ev->addr[i];
            value = last == MV_NO_BYTES ? NULL : value_of(t, last);
            id = value ? (*value & ~WAS_USED) - 1 : MV_NO_ROW;
            if (value && !(*value & WAS_USED)) {
                *value |= WAS_USED;
                add_basis(t, i);
            }
        }
        of_event[i] = id;
    }
}

static void add_heap(address_table *t, const mv_trace *trace, uint32_t device)
{
    const mv_segments *s = &trace->segments;
    const mv_blocks *b = &trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int64_t)device || s->address[i] == MV_NO_BYTES)
            continue;
        value_of(t, s->address[i]);
        value_of(t, mv_range_end(s->address[i], s->total_size[i]));
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            if (mv_block_is_active(trace, k) && b->address[k] != MV_NO_BYTES)
                value_of(t, b->address[k]);
    }
}

static void begin_part(mv_address_search *s, uint32_t part)
{
    address_table *t = &s->parts[part];

    if (!mv_map_reserve(&t->id_of, (t->end - t->first) / EVENTS_PER_ADDRESS))
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
        t->id_of.arena = &t->scratch;
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
