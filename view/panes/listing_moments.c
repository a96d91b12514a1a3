/* Tables of positions in the trace: the holes between blocks, every event, and everything with a
 * name. */

#include "base/size.h"
#include "view/document/level_calls.h"
#include "view/document/moment_text.h"
#include "view/frame/colour_groups.h"
#include "view/panes/listing_parts.h"

static int64_t time_of(const mv_listing_query *ask, uint32_t event)
{
    return mv_event_since_start(&ask->document->trace, &ask->device->lives.events, event);
}

/* ---- fragments --------------------------------------------------------------------------- */

static const char *pool_name(mv_listing_maker *m, uint32_t segment)
{
    const mv_segment_lives *s = &m->lives->segments;
    const mv_trace *t = m->trace;
    mv_pool_id pool = s->pool[segment];
    const char *kind = mv_segment_kind_name((mv_segment_kind)s->kind[segment]);
    char stream[MV_GROUP_LABEL];

    mv_stream_label(t, s->stream[segment], stream);
    if (pool.row >= t->pools.count || (!t->pools.a[pool.row] && !t->pools.b[pool.row]))
        return mv_make_text(&m->words, "%s, %s", kind, stream);
    return mv_make_text(&m->words, "%s (%llu, %llu), %s", kind,
                        (unsigned long long)t->pools.a[pool.row],
                        (unsigned long long)t->pools.b[pool.row], stream);
}

/* Describes what is next to a hole: "4.00 MiB train.py:62 forward", or the edge of the segment. */
static const char *neighbour(mv_listing_maker *m, uint32_t alloc, const char *edge)
{
    char size[MV_SIZE_TEXT];

    if (alloc == MV_NO_ROW)
        return edge;
    return mv_make_text(&m->words, "%s %s", mv_size_text(size, m->lives->allocs.block[alloc]),
                        mv_listing_label(m, m->lives->allocs.stack[alloc]));
}

static void add_hole(mv_listing_maker *m, const mv_heap_map *map, uint32_t segment, uint32_t piece)
{
    bool has_left = piece > map->first_piece[segment];
    bool has_right = piece + 1 < map->first_piece[segment + 1];
    uint32_t left = has_left ? map->piece_row[piece - 1] : MV_NO_ROW;
    uint32_t right = has_right ? map->piece_row[piece + 1] : MV_NO_ROW;
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];

    cells[0].number = map->piece_size[piece];
    cells[1].number = map->size[segment];
    cells[2].number = map->piece_whole[piece];
    cells[3].number = map->piece_addr[piece];
    cells[4].text = pool_name(m, map->segment[segment]);
    cells[5].text = neighbour(m, left, "(start)");
    cells[6].text = neighbour(m, right, "(end)");
    place->hole = map->piece_addr[piece];
    place->segment = map->segment[segment];
}

bool mv_listing_fill_fragments(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] = {
        {"free", MV_CELL_BYTES, 84},  {"of segment", MV_CELL_BYTES, 90},
        {"whole", MV_CELL_BYTES, 84}, {"at", MV_CELL_ADDR, 116},
        {"pool", MV_CELL_TEXT, 190},  {"after", MV_CELL_TEXT, 0},
        {"before", MV_CELL_TEXT, 0}};
    mv_heap_moment heap;
    uint32_t holes = 0;
    mv_err err;
    char all[MV_SIZE_TEXT], largest[MV_SIZE_TEXT], count[MV_COUNT_TEXT];

    if (mv_heap_moment_find(&maker->scratch, maker->lives, maker->ask->active, maker->ask->event,
                            &heap, &err) != MV_OK)
        return false;
    for (uint32_t p = 0; p < heap.map.first_piece[heap.map.count]; p++)
        holes += heap.map.piece_row[p] == MV_NO_ROW;
    if (!mv_listing_reserve(maker, columns, 7, holes))
        return false;
    for (uint32_t s = 0; s < heap.map.count; s++)
        for (uint32_t p = heap.map.first_piece[s]; p < heap.map.first_piece[s + 1]; p++)
            if (heap.map.piece_row[p] == MV_NO_ROW)
                add_hole(maker, &heap.map, s, p);
    maker->out->note =
        mv_make_text(&maker->words,
                     "%s free in %s holes at the cursor, the largest %s; whole: could be "
                     "released",
                     mv_size_text(all, heap.sums.free), mv_count_text(count, holes),
                     mv_size_text(largest, heap.largest));
    return true;
}

/* ---- events ------------------------------------------------------------------------------ */

const mv_listing_column mv_listing_event_columns[] = {
    {"event", MV_CELL_EVENT, 84},     {"time", MV_CELL_TIME, 110}, {"action", MV_CELL_TEXT, 110},
    {"size", MV_CELL_BYTES, 84},      {"addr", MV_CELL_ADDR, 120}, {"stream", MV_CELL_ADDR, 110},
    {"line of code", MV_CELL_TEXT, 0}};

void mv_listing_event_row(mv_arena *arena, const mv_listing_query *ask, uint32_t event,
                          mv_cell *cells, mv_listing_place *place)
{
    const mv_trace *trace = &ask->document->trace;
    const mv_lives *lives = &ask->device->lives;
    const mv_events *e = &lives->events;
    uint32_t first = mv_call_first(trace, e, event);
    char label[256];

    mv_culprit_label(trace, ask->document->sites.kinds, e->stack[event], label, sizeof label);
    cells[0].number = event;
    cells[1].number = (uint64_t)time_of(ask, event);
    cells[2].text = mv_call_action(trace, e, event);
    cells[3].number = e->size[event];
    cells[4].number = e->addr[event];
    cells[5].number = e->stream[event].row < trace->streams.count
                          ? trace->streams.value[e->stream[event].row]
                          : 0;
    cells[6].text = mv_arena_text(arena, label, strlen(label));
    if (!cells[6].text)
        cells[6].text = "";
    *place = (mv_listing_place){.has_event = true,
                                .event = event,
                                .alloc = MV_NO_ROW,
                                .search = "",
                                .line = MV_NO_FRAME,
                                .stack = MV_NO_STACK};
    for (uint32_t i = first; i <= event; i++)
        if (mv_is_block_action(e->action[i]))
            place->alloc = lives->alloc_of[i];
}

/* ---- markers ----------------------------------------------------------------------------- */

/* Adds a named event or range; `to` is the end of a range. */
static void add_marker(mv_listing_maker *m, uint32_t event, uint32_t to, const char *kind,
                       const char *name)
{
    const mv_document_device *d = m->ask->device;
    uint32_t before = event == 0 ? MV_BEFORE : event - 1;
    mv_cell *cells = mv_listing_next(m);
    mv_listing_place *place = &m->out->places[m->out->count++];

    cells[0].number = event;
    cells[1].number = (uint64_t)time_of(m->ask, event);
    cells[2].text = kind;
    cells[3].number = to > event ? to - event : 0;
    cells[4].number = mv_index_bytes(&d->index, d->index.count, before);
    cells[5].text = name;
    place->has_event = true;
    place->event = before;
    if (to > event) {
        place->has_window = true;
        place->from = event;
        place->to = to;
    }
}

static void add_moment(mv_listing_maker *m, uint32_t event, const char *kind, const char *name)
{
    add_marker(m, event, 0, kind, name);
    m->out->places[m->out->count - 1].event = event;
}

static void add_steps(mv_listing_maker *m, const mv_steps *steps)
{
    uint32_t events = m->lives->events.count;
    char step[MV_COUNT_TEXT], all[MV_COUNT_TEXT];

    mv_count_text(all, steps->count);
    for (uint32_t i = 0; i < steps->count; i++)
        add_marker(m, steps->at[i], i + 1 < steps->count ? steps->at[i + 1] : events, "step",
                   mv_make_text(&m->words, "%s of %s, %s", mv_count_text(step, i + 1), all,
                                mv_steps_source_name(steps->source)));
}

bool mv_listing_fill_markers(mv_listing_maker *maker)
{
    static const mv_listing_column columns[] = {
        {"event", MV_CELL_EVENT, 84},     {"time", MV_CELL_TIME, 110},
        {"what", MV_CELL_TEXT, 110},      {"events", MV_CELL_COUNT, 84},
        {"allocated", MV_CELL_BYTES, 90}, {"name", MV_CELL_TEXT, 0}};
    const mv_document_device *d = maker->ask->device;
    const mv_trace_marks *l = &d->trace_marks;
    const mv_steps *steps = maker->ask->is_evaluated ? &d->leaks.steps : NULL;
    char size[MV_SIZE_TEXT], marks[MV_COUNT_TEXT], count[MV_COUNT_TEXT], ooms[MV_COUNT_TEXT];

    if (!mv_listing_reserve(maker, columns, 6,
                            l->mark_count + l->oom_count + (steps ? steps->count : 0) + 1))
        return false;
    if (maker->lives->events.count && d->peak_event != MV_BEFORE) {
        add_moment(maker, d->peak_event, "peak",
                   mv_make_text(&maker->words, "%s allocated", mv_size_text(size, d->peak)));
        maker->out->cells[4].number = d->peak;
    }
    for (uint32_t i = 0; i < l->oom_count; i++)
        add_moment(maker, l->ooms[i], "out of memory",
                   mv_make_text(&maker->words, "%s requested",
                                mv_size_text(size, maker->lives->events.size[l->ooms[i]])));
    for (uint32_t i = 0; i < l->mark_count; i++)
        add_marker(maker, l->marks[i].from, l->marks[i].to,
                   l->marks[i].is_moment ? "mark" : "annotation",
                   mv_string_text(maker->trace, l->marks[i].name));
    if (steps)
        add_steps(maker, steps);
    maker->out->note = mv_make_text(
        &maker->words, "%s annotations and marks, %s steps, %s failed requests",
        mv_count_text(marks, l->mark_count), mv_count_text(count, steps ? steps->count : 0),
        mv_count_text(ooms, l->oom_count));
    return true;
}
