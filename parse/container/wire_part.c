/* Finds the EVENTS rows that a part needs (mv_read_part), and counts the allocations before them. */
#include <stdatomic.h>

#include "base/parallel_for.h"
#include "parse/container/wire_load.h"
#include "parse/container/wire_opening.h"

mv_code mv_part_times(mv_load *load, const mv_chunk *from, const int64_t **times)
{
    const mv_model_table *events = mv_table_find(MV_WIRE_EVENTS);
    mv_model_table layout = *events;
    mv_load_table t = {.layout = &layout};
    mv_chunk chunk = *from;

    layout.columns += __builtin_ctz(MV_EVENT_time_us);
    layout.column_count = 1;
    chunk.head.first_row = 0;
    t.columns[0] = mv_push_array(&load->scratch, int64_t, chunk.head.count);
    *times = t.columns[0];
    return t.columns[0] ? mv_rows_decode_chunk(load, &t, &chunk) : MV_NOMEM;
}

/* Finds the last chunk whose first event is before a time, or the first chunk if all chunks begin
 * later. Returns false if the times of a chunk cannot be read. */
static bool find_chunk(mv_load *load, const mv_load_table *t, int64_t time_us, uint32_t *row)
{
    uint32_t low = 0, high = t->chunk_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        mv_arena_mark here = mv_arena_here(&load->scratch);
        const int64_t *times;
        bool is_read = mv_part_times(load, &t->chunks[middle], &times) == MV_OK;
        bool is_before = is_read && times[0] < time_us;
        mv_arena_rewind(&load->scratch, here);
        if (!is_read)
            return false;
        *(is_before ? &low : &high) = middle;
    }
    *row = low;
    return true;
}

/* Finds the rows between two times. Only times above 0 can be found, because rows that are left out
 * have time 0. */
static bool find_rows(mv_load *load, const mv_load_table *t, mv_part_rows *out)
{
    const mv_digest *d = &load->digests[t->device];
    int64_t from_us = load->part->from_us, to_us = load->part->to_us;
    uint32_t row;

    if (from_us == 0 && to_us == 0)
        return true;
    if (d->first_us <= 0 || from_us < 0 || to_us < 0)
        return false;
    if (from_us) {
        if (!find_chunk(load, t, from_us, &row))
            return false;
        out->first = t->chunks[row].head.first_row;
    }
    if (to_us) {
        if (!find_chunk(load, t, to_us, &row))
            return false;
        out->end = t->chunks[row].head.first_row + t->chunks[row].head.count + 1;
        if (t->chunks[row].head.first_row < out->first)
            out->first = t->chunks[row].head.first_row; /* --from is after --to */
    }
    return true;
}

uint32_t mv_load_chunk_at(const mv_load_table *t, uint64_t first)
{
    uint32_t low = 0, high = t->chunk_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->chunks[middle].head.first_row < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->chunk_count && t->chunks[low].head.first_row == first ? low : t->chunk_count;
}

/* ---- rows of a part ---------------------------------------------------------------------- */

/* Returns the first row after the part that may be left out; UINT64_MAX if no rows may be left out.
 * Lifetimes do not depend on events after the part if the history is complete. Which segments are in
 * private pools may depend on the final heap. */
static uint64_t find_cut(const mv_load *load, const mv_load_table *t)
{
    bool has_private = mv_load_find(load, MV_WIRE_POOLS)->declared_rows > 1;
    mv_part_rows rows = load->rows[t->device];

    if (load->part->has_living &&
        (load->digests[t->device].history != MV_DIGEST_COMPLETE || has_private))
        return UINT64_MAX;
    for (uint32_t i = 0; i < t->chunk_count; i++)
        if (t->chunks[i].head.first_row > rows.first && t->chunks[i].head.first_row > rows.end)
            return t->chunks[i].head.first_row;
    return UINT64_MAX;
}

/* Removes the chunks outside the part, and numbers the rows of the remaining chunks after the live
 * rows. */
static void leave_out(mv_load *load, mv_load_table *t, uint64_t end)
{
    mv_living l = load->living[t->device];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < t->chunk_count; i++) {
        mv_chunk chunk = t->chunks[i];
        if (chunk.head.first_row < l.first || chunk.head.first_row >= end)
            continue;
        chunk.head.first_row += (uint64_t)l.count - l.first;
        t->chunks[kept++] = chunk;
    }
    for (uint32_t i = kept; i < t->chunk_count; i++)
        t->chunks[i].head.count = 0;
    t->chunk_count = kept;
    if (l.is_cut)
        t->rows = t->declared_rows = end;
    t->rows = t->rows - l.first + l.count;
    t->declared_rows -= l.first;
}

/* Returns true if all events of a device are in the file, and are in order of time. */
static bool is_whole(const mv_load *load, const mv_load_table *t)
{
    const mv_digest *d = &load->digests[t->device];
    uint64_t rows = 0;

    for (uint32_t i = 0; i < t->chunk_count; i++)
        rows += t->chunks[i].head.count;
    return rows == t->declared_rows && rows == t->rows && rows < MV_NO_ROW && d->unsorted == 0;
}

/* Returns true if rows can be numbered from the first one of a part, which requires that no other
 * table refers to event numbers. */
static bool allows_part(const mv_load *load)
{
    for (uint32_t i = 0; i < load->table_count; i++) {
        const mv_load_table *t = &load->tables[i];
        uint16_t kind = t->layout->kind;
        if (kind == MV_WIRE_EVENTS && !is_whole(load, t))
            return false;
        if ((kind == MV_WIRE_API_CALLS || kind == MV_WIRE_HEAP_CALLS || kind == MV_WIRE_FACTS) &&
            t->declared_rows > 0)
            return false;
    }
    return true;
}

/* Removes the chunks outside the part, where the first row that is needed is known. If to_end is
 * set, all rows until the end are needed. */
static void cut(mv_load *load, mv_load_table *t, bool to_end)
{
    bool is_other = load->part->device != MV_NO_ROW && load->part->device != t->device;
    uint64_t end = to_end || is_other ? UINT64_MAX : find_cut(load, t);
    mv_living *l = &load->living[t->device];

    if (is_other)
        l->first = (uint32_t)t->rows;
    l->total = (uint32_t)t->rows;
    l->is_cut = end < t->rows;
    leave_out(load, t, end);
}

static mv_code find_all_starts(mv_load *load, mv_err *err)
{
    if (!allows_part(load)) {
        load->digests = NULL;
        return MV_OK;
    }
    load->living = mv_push_array(load->arena, mv_living, load->totals.devices);
    if (!load->living)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS)
            continue;
        for (uint32_t k = 0; k < t->chunk_count; k++)
            if (t->chunks[k].head.first_row <= load->rows[t->device].first)
                load->living[t->device].first = (uint32_t)t->chunks[k].head.first_row;
        cut(load, t, false);
    }
    return MV_OK;
}

/* ---- versions ---------------------------------------------------------------------------- */

typedef struct {
    const mv_load *load;
    const mv_load_table *table;
    const mv_events *events;
    const mv_chunk **openings; /* [table->chunk_count] the opening of each chunk; NULL: none */
    uint32_t *versions;        /* [events->count] */
    _Atomic bool no_memory, is_bad;
} numbering;

/* An opening that is missing or damaged counts as empty, which contradicts the events. */
static mv_code read_opening(mv_load *load, const mv_chunk *from, mv_opening *out)
{
    mv_load_table t = {.layout = &mv_opening_layout};
    mv_chunk chunk = *from;
    mv_code code;

    chunk.head.first_row = 0;
    if (chunk.head.count == 0 || chunk.head.count > MV_WIRE_CHUNK_ROWS)
        return MV_OK;
    t.columns[0] = out->allocs = mv_push_array(load->arena, uint32_t, chunk.head.count);
    code = out->allocs ? mv_rows_decode_chunk(load, &t, &chunk) : MV_NOMEM;
    if (code == MV_OK && out->allocs[0] != MV_NO_ROW) /* the column is there */
        out->count = chunk.head.count;
    return code == MV_NOMEM ? MV_NOMEM : MV_OK;
}

static void number_chunk(void *user, uint32_t i)
{
    numbering *n = user;
    uint32_t first = (uint32_t)n->table->chunks[i].head.first_row;
    uint32_t end = first + n->table->chunks[i].head.count;
    bool is_first = first == 0 && n->load->living[n->table->device].first == 0;
    mv_opening opening = {0};
    mv_load load = *n->load;
    mv_code code = MV_OK;

    mv_arena_init(&load.scratch, n->load->arena->budget);
    load.arena = &load.scratch;
    if (n->openings[i])
        code = read_opening(&load, n->openings[i], &opening);
    if (code == MV_OK)
        code = mv_versions_find(&load.scratch, n->events, first, first, end,
                                is_first ? NULL : &opening, n->versions + first);
    mv_arena_release(&load.scratch);
    if (code != MV_OK)
        atomic_store(code == MV_NOMEM ? &n->no_memory : &n->is_bad, true);
}

static bool number_table(mv_load *load, const mv_load_table *t, const mv_events *events,
                         uint32_t **versions)
{
    numbering n = {.load = load, .table = t, .events = events};
    uint64_t before = load->living[t->device].first;

    n.openings = mv_push_array(&load->scratch, const mv_chunk *, t->chunk_count);
    *versions = n.versions = mv_push_unset(load->arena, uint32_t, events->count);
    if (!n.openings || !n.versions)
        return false;
    for (uint32_t i = 0; i < load->opening_count; i++) {
        const mv_chunk *c = &load->openings[i];
        uint32_t at = c->head.kind == MV_WIRE_OPENING && c->head.device == t->device
                          ? mv_load_chunk_at(t, c->head.first_row - before)
                          : t->chunk_count;
        if (at < t->chunk_count)
            n.openings[at] = c;
    }
    mv_parallel_for(t->chunk_count, 0, number_chunk, &n);
    load->needs_whole = load->needs_whole || atomic_load(&n.is_bad);
    return !atomic_load(&n.no_memory);
}

mv_code mv_part_number(mv_load *load, mv_trace *out, mv_err *err)
{
    uint32_t **versions = mv_push_array(load->arena, uint32_t *, load->totals.devices);
    bool is_enough = versions != NULL;

    for (uint32_t i = 0; i < load->table_count && is_enough; i++) {
        const mv_load_table *t = &load->tables[i];
        if (t->layout->kind == MV_WIRE_EVENTS)
            is_enough =
                number_table(load, t, &out->devices[t->device].events, &versions[t->device]);
    }
    out->versions = versions;
    if (!is_enough)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "openings");
    return load->needs_whole ? mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "openings") : MV_OK;
}

/* ---- parts with live rows ---------------------------------------------------------------- */

/* Returns true if each row is an action that can begin a block or segment, the rows are sorted by
 * event, and blocks from before the first event come last. */
static bool are_beginnings(const mv_living_columns *rows, uint32_t first)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < rows->rows.count; i++) {
        uint32_t event = rows->event[i];
        uint8_t action = rows->rows.action[i];
        if (event < last || (event >= first && event != MV_NO_ROW) ||
            (action != MV_ACTION_ALLOC &&
             (event == MV_NO_ROW ||
              (action != MV_ACTION_FREE_REQUESTED && action != MV_ACTION_SEGMENT_ALLOC &&
               action != MV_ACTION_SEGMENT_MAP))))
            return false;
        last = event;
    }
    return true;
}

mv_code mv_living_read(mv_load *load, const mv_chunk *from, mv_living_columns *rows, mv_living *out)
{
    mv_table_column columns[MV_TABLE_COLUMNS];
    mv_model_table layout;
    mv_load_table t = {.layout = mv_living_layout(&layout, columns)};
    mv_chunk chunk = *from;
    uint32_t count = chunk.head.count;
    mv_code code;

    if (count == 0 || count > MV_WIRE_CHUNK_ROWS || chunk.head.first_row >= MV_NO_ROW)
        return MV_CORRUPT;
    chunk.head.first_row = 0;
    rows->rows.count = count;
    for (uint32_t i = 0; i < layout.column_count; i++) {
        t.columns[i] = mv_arena_push(load->arena, count, columns[i].size);
        if (!t.columns[i])
            return MV_NOMEM;
        mv_column_set(rows, &columns[i], t.columns[i]);
    }
    code = mv_rows_decode_chunk(load, &t, &chunk);
    if (code == MV_OK && !are_beginnings(rows, (uint32_t)from->head.first_row))
        code = MV_CORRUPT;
    *out = (mv_living){
        .first = (uint32_t)from->head.first_row, .block = rows->block, .event = rows->event};
    while (out->count < count && rows->event[out->count] != MV_NO_ROW)
        out->count++;
    out->older = count - out->count;
    out->older_addr = rows->rows.addr + out->count;
    out->older_block = rows->block + out->count;
    return code;
}

/* For each device, reads the last intact LIVING chunk before the part. A device that has none is
 * read from its first event. *is_certain is set if the device has LIVING chunks. */
static mv_code find_living(mv_load *load, bool *is_certain)
{
    for (uint32_t i = load->opening_count; i-- > 0;) {
        const mv_chunk *chunk = &load->openings[i];
        uint32_t device = chunk->head.device;
        mv_code code;
        if (chunk->head.kind != MV_WIRE_LIVING || device >= load->totals.devices ||
            (load->part->device != MV_NO_ROW && load->part->device != device))
            continue;
        is_certain[device] = true;
        if (load->living[device].first > 0 || chunk->head.first_row >= load->rows[device].first)
            continue;
        code = mv_living_read(load, chunk, &load->alive[device], &load->living[device]);
        if (code == MV_NOMEM)
            return code;
        if (code != MV_OK)
            load->living[device] = (mv_living){0};
    }
    return MV_OK;
}

bool mv_part_allows_living(const mv_load *load)
{
    for (uint32_t i = 0; i < load->table_count; i++) {
        const mv_load_table *t = &load->tables[i];
        if (t->layout->kind == MV_WIRE_EVENTS &&
            load->digests[t->device].count[MV_ACTION_ALLOC] == 0)
            return false;
    }
    return allows_part(load);
}

static mv_code find_all_living(mv_load *load, mv_err *err)
{
    uint32_t devices = load->totals.devices;
    bool leaves = false, *is_certain = mv_push_array(&load->scratch, bool, devices);

    if (!mv_part_allows_living(load)) {
        load->digests = NULL;
        return MV_OK;
    }
    load->living = mv_push_array(load->arena, mv_living, devices);
    load->alive = mv_push_array(&load->scratch, mv_living_columns, devices);
    if (!load->living || !load->alive || !is_certain || find_living(load, is_certain) != MV_OK)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", devices);
    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS)
            continue;
        if (mv_load_chunk_at(t, load->living[t->device].first) == t->chunk_count)
            load->living[t->device] = (mv_living){0};
        cut(load, t, !is_certain[t->device]);
        leaves = leaves || mv_living_is_part(&load->living[t->device]);
    }
    if (!leaves)
        load->digests = NULL, load->living = NULL;
    return MV_OK;
}

void mv_part_begin(mv_load *load)
{
    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS || load->living[t->device].count == 0)
            continue;
        for (uint32_t k = 0; k < t->layout->column_count; k++) {
            const mv_table_column *c = &t->layout->columns[k];
            if (mv_load_absent(load, t->layout, k))
                continue;
            memcpy(t->columns[k], mv_column_of(&load->alive[t->device].rows, c),
                   (uint64_t)load->living[t->device].count * c->size);
        }
    }
}

mv_code mv_part_find(mv_load *load, mv_err *err)
{
    load->rows = mv_push_array(&load->scratch, mv_part_rows, load->totals.devices);
    if (!load->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    for (uint32_t i = 0; i < load->totals.devices; i++)
        load->rows[i] = (mv_part_rows){load->part->first, load->part->end};
    for (uint32_t i = 0; i < load->table_count; i++) {
        const mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS || t->chunk_count == 0 ||
            find_rows(load, t, &load->rows[t->device]))
            continue;
        load->digests = NULL;
        return MV_OK;
    }
    return load->part->has_living ? find_all_living(load, err) : find_all_starts(load, err);
}
