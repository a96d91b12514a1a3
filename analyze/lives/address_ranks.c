#include "analyze/lives/address_ranks.h"

#include "analyze/lives/lives.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"

enum { PREFETCH = 12 };

/* The addresses in order of discovery: an id is a row of `found`. */
typedef struct {
    mv_arena *scratch;
    mv_map id_of; /* id + 1 of each address */
    mv_key_row *found;
    uint32_t count, capacity;
    mv_code code;
} address_table;

/* The id of an address, new or known. */
static uint32_t address_id(address_table *t, uint64_t addr)
{
    uint32_t *known = t->code == MV_OK ? mv_map_value(&t->id_of, addr) : NULL, id = t->count;

    if (known && *known)
        return *known - 1;
    if (t->code != MV_OK)
        return 0;
    if (id >= MV_NO_ROW - 1)
        t->code = MV_LIMIT;
    else if (!known ||
             !mv_append(t->scratch, t->found, t->count, t->capacity, (mv_key_row){addr, id}))
        t->code = MV_NOMEM;
    if (t->code != MV_OK)
        return 0;
    *known = id + 1;
    return id;
}

/* Ids of the events' addresses into `of_event`, which holds ids until they are ranked. */
static void add_events(address_table *t, const mv_events *ev, mv_address_ranks *out)
{
    for (uint32_t i = 0; i < ev->count; i++) {
        bool is_segment = mv_is_segment_action(ev->action[i]);
        if (i + PREFETCH < ev->count && ev->action[i + PREFETCH] != MV_ACTION_FREE_COMPLETED)
            mv_map_prefetch(&t->id_of, ev->addr[i + PREFETCH]);
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

static mv_code rank_addresses(mv_arena *arena, address_table *t, const mv_events *ev,
                              mv_address_ranks *out, mv_err *err)
{
    mv_key_row *spare = mv_arena_grow(t->scratch, NULL, ((uint64_t)t->count + 1) * sizeof *spare);
    uint32_t *rank = mv_push_array(t->scratch, uint32_t, t->count);

    out->count = t->count;
    out->addr = mv_push_array(arena, uint64_t, t->count);
    if (!spare || !rank || !out->addr)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u addresses", t->count);
    mv_sort_key_rows(t->found, spare, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        out->addr[i] = t->found[i].key;
        rank[t->found[i].row] = i;
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
    address_table t = {.scratch = &scratch, .id_of.arena = &scratch, .code = MV_OK};
    mv_code code;

    *out = (mv_address_ranks){0};
    mv_arena_init(&scratch, arena->budget);
    out->of_event = mv_push_array(arena, uint32_t, ev.count);
    if (!out->of_event)
        t.code = MV_NOMEM;
    if (t.code == MV_OK)
        add_events(&t, &ev, out);
    if (t.code == MV_OK)
        add_heap(&t, trace, device);
    if (t.code == MV_OK)
        code = rank_addresses(arena, &t, &ev, out, err);
    else
        code = mv_fail(err, t.code, MV_NO_OFFSET, "addresses of device %u", device);
    mv_arena_release(&scratch);
    return code;
}

uint32_t mv_address_rank(const mv_address_ranks *ranks, uint64_t addr)
{
    return (uint32_t)mv_lower_bound_u64(ranks->addr, ranks->count, addr);
}
