/* The rows of EVENTS that a part needs (mv_read_part), and where counting for them begins. */
#include "parse/container/wire_load.h"
#include "parse/container/wire_opening.h"

/* The times of events, by the first of each chunk. */
enum { TIME_COLUMN = 1 };

/* Decodes the times of a chunk; NULL: it has none, is damaged, or memory is out. */
static const int64_t *read_times(mv_load *load, const mv_chunk *chunk)
{
    uint32_t count = chunk->head.count;
    int64_t *times = mv_push_array(&load->scratch, int64_t, count);
    uint8_t *work = mv_arena_push(&load->scratch, count, sizeof *times);
    const uint8_t *payload;
    mv_wire_column head;

    if (!times || !work || mv_chunk_open_alone(load, &chunk->head, chunk->at, &payload) != MV_OK ||
        chunk->head.raw_bytes < sizeof head)
        return NULL;
    /* Writers put the columns in order of their numbers. */
    memcpy(&head, payload, sizeof head);
    if (head.column != TIME_COLUMN || !mv_column_can_decode(&head, sizeof *times) ||
        head.columns * sizeof head + (uint64_t)count * head.width > chunk->head.raw_bytes)
        return NULL;
    mv_column_decode(&head, payload + head.columns * sizeof head, count, sizeof *times, work,
                     times);
    return times;
}

/* The last chunk that begins before a time, by its row; the first one if all begin later. False:
 * there is a chunk whose times cannot be read. */
static bool find_chunk(mv_load *load, const mv_load_table *t, int64_t time_us, uint32_t *row)
{
    uint32_t low = 0, high = t->chunk_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        mv_arena_mark here = mv_arena_here(&load->scratch);
        const int64_t *times = read_times(load, &t->chunks[middle]);
        bool is_before = times && times[0] < time_us;
        mv_arena_rewind(&load->scratch, here);
        if (!times)
            return false;
        *(is_before ? &low : &high) = middle;
    }
    *row = low;
    return true;
}

/* The rows between two times. Rows that are left out are zero, so only later times than 0 can be
 * found among the others. */
static bool find_rows(mv_load *load, const mv_load_table *t, mv_part_rows *out)
{
    const mv_digest *d = &load->digests[t->device];
    int64_t from_us = load->part->from_us, to_us = load->part->to_us;
    uint32_t row;

    if (from_us == 0 && to_us == 0)
        return true;
    if (d->unsorted > 0 || d->first_us <= 0 || from_us < 0 || to_us < 0)
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

/* Chunks of the wanted devices' openings are in order of events, so the last one before the part is
 * the best. One that is damaged is as good as none: the events from the one before it are read. */
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
        if (device >= load->totals.devices || has[device] ||
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
    return find_starts(load, err);
}
