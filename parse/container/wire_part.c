/* Finds the EVENTS rows that a part needs (mv_read_part), and the opening at which counting
 * allocations for them begins. */
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

/* Finds the opening for each device. Openings are sorted by event, so the search begins with the
 * last one. If an opening is damaged, the previous opening is used, and more events are read. */
static mv_code find_starts(mv_load *load, mv_err *err)
{
    mv_opening *starts = mv_push_array(load->arena, mv_opening, load->totals.devices);
    bool *has = mv_push_array(&load->scratch, bool, load->totals.devices);

    if (!starts || !has)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    for (uint32_t i = load->opening_count; i-- > 0;) {
        const mv_chunk *chunk = &load->openings[i];
        uint32_t device = chunk->head.device;
        const uint8_t *payload;
        mv_code code;
        if (chunk->head.kind != MV_WIRE_OPENING || device >= load->totals.devices || has[device] ||
            chunk->head.first_row > load->rows[device].first ||
            (load->part->device != MV_NO_ROW && load->part->device != device))
            continue;
        code = mv_chunk_open_alone(load, &chunk->head, chunk->at, &payload);
        if (code == MV_OK)
            code = mv_opening_decode(load->arena, &chunk->head, payload, &starts[device]);
        if (code == MV_NOMEM)
            return mv_fail(err, MV_NOMEM, chunk->at, "%s", "opening");
        has[device] = code == MV_OK;
        if (!has[device])
            starts[device] = (mv_opening){0};
    }
    load->starts = starts;
    return MV_OK;
}

/* ---- rows of a part ---------------------------------------------------------------------- */

/* Returns the first row after the part that may be left out; UINT64_MAX if no rows may be left out.
 * Lifetimes do not depend on events after the part if the history is complete. */
static uint64_t find_cut(const mv_load *load, const mv_load_table *t)
{
    mv_part_rows rows = load->rows[t->device];

    if (load->part->has_living && load->digests[t->device].history != MV_DIGEST_COMPLETE)
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
    if (!load->living || find_starts(load, err) != MV_OK)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS)
            continue;
        mv_living *l = &load->living[t->device];
        mv_opening *start = &load->starts[t->device];
        for (uint32_t k = 0; k < t->chunk_count; k++)
            if (t->chunks[k].head.first_row <= start->event)
                l->first = (uint32_t)t->chunks[k].head.first_row;
        start->event -= l->first;
        cut(load, t, false);
    }
    return MV_OK;
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

/* Returns true if a chunk begins at row `first`. */
static bool begins_chunk(const mv_load_table *t, uint32_t first)
{
    for (uint32_t i = 0; i < t->chunk_count; i++)
        if (t->chunks[i].head.first_row == first)
            return true;
    return false;
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
        if (!begins_chunk(t, load->living[t->device].first))
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
