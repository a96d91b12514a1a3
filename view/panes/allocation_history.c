#include "view/panes/allocation_history.h"

#include "analyze/code/open_range.h"

static bool covers(const mv_alloc_lives *a, uint32_t row, uint64_t addr)
{
    return a->addr[row] <= addr && addr - a->addr[row] < (a->block[row] ? a->block[row] : 1);
}

/* Copies the ring to a list, oldest first. */
static bool unroll(mv_arena *arena, const uint32_t *ring, mv_allocation_history *out)
{
    uint32_t from = out->covered > MV_MOST_OCCUPANTS ? out->covered % MV_MOST_OCCUPANTS : 0;

    out->count = out->covered < MV_MOST_OCCUPANTS ? out->covered : MV_MOST_OCCUPANTS;
    out->history = mv_push_array(arena, uint32_t, out->count);
    for (uint32_t i = 0; out->history && i < out->count; i++)
        out->history[i] = ring[(from + i) % MV_MOST_OCCUPANTS];
    return out->history != NULL;
}

mv_code mv_allocation_history_find(mv_arena *arena, const mv_trace *trace,
                                   const mv_document_device *device, uint32_t alloc,
                                   mv_allocation_history *out, mv_err *err)
{
    const mv_alloc_lives *a = &device->lives.allocs;
    uint64_t addr = a->addr[alloc];
    mv_string_id *within = mv_within_find(arena, trace, device->device, &a->birth[alloc], 1);
    mv_arena scratch;
    uint32_t *ring;
    bool is_done;

    *out = (mv_allocation_history){.alloc = alloc};
    mv_arena_init(&scratch, arena->budget);
    ring = mv_push_array(&scratch, uint32_t, MV_MOST_OCCUPANTS);
    for (uint32_t i = 0; ring && i < a->count; i++) {
        out->version += i <= alloc && a->addr[i] == addr && a->birth[i] != MV_BEFORE;
        if (covers(a, i, addr))
            ring[out->covered++ % MV_MOST_OCCUPANTS] = i;
    }
    is_done = ring && within && unroll(arena, ring, out);
    mv_arena_release(&scratch);
    if (!is_done)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "history of an address");
    out->within = *within;
    out->total = mv_index_bytes(&device->index, device->index.count, a->birth[alloc]);
    return MV_OK;
}
