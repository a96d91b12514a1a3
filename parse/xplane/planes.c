#include "base/grow.h"
#include "parse/xplane/xplane.h"

enum { MAP_KEY = 1, MAP_VALUE };
enum { NAME_ID = 1, NAME_NAME };
enum { STAT_ID = 1, STAT_DOUBLE, STAT_UNSIGNED, STAT_SIGNED, STAT_TEXT, STAT_BYTES, STAT_NAMED };

static const char *const roles[] = {
#define ROLE_NAME(role, name) [MV_XSTAT_##role] = (name),
    MV_XSTAT_LIST(ROLE_NAME)
#undef ROLE_NAME
};

static uint8_t role_of(mv_span name)
{
    uint8_t role = 0;

    while (role < MV_XSTAT_COUNT && !mv_pb_is(name, roles[role]))
        role++;
    return role;
}

static bool read_entry(mv_span entry, uint64_t *id, mv_span *name)
{
    mv_cursor c = mv_cursor_over(entry), inner = {0};
    mv_pb_field f;

    *id = 0;
    *name = (mv_span){(const uint8_t *)"", 0};
    while (mv_pb_next(&c, &f)) {
        if (f.number == MAP_KEY && f.type == MV_PB_VARINT)
            *id = f.value;
        if (f.number == MAP_VALUE && f.type == MV_PB_BYTES)
            inner = mv_cursor_over(f.bytes);
    }
    while (mv_pb_next(&inner, &f))
        if (f.number == NAME_NAME && f.type == MV_PB_BYTES)
            *name = f.bytes;
    return !c.overrun && !inner.overrun;
}

static mv_code add_event_name(mv_xplane *p, mv_span entry)
{
    mv_xevent_name row = {.kind = MV_XEVENT_RANGE};
    uint64_t id;

    if (!read_entry(entry, &id, &row.name))
        return MV_CORRUPT;
    if (mv_pb_is(row.name, "MemoryAllocation"))
        row.kind = MV_XEVENT_ALLOC;
    else if (mv_pb_is(row.name, "MemoryDeallocation"))
        row.kind = MV_XEVENT_FREE;
    p->has_memory |= row.kind != MV_XEVENT_RANGE;
    return mv_map_put(&p->event_of, id, p->event_count) &&
                   mv_append(p->arena, p->events, p->event_count, p->event_capacity, row)
               ? MV_OK
               : MV_NOMEM;
}

static mv_code add_stat_name(mv_xplane *p, mv_span entry)
{
    mv_xstat_name row;
    uint64_t id;

    if (!read_entry(entry, &id, &row.name))
        return MV_CORRUPT;
    row.role = role_of(row.name);
    return mv_map_put(&p->stat_of, id, p->stat_count) &&
                   mv_append(p->arena, p->stats, p->stat_count, p->stat_capacity, row)
               ? MV_OK
               : MV_NOMEM;
}

mv_code mv_xstat_read(const mv_xplane *p, mv_span stat, mv_xstats *out)
{
    mv_cursor c = mv_cursor_over(stat);
    mv_span text = {(const uint8_t *)"", 0};
    uint64_t number = 0;
    uint32_t row = MV_NOT_IN_MAP;
    mv_pb_field f;

    while (mv_pb_next(&c, &f)) {
        if (f.number == STAT_ID && f.type == MV_PB_VARINT)
            row = mv_map_find(&p->stat_of, f.value);
        else if ((f.number == STAT_UNSIGNED || f.number == STAT_SIGNED) && f.type == MV_PB_VARINT)
            number = f.value;
        else if (f.number == STAT_TEXT && f.type == MV_PB_BYTES)
            text = f.bytes;
        else if (f.number == STAT_NAMED && f.type == MV_PB_VARINT) {
            uint32_t named = mv_map_find(&p->stat_of, f.value);
            text = named == MV_NOT_IN_MAP ? text : p->stats[named].name;
        }
    }
    if (c.overrun)
        return MV_CORRUPT;
    if (row == MV_NOT_IN_MAP || p->stats[row].role == MV_XSTAT_COUNT)
        return MV_OK;
    out->has[p->stats[row].role] = true;
    out->number[p->stats[row].role] = number;
    out->text[p->stats[row].role] = text;
    return MV_OK;
}

mv_code mv_xplane_read(mv_arena *arena, mv_span plane, mv_xplane *out)
{
    mv_cursor c = mv_cursor_over(plane);
    mv_code code = MV_OK;
    mv_pb_field f;

    *out = (mv_xplane){.arena = arena, .event_of = {.arena = arena}, .stat_of = {.arena = arena}};
    while (code == MV_OK && mv_pb_next(&c, &f)) {
        if (f.type == MV_PB_BYTES && f.number == PLANE_EVENT_NAME)
            code = add_event_name(out, f.bytes);
        else if (f.type == MV_PB_BYTES && f.number == PLANE_STAT_NAME)
            code = add_stat_name(out, f.bytes);
    }
    if (code != MV_OK || c.overrun)
        return code == MV_OK ? MV_CORRUPT : code;
    c = mv_cursor_over(plane);
    while (code == MV_OK && mv_pb_next(&c, &f))
        if (f.type == MV_PB_BYTES && f.number == PLANE_STAT)
            code = mv_xstat_read(out, f.bytes, &out->own);
    return code;
}
