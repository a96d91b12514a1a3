#include "parse/container/wire_opening.h"

#include "base/grow.h"

enum {
    ALLOCS = 3, /* number of the column; 1 and 2 were in openings of another form */
    AHEAD = 8   /* number of addresses by which counts are fetched ahead */
};

static const mv_table_column columns[] = {{.number = ALLOCS,
                                           .absent = MV_NO_ROW,
                                           .at = offsetof(mv_opening, allocs),
                                           .size = sizeof(uint32_t),
                                           .transform = MV_WIRE_PLAIN}};

const mv_model_table mv_opening_layout = {.kind = MV_WIRE_OPENING,
                                          .chunk_rows = MV_WIRE_CHUNK_ROWS,
                                          .columns = columns,
                                          .column_count = 1};

/* Lists the addresses of a chunk, and counts the allocations at each of them. */
static bool list_addresses(mv_openings *o, const mv_events *events, uint32_t first, uint32_t end)
{
    mv_arena *arena = o->row_of.arena;
    uint32_t count = 0;

    mv_map_clear(&o->row_of);
    for (uint32_t i = first; i < end; i++) {
        uint32_t *row;
        if (!mv_action_has_version(events->action[i]))
            continue;
        row = mv_map_value(&o->row_of, events->addr[i]);
        if (!row || (*row == 0 && !mv_append(arena, o->rows, count, o->rows_capacity,
                                             (mv_chunk_address){.addr = events->addr[i]})))
            return false;
        *row = *row ? *row : count;
        o->rows[*row - 1].allocs += events->action[i] == MV_ACTION_ALLOC;
    }
    o->before.count = count;
    return true;
}

bool mv_openings_pass(mv_openings *o, const mv_events *events, uint32_t first, uint32_t end)
{
    uint32_t count;

    if (!list_addresses(o, events, first, end))
        return false;
    count = o->before.count;
    if (!mv_room_for(o->allocs.arena, o->before.allocs, count, o->capacity))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *allocs = mv_map_value(&o->allocs, o->rows[i].addr);
        if (!allocs)
            return false;
        if (count - i > AHEAD)
            mv_map_prefetch(&o->allocs, o->rows[i + AHEAD].addr);
        o->before.allocs[i] = *allocs;
        *allocs += o->rows[i].allocs;
    }
    return true;
}
