#include "parse/live/live_ranges.h"

enum { KEY_THREAD, KEY_NUMBER };

void mv_live_ranges_init(mv_arena *arena, mv_live_ranges *out)
{
    *out = (mv_live_ranges){.arena = arena, .index = {.arena = arena}};
}

/* Makes room for one row more. */
static bool make_room(mv_arena *arena, void **rows, uint32_t count, uint32_t *capacity,
                      uint64_t size)
{
    uint64_t next = *capacity ? (uint64_t)*capacity * 2 : 256;
    void *grown;

    if (count < *capacity)
        return true;
    if (next >= MV_NO_ROW)
        return false;
    grown = mv_arena_grow(arena, *rows, next * size);
    if (!grown)
        return false;
    *rows = grown;
    *capacity = (uint32_t)next;
    return true;
}

/* The entry of a thread or numbered range, made when there is none; NULL: memory is out. */
static mv_live_keyed *entry_of(mv_live_ranges *r, uint32_t kind, uint64_t key)
{
    uint64_t hash = mv_mix(key, kind);

    for (mv_probe p = mv_intern_start(&r->index, hash); mv_intern_next(&r->index, &p);)
        if (r->keyed[p.row].key == key && (r->keyed[p.row].kind == kind))
            return &r->keyed[p.row];
    if (!make_room(r->arena, (void **)&r->keyed, r->keyed_count, &r->keyed_capacity,
                   sizeof *r->keyed) ||
        !mv_intern_add(&r->index, hash, r->keyed_count))
        return NULL;
    r->keyed[r->keyed_count] = (mv_live_keyed){.key = key, .kind = kind, .row = MV_NO_ROW};
    return &r->keyed[r->keyed_count++];
}

static bool push(mv_live_ranges *r, uint64_t thread, mv_string_id name)
{
    mv_live_keyed *e = entry_of(r, KEY_THREAD, thread);

    if (!e ||
        !make_room(r->arena, (void **)&r->open, r->open_count, &r->open_capacity, sizeof *r->open))
        return false;
    r->open[r->open_count] = (mv_live_open){name, e->row};
    e->row = r->open_count++;
    return true;
}

/* The name of the range that ends; false when none is open. */
static bool pop(mv_live_ranges *r, uint64_t thread, mv_string_id *name)
{
    mv_live_keyed *e = entry_of(r, KEY_THREAD, thread);

    if (!e || e->row == MV_NO_ROW)
        return false;
    *name = r->open[e->row].name;
    e->row = r->open[e->row].outer;
    return true;
}

static bool begin(mv_live_ranges *r, uint64_t number, mv_string_id name)
{
    mv_live_keyed *e = entry_of(r, KEY_NUMBER, number);

    if (e)
        e->row = name.row;
    return e != NULL;
}

static bool end(mv_live_ranges *r, uint64_t number, mv_string_id *name)
{
    mv_live_keyed *e = entry_of(r, KEY_NUMBER, number);

    if (!e || e->row == MV_NO_ROW)
        return false;
    name->row = e->row;
    e->row = MV_NO_ROW;
    return true;
}

bool mv_live_ranges_add(mv_live_ranges *r, mv_live_names *names, const mv_live_record *record,
                        int64_t time_us)
{
    mv_annotation_row row = MV_ANNOTATION_ROW;
    bool fine = true, ends = true;

    row.time_us = time_us;
    row.device = -1;
    row.stage = MV_STAGE_END;
    row.name = mv_live_names_string(names, record->text);
    switch (record->kind) {
    case MV_LIVE_EVENT_MARK:
        row.stage = MV_STAGE_MARK;
        break;
    case MV_LIVE_EVENT_PUSH:
        row.stage = MV_STAGE_START;
        fine = push(r, record->thread, row.name);
        break;
    case MV_LIVE_EVENT_BEGIN:
        row.stage = MV_STAGE_START;
        fine = begin(r, record->number, row.name);
        break;
    case MV_LIVE_EVENT_POP:
        ends = pop(r, record->thread, &row.name);
        break;
    default:
        ends = end(r, record->number, &row.name);
    }
    if (ends)
        mv_build_annotation(names->build, &row);
    else
        mv_build_note(names->build, MV_NOTE_LOOSE, "end of a range that was not begun");
    return fine;
}
