/* Writes docs/internals/snapshot-format.md: header, TRACE, NOTES, DIGEST, the tables in the order of
 * mv_tables, INDEX, footer. The bytes depend on the trace alone (and on the version of zstd). */
#include "base/grow.h"
#include "parse/container/wire_column.h"
#include "parse/container/wire_opening.h"
#include "parse/model/tables.h"
#include "parse/writers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Openings take at most one byte in this many. */
enum { OPENING_SHARE = 10 };

/* zstd level: 9 makes generate_2m (2 million events) a tenth smaller in twice the time, 16 a fifth
 * smaller in 1 s more, 19 hardly smaller in 2 s more. */
enum { LEVEL = 3, TIGHT_LEVEL = 16 };

/* Below this, zstd's own header takes as much as it saves. */
enum { LEAST_WORTH_COMPRESSING = 1024 };

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_write_opts *opts;
    mv_sink *sink;
    uint64_t start; /* bytes in the sink before this snapshot */
    ZSTD_CCtx *zstd;
    uint8_t *raw; /* payload of the chunk being made */
    uint64_t raw_capacity;
    uint8_t *packed;
    uint64_t packed_capacity;
    uint64_t *work;       /* [MV_WIRE_CHUNK_ROWS] for mv_column_encode */
    mv_wire_index *index; /* chunks written so far */
    uint32_t index_capacity;
    uint32_t index_count;
    uint64_t events_done, events_total; /* for progress */
} snapshot;

static uint64_t position(const snapshot *s)
{
    return s->sink->bytes - s->start;
}

static void write_header(snapshot *s)
{
    mv_wire_header header = {.version = MV_WIRE_VERSION};

    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    mv_sink_write(s->sink, &header, sizeof header);
}

static bool remember(snapshot *s, const mv_wire_chunk *head)
{
    return mv_append(s->arena, s->index, s->index_count, s->index_capacity,
                     (mv_wire_index){.at = position(s), .head = *head});
}

/* Compresses s->raw when that helps; returns the bytes to store. */
static const uint8_t *pack(snapshot *s, mv_wire_chunk *head)
{
    size_t packed;

    head->codec = MV_WIRE_CODEC_NONE;
    head->stored_bytes = head->raw_bytes;
    if (head->raw_bytes < LEAST_WORTH_COMPRESSING)
        return s->raw;
    if (!mv_room_for(s->arena, s->packed, ZSTD_compressBound(head->raw_bytes), s->packed_capacity))
        return NULL;
    packed = ZSTD_compressCCtx(s->zstd, s->packed, s->packed_capacity, s->raw, head->raw_bytes,
                               s->opts && s->opts->is_tight ? TIGHT_LEVEL : LEVEL);
    if (ZSTD_getErrorCode(packed) == ZSTD_error_memory_allocation)
        return NULL;
    if (ZSTD_isError(packed) || packed >= head->raw_bytes)
        return s->raw;
    head->codec = MV_WIRE_CODEC_ZSTD;
    head->stored_bytes = packed;
    return s->packed;
}

/* Writes the chunk whose payload is the first `raw_bytes` of s->raw. */
static bool write_chunk(snapshot *s, mv_wire_chunk head, uint64_t raw_bytes)
{
    static const uint8_t zeros[MV_WIRE_ALIGN];
    const uint8_t *stored;

    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.raw_bytes = raw_bytes;
    stored = pack(s, &head);
    if (!stored)
        return false;
    head.stored_hash = XXH3_64bits(stored, head.stored_bytes);
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    if (!remember(s, &head))
        return false;
    mv_sink_write(s->sink, &head, sizeof head);
    mv_sink_write(s->sink, stored, head.stored_bytes);
    mv_sink_write(s->sink, zeros, mv_wire_aligned(head.stored_bytes) - head.stored_bytes);
    return true;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Calls are numbered in file order, so the next new one is above all earlier ones in this
 * column. */
static uint64_t calls_before(const uint32_t *calls, uint64_t first, uint64_t rows, uint64_t next)
{
    for (uint64_t i = first; i < first + rows; i++)
        if (calls[i] != MV_NO_CALL && calls[i] >= next)
            next = (uint64_t)calls[i] + 1;
    return next;
}

typedef struct {
    const mv_model_table *table;
    uint32_t device;
    uint64_t rows;
    uint64_t next_call;
} table_state;

typedef struct {
    mv_openings openings;
    uint64_t begin, written, last; /* byte of the first chunk; bytes of openings: all, the last */
} opening_state;

/* The values of rows first to first + count - 1, and the end of the previous rows. */
static mv_column_values values_of(const snapshot *s, table_state *t, const mv_table_column *column,
                                  uint64_t first, uint32_t count)
{
    const uint8_t *all = mv_table_values(s->trace, t->table, t->device, column);
    mv_column_values in = {
        .values = all + first * column->size,
        .count = count,
        .size = column->size,
        .transform = column->transform,
        .keeps_start = column->is_end,
    };

    if (column->is_end)
        in.start = ((const uint64_t *)(const void *)in.values)[-1];
    if (column->transform == MV_WIRE_CALLS) {
        in.start = t->next_call;
        t->next_call =
            calls_before((const uint32_t *)(const void *)all, first, count, t->next_call);
    }
    return in;
}

static bool write_rows(snapshot *s, table_state *t, uint64_t first, uint32_t count)
{
    const mv_model_table *table = t->table;
    uint64_t at = table->column_count * sizeof(mv_wire_column);
    uint64_t most = at;

    for (uint32_t i = 0; i < table->column_count; i++)
        most += mv_wire_aligned((uint64_t)count * table->columns[i].size);
    if (!mv_room_for(s->arena, s->raw, most, s->raw_capacity))
        return false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        mv_column_values in = values_of(s, t, column, first, count);
        mv_wire_column head;
        uint64_t bytes = mv_column_encode(&in, s->work, &head, s->raw + at);

        head.column = column->number;
        head.columns = table->column_count;
        memcpy(s->raw + i * sizeof head, &head, sizeof head);
        memset(s->raw + at + bytes, 0, mv_wire_aligned(bytes) - bytes);
        at += mv_wire_aligned(bytes);
    }
    return write_chunk(s,
                       (mv_wire_chunk){.kind = table->kind,
                                       .device = t->device,
                                       .count = count,
                                       .first_row = first,
                                       .table_rows = t->rows},
                       at);
}

/* Writes the opening of the next chunk of events, if a tenth of what was written since the last one
 * has room for it. */
static bool write_opening(snapshot *s, opening_state *o, const table_state *t, uint64_t first)
{
    uint64_t room = mv_opening_room(&o->openings), begin = position(s), bytes;
    uint64_t allowed = (begin - o->begin) / OPENING_SHARE;

    if (!room || o->written + (o->last ? o->last : room / 4) > allowed)
        return true;
    if (!mv_room_for(s->arena, s->raw, room, s->raw_capacity))
        return false;
    bytes = mv_opening_encode(&o->openings, s->work, s->raw);
    if (!bytes || !write_chunk(s,
                               (mv_wire_chunk){.kind = MV_WIRE_OPENING,
                                               .device = t->device,
                                               .count = o->openings.count,
                                               .first_row = first,
                                               .table_rows = t->rows},
                               bytes))
        return false;
    o->last = position(s) - begin;
    o->written += o->last;
    return true;
}

/* The events of a device. With digests, readers of a part need openings, too. */
static bool write_events(snapshot *s, table_state *t)
{
    opening_state o = {.begin = position(s)};
    bool has_openings = s->opts && s->opts->digests, is_written = true;
    mv_arena own;

    mv_arena_init(&own, s->arena->budget);
    mv_openings_init(&o.openings, &own, &s->trace->devices[t->device].events);
    for (uint64_t first = 0; first < t->rows && is_written; first += t->table->chunk_rows) {
        uint64_t left = t->rows - first;
        uint32_t count = left < t->table->chunk_rows ? (uint32_t)left : t->table->chunk_rows;
        is_written = (!has_openings || write_opening(s, &o, t, first)) &&
                     write_rows(s, t, first, count) &&
                     (!has_openings || mv_openings_pass(&o.openings, count));
        s->events_done += count;
        if (is_written && s->opts && s->opts->progress)
            s->opts->progress(s->opts->user, s->events_done, s->events_total);
    }
    mv_arena_release(&own);
    return is_written;
}

static bool write_table(snapshot *s, const mv_model_table *table, uint32_t device)
{
    table_state t = {.table = table, .device = device};

    t.rows = mv_table_rows(s->trace, table, device);
    if (table->kind == MV_WIRE_EVENTS)
        return write_events(s, &t);
    for (uint64_t first = 0; first < t.rows; first += table->chunk_rows) {
        uint64_t left = t.rows - first;
        uint32_t count = left < table->chunk_rows ? (uint32_t)left : table->chunk_rows;
        if (!write_rows(s, &t, first, count))
            return false;
    }
    return true;
}

/* Calls `visit` for each table, once per device for EVENTS, until it returns false. */
static bool for_tables(snapshot *s,
                       bool (*visit)(snapshot *, const mv_model_table *, uint32_t device))
{
    for (const mv_model_table *table = mv_tables; table->kind; table++) {
        uint32_t times = table->kind == MV_WIRE_EVENTS ? s->trace->device_count : 1;
        for (uint32_t device = 0; device < times; device++)
            if (!visit(s, table, device))
                return false;
    }
    return true;
}

/* ---- the chunks that are not tables ------------------------------------------------------ */

static bool list_table(snapshot *s, const mv_model_table *table, uint32_t device)
{
    mv_wire_trace *head;
    mv_wire_table entry = {.kind = table->kind, .device = device};
    uint64_t at;

    entry.rows = mv_table_rows(s->trace, table, device);
    if (entry.rows == 0)
        return true;
    head = (mv_wire_trace *)(void *)s->raw;
    at = sizeof *head + head->tables++ * sizeof entry;
    memcpy(s->raw + at, &entry, sizeof entry);
    s->events_total += table->kind == MV_WIRE_EVENTS ? entry.rows : 0;
    return true;
}

static bool write_trace(snapshot *s)
{
    mv_wire_trace *head;
    uint64_t most = sizeof *head + (32 + (uint64_t)s->trace->device_count) * sizeof(mv_wire_table);

    if (!mv_room_for(s->arena, s->raw, most, s->raw_capacity))
        return false;
    head = (mv_wire_trace *)(void *)s->raw;
    *head = (mv_wire_trace){
        .calls = s->trace->calls, .devices = s->trace->device_count, .keys = s->trace->keys};
    for_tables(s, list_table);
    return write_chunk(s, (mv_wire_chunk){.kind = MV_WIRE_TRACE},
                       sizeof *head + head->tables * sizeof(mv_wire_table));
}

static bool write_notes(snapshot *s)
{
    uint32_t count = 0;
    uint64_t at = 0;

    if (!mv_room_for(s->arena, s->raw, MV_NOTE_COUNT * (sizeof(mv_wire_note) + 2 * UINT8_MAX),
                     s->raw_capacity))
        return false;
    for (unsigned i = 0; i < MV_NOTE_COUNT; i++) {
        const mv_note *note = &s->trace->notes[i];
        const char *name = mv_note_name((mv_note_code)i);
        mv_wire_note entry = {.count = note->count};
        if (note->count == 0)
            continue;
        entry.name_bytes = (uint8_t)strlen(name);
        entry.text_bytes = (uint8_t)strnlen(note->first, sizeof note->first);
        memcpy(s->raw + at, &entry, sizeof entry);
        at += sizeof entry;
        memcpy(s->raw + at, name, entry.name_bytes);
        at += entry.name_bytes;
        memcpy(s->raw + at, note->first, entry.text_bytes);
        at += entry.text_bytes;
        count++;
    }
    return count == 0 || write_chunk(s, (mv_wire_chunk){.kind = MV_WIRE_NOTES, .count = count}, at);
}

static mv_wire_digest stored_digest(const mv_digest *d, uint32_t device, uint32_t events)
{
    mv_wire_digest out = {.rules = MV_DIGEST_RULES,
                          .device = device,
                          .events = events,
                          .first_us = d->first_us,
                          .last_us = d->last_us,
                          .stacks = d->stacks,
                          .events_with_stack = d->events_with_stack,
                          .unsorted = d->unsorted,
                          .first_unsorted = d->first_unsorted,
                          .history = d->history,
                          .ring = d->ring};

    memcpy(out.count, d->count, sizeof d->count);
    memcpy(out.bytes, d->bytes, sizeof d->bytes);
    memcpy(out.why, d->history_why, sizeof d->history_why);
    return out;
}

static bool write_digests(snapshot *s)
{
    const mv_trace *trace = s->trace;
    uint32_t count = 0;

    if (!s->opts || !s->opts->digests)
        return true;
    if (!mv_room_for(s->arena, s->raw, trace->device_count * sizeof(mv_wire_digest),
                     s->raw_capacity))
        return false;
    for (uint32_t i = 0; i < trace->device_count; i++) {
        mv_wire_digest entry =
            stored_digest(&s->opts->digests[i], i, trace->devices[i].events.count);
        if (trace->devices[i].events.count > 0)
            memcpy(s->raw + count++ * sizeof entry, &entry, sizeof entry);
    }
    return count == 0 || write_chunk(s, (mv_wire_chunk){.kind = MV_WIRE_DIGEST, .count = count},
                                     count * sizeof(mv_wire_digest));
}

static bool write_end(snapshot *s)
{
    uint64_t bytes = s->index_count * (uint64_t)sizeof *s->index;
    mv_wire_footer footer = {.index_at = position(s)};

    if (!mv_room_for(s->arena, s->raw, bytes, s->raw_capacity))
        return false;
    memcpy(s->raw, s->index, bytes);
    if (!write_chunk(s, (mv_wire_chunk){.kind = MV_WIRE_INDEX, .count = s->index_count}, bytes))
        return false;
    memcpy(footer.magic, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES);
    footer.file_bytes = position(s) + sizeof footer;
    footer.hash = XXH3_64bits(&footer, offsetof(mv_wire_footer, hash));
    mv_sink_write(s->sink, &footer, sizeof footer);
    return true;
}

static bool write_all(snapshot *s)
{
    s->zstd = ZSTD_createCCtx();
    s->work = mv_arena_grow(s->arena, NULL, MV_WIRE_CHUNK_ROWS * (uint64_t)sizeof *s->work);
    if (!s->zstd || !s->work)
        return false;
    write_header(s);
    return write_trace(s) && write_notes(s) && write_digests(s) && for_tables(s, write_table) &&
           write_end(s);
}

mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err)
{
    snapshot s = {
        .arena = scratch, .trace = trace, .opts = opts, .sink = sink, .start = sink->bytes};
    bool written = write_all(&s);

    ZSTD_freeCCtx(s.zstd);
    mv_arena_drop(scratch, s.raw);
    mv_arena_drop(scratch, s.packed);
    mv_arena_drop(scratch, s.work);
    mv_arena_drop(scratch, s.index);
    if (!written)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "writing the snapshot");
    return MV_OK;
}
