#include "parse/container/wire_opening.h"

#include "base/grow.h"
#include "base/sort.h"
#include "parse/container/wire_column.h"

enum { COLUMNS = 2, HEADS = COLUMNS * sizeof(mv_wire_column) };

void mv_openings_init(mv_openings *o, mv_arena *arena, const mv_events *events)
{
    *o = (mv_openings){.events = events, .id_of.arena = arena};
}

static bool pass_alloc(mv_openings *o, uint64_t addr)
{
    mv_arena *arena = o->id_of.arena;
    uint32_t *id = mv_map_value(&o->id_of, addr);

    if (!id)
        return false;
    if (*id == 0) {
        uint32_t allocs = o->count;
        if (!mv_append(arena, o->allocs, allocs, o->allocs_capacity, 0) ||
            !mv_append(arena, o->addr, o->count, o->capacity, addr))
            return false;
        *id = o->count;
    }
    o->allocs[*id - 1]++;
    return true;
}

bool mv_openings_pass(mv_openings *o, uint32_t count)
{
    for (uint32_t end = o->next + count; o->next < end; o->next++)
        if (o->events->action[o->next] == MV_ACTION_ALLOC &&
            !pass_alloc(o, o->events->addr[o->next]))
            return false;
    return true;
}

uint64_t mv_opening_room(const mv_openings *o)
{
    if (o->count == 0 || o->count > MV_WIRE_CHUNK_ROWS)
        return 0;
    return HEADS + mv_wire_aligned(o->count * sizeof *o->addr) +
           mv_wire_aligned(o->count * sizeof *o->allocs);
}

static uint64_t put_column(const mv_column_values *in, uint16_t number, uint64_t *work,
                           uint8_t *data, uint64_t at)
{
    mv_wire_column head;
    uint64_t bytes = mv_column_encode(in, work, &head, data + at);

    head.column = number;
    head.columns = COLUMNS;
    memcpy(data + (number - 1) * sizeof head, &head, sizeof head);
    memset(data + at + bytes, 0, mv_wire_aligned(bytes) - bytes);
    return at + mv_wire_aligned(bytes);
}

uint64_t mv_opening_encode(mv_openings *o, uint64_t *work, uint8_t *data)
{
    mv_arena *arena = o->id_of.arena;
    uint64_t *addr = mv_arena_grow(arena, NULL, o->count * sizeof *addr);
    uint32_t *allocs = mv_arena_grow(arena, NULL, o->count * sizeof *allocs);
    uint32_t *order = mv_order_u64(arena, o->addr, o->count);
    uint64_t at = 0;

    for (uint32_t i = 0; addr && allocs && order && i < o->count; i++) {
        addr[i] = o->addr[order[i]];
        allocs[i] = o->allocs[order[i]];
    }
    if (addr && allocs && order) {
        mv_column_values columns[COLUMNS] = {
            {.values = addr, .count = o->count, .size = 8, .transform = MV_WIRE_DELTA},
            {.values = allocs, .count = o->count, .size = 4, .transform = MV_WIRE_PLAIN}};
        at = put_column(&columns[0], 1, work, data, HEADS);
        at = put_column(&columns[1], 2, work, data, at);
    }
    mv_arena_drop(arena, order);
    mv_arena_drop(arena, allocs);
    mv_arena_drop(arena, addr);
    return at;
}

/* Decodes the next column into `out`. Returns the position after the column; 0 on failure. */
static uint64_t take_column(const mv_wire_chunk *head, const uint8_t *payload, uint16_t number,
                            uint8_t size, uint64_t at, uint8_t *work, void *out)
{
    mv_wire_column column;
    uint64_t bytes;

    memcpy(&column, payload + (number - 1) * sizeof column, sizeof column);
    bytes = mv_wire_aligned((uint64_t)head->count * column.width);
    if (column.column != number || column.columns != COLUMNS ||
        !mv_column_can_decode(&column, size) || bytes > head->raw_bytes - at)
        return 0;
    mv_column_decode(&column, payload + at, head->count, size, work, out);
    return at + bytes;
}

mv_code mv_opening_decode(mv_arena *arena, const mv_wire_chunk *head, const uint8_t *payload,
                          mv_opening *out)
{
    uint8_t *work;
    uint64_t at;

    if (head->count == 0 || head->count > MV_WIRE_CHUNK_ROWS || head->raw_bytes < HEADS ||
        head->first_row >= MV_NO_ROW)
        return MV_CORRUPT;
    *out = (mv_opening){.event = (uint32_t)head->first_row,
                        .count = head->count,
                        .addr = mv_push_array(arena, uint64_t, head->count),
                        .allocs = mv_push_array(arena, uint32_t, head->count)};
    work = mv_arena_push(arena, head->count, sizeof(uint64_t));
    if (!out->addr || !out->allocs || !work)
        return MV_NOMEM;
    at = take_column(head, payload, 1, 8, HEADS, work, out->addr);
    if (at)
        at = take_column(head, payload, 2, 4, at, work, out->allocs);
    return at ? MV_OK : MV_CORRUPT;
}
