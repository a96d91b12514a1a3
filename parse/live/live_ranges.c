#include "parse/live/live_ranges.h"

#include "base/grow.h"

static_assert(MV_NOT_IN_MAP == MV_NO_ROW, "a missing name ends like a range that never began");

void mv_live_ranges_init(mv_arena *arena, mv_live_ranges *out)
{
    *out =
        (mv_live_ranges){.arena = arena, .innermost = {.arena = arena}, .named = {.arena = arena}};
}

static bool push(mv_live_ranges *r, uint64_t thread, mv_string_id name)
{
    uint32_t outer = mv_map_find(&r->innermost, thread);

    return mv_append(r->arena, r->open, r->open_count, r->open_capacity,
                     (mv_live_open){name, outer}) &&
           mv_map_put(&r->innermost, thread, r->open_count - 1);
}

/* Ends the thread's innermost range, and returns its name; false if no range is open. */
static bool pop(mv_live_ranges *r, uint64_t thread, mv_string_id *name)
{
    uint32_t row = mv_map_take(&r->innermost, thread);

    if (row == MV_NOT_IN_MAP)
        return false;
    *name = r->open[row].name;
    /* Cannot fail, because the key exists. */
    return r->open[row].outer == MV_NOT_IN_MAP ||
           mv_map_put(&r->innermost, thread, r->open[row].outer);
}

static bool end(mv_live_ranges *r, uint64_t number, mv_string_id *name)
{
    name->row = mv_map_take(&r->named, number);
    return name->row != MV_NOT_IN_MAP;
}

bool mv_live_ranges_add(mv_live_ranges *r, mv_build *b, mv_live_names *names,
                        const mv_live_record *record, int64_t time_us)
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
        fine = mv_map_put(&r->named, record->number, row.name.row);
        break;
    case MV_LIVE_EVENT_POP:
        ends = pop(r, record->thread, &row.name);
        break;
    default:
        ends = end(r, record->number, &row.name);
    }
    if (ends)
        mv_build_annotation(b, &row);
    else
        mv_build_note(b, MV_NOTE_LOOSE, "end of a range that was not begun");
    return fine;
}
