/* Writes docs/internals/snapshot-format.md: header, TRACE, NOTES, DIGEST, the tables in the order
 * of mv_tables, INDEX, footer. The bytes depend only on the trace (and on the version of zstd). */
#include "base/grow.h"
#include "base/parallel_for.h"
#include "parse/container/wire_column.h"
#include "parse/container/wire_living.h"
#include "parse/container/wire_opening.h"
#include "parse/model/tables.h"
#include "parse/writers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

/* LIVING chunks take at most one byte out of LIVING_SHARE bytes of the file. So that short files have
 * pieces, too, they may take LIVING_MORE bytes more, but not more than one byte out of FIRST_SHARE, and
 * only if there are LEAST_EVENTS events since the last LIVING chunk. */
enum { LIVING_SHARE = 20, FIRST_SHARE = 4, LIVING_MORE = 1 << 18, LEAST_EVENTS = 1 << 17 };

/* Estimated bytes per row of a LIVING chunk; generate_2m and gpt_250k_all have 5 to 10. */
enum { LIVING_BYTES = 10 };

/* zstd levels. Compared with level 3, level 9 makes generate_2m (2 million events) a tenth smaller
 * but takes twice the time. Level 16 makes it a fifth smaller and takes one second more. Level 19
 * takes another two seconds, and the result is hardly any smaller. With tables that fit into a
 * CPU's cache, level 16 takes a quarter less time, and the result is 1 % larger. */
enum { TIGHT_HASH_LOG = 17, TIGHT_CHAIN_LOG = 18 };
static const int levels[] = {[MV_WRITE_QUICK] = 3, [MV_WRITE_SMALL] = 9, [MV_WRITE_SMALLEST] = 16};

/* Shortest repetition that is looked for in a column that is compressed separately. Without shorter
 * ones, a file of 50 million events is 4 % larger, but takes a tenth less time to decompress. */
enum { LEAST_MATCH = 6 };

/* Maximum number of chunks that are compressed at the same time. */
enum { MOST_WAITING = 16 };

/* Minimum size of a payload that is compressed. For smaller payloads, zstd's header takes as many
 * bytes as compression saves. */
enum { LEAST_WORTH_COMPRESSING = 1024 };

/* Minimum number of events in a chunk whose columns are compressed separately, so that readers can
 * leave out columns. */
enum { LEAST_WORTH_PARTS = 1 << 15 };

typedef struct {
    const mv_model_table *table;
    uint64_t rows;
    uint64_t next_call;
} table_state;

/* State for writing the events of a device, which arrive in pieces. */
typedef struct {
    mv_arena arena; /* owns `openings` */
    mv_arena piece; /* owns `living`, for the current piece */
    table_state table;
    uint32_t device;
    uint64_t first; /* number of the next event */
    mv_openings openings;
    bool has_openings;
    bool has_living; /* the device's lifetimes are known */
    mv_living_now living;
    uint64_t begin;          /* position of the device's first chunk */
    uint64_t spent, last;    /* bytes of all LIVING chunks, and of the last one */
    uint64_t living_row;     /* row of the last one */
    mv_arena between;        /* owns `alive` */
    mv_living_columns alive; /* live rows at the beginning of the next piece */
} event_state;

/* A chunk that is not written yet, and what the chunks in its place use. */
typedef struct {
    mv_wire_chunk head;
    uint8_t *raw; /* payload */
    uint64_t raw_capacity;
    uint64_t part_end[1 + MV_TABLE_COLUMNS]; /* [parts] ends of the parts of the payload, each of
                                              * which is compressed separately */
    uint32_t parts;
    uint8_t *packed;
    uint64_t packed_capacity;
    const uint8_t *stored; /* `raw` or `packed` */
    ZSTD_CCtx *zstd;
} waiting_chunk;

struct mv_snapshot_writer {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_write_opts *opts;
    mv_sink *sink;
    event_state events;
    bool has_failed; /* memory has run out */
    uint64_t start;  /* number of bytes that were in the sink before this snapshot */
    waiting_chunk waiting[MOST_WAITING];
    uint32_t waiting_count, most_waiting;
    uint8_t *raw;         /* payload of the chunk that is being made */
    uint64_t *work;       /* [MV_WIRE_CHUNK_ROWS] numbers, used by mv_column_encode */
    mv_wire_index *index; /* index of the chunks written so far */
    uint32_t index_capacity;
    uint32_t index_count;
    uint64_t events_done, events_total; /* number of events written so far and in total, for
                                         * progress reports */
};

typedef struct mv_snapshot_writer snapshot;

static void write_header(snapshot *s)
{
    mv_wire_header header = {.version = MV_WIRE_VERSION};

    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    mv_sink_write(s->sink, &header, sizeof header);
}

/* ---- chunks ------------------------------------------------------------------------------ */

static uint64_t bytes_written(const snapshot *s)
{
    return s->sink->bytes - s->start;
}

/* Compresses the parts of a payload. Returns the number of bytes, or an error of zstd. */
static size_t pack_parts(waiting_chunk *c)
{
    uint64_t from = 0, at = 0;

    for (uint32_t i = 0; i < c->parts; from = c->part_end[i], i++) {
        size_t packed = ZSTD_compress2(c->zstd, c->packed + at, c->packed_capacity - at,
                                       c->raw + from, c->part_end[i] - from);
        if (ZSTD_isError(packed))
            return packed;
        at += packed;
    }
    return at;
}

/* Compresses the payload of a chunk if that helps. Leaves `stored` NULL if memory runs out. */
static void pack(void *user, uint32_t i)
{
    snapshot *s = user;
    waiting_chunk *c = &s->waiting[i];
    mv_write_size size = s->opts ? s->opts->size : MV_WRITE_QUICK;
    bool is_tight = size != MV_WRITE_QUICK;
    size_t packed;

    c->head.codec = MV_WIRE_CODEC_NONE;
    c->head.stored_bytes = c->head.raw_bytes;
    c->stored = c->raw;
    if (c->head.raw_bytes < LEAST_WORTH_COMPRESSING)
        return;
    ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, levels[size]);
    if (is_tight) {
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_hashLog, TIGHT_HASH_LOG);
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_chainLog, TIGHT_CHAIN_LOG);
    }
    ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_minMatch, c->parts > 1 && !is_tight ? LEAST_MATCH : 0);
    packed = pack_parts(c);
    if (ZSTD_getErrorCode(packed) == ZSTD_error_memory_allocation)
        c->stored = NULL;
    if (ZSTD_isError(packed) || packed >= c->head.raw_bytes)
        return;
    c->head.codec = MV_WIRE_CODEC_ZSTD;
    c->head.stored_bytes = packed;
    c->stored = c->packed;
}

static bool write_packed(snapshot *s, waiting_chunk *c)
{
    static const uint8_t zeros[MV_WIRE_ALIGN];
    mv_wire_chunk *head = &c->head;

    if (!c->stored)
        return false;
    head->stored_hash = XXH3_64bits(c->stored, head->stored_bytes);
    head->hash = XXH3_64bits(head, offsetof(mv_wire_chunk, hash));
    if (!mv_append(s->arena, s->index, s->index_count, s->index_capacity,
                   (mv_wire_index){.at = bytes_written(s), .head = *head}))
        return false;
    mv_sink_write(s->sink, head, sizeof *head);
    mv_sink_write(s->sink, c->stored, head->stored_bytes);
    mv_sink_write(s->sink, zeros, mv_wire_aligned(head->stored_bytes) - head->stored_bytes);
    c->parts = 0;
    return true;
}

/* Writes the waiting chunks. */
static bool flush(snapshot *s)
{
    uint32_t count = s->waiting_count;

    s->waiting_count = 0;
    mv_parallel_for(count, 0, pack, s);
    for (uint32_t i = 0; i < count; i++)
        if (!write_packed(s, &s->waiting[i]))
            return false;
    return true;
}

/* Writes the waiting chunks, and from then on one chunk at a time, because memory is short. Keeps
 * the chunk that is being made. Returns false if no chunks were waiting, or after a failure. */
static bool write_singly(snapshot *s)
{
    waiting_chunk *now = &s->waiting[s->waiting_count], first = s->waiting[0];

    if (s->waiting_count == 0 || !flush(s))
        return false;
    s->waiting[0] = *now;
    *now = first;
    for (uint32_t i = 1; i < MOST_WAITING; i++) {
        mv_arena_drop(s->arena, s->waiting[i].raw);
        mv_arena_drop(s->arena, s->waiting[i].packed);
        s->waiting[i] = (waiting_chunk){.zstd = s->waiting[i].zstd};
    }
    s->most_waiting = 1;
    return true;
}

/* Returns the position of the next chunk, once all chunks before it are written. */
static uint64_t position(snapshot *s)
{
    s->has_failed |= !flush(s);
    return bytes_written(s);
}

static bool has_room(snapshot *s, uint64_t bytes)
{
    waiting_chunk *c = &s->waiting[s->waiting_count];
    bool is_enough = mv_room_for(s->arena, c->raw, bytes, c->raw_capacity);

    s->raw = c->raw;
    return is_enough;
}

/* Makes room for the payload of the next chunk at s->raw. */
static bool make_room(snapshot *s, uint64_t bytes)
{
    return has_room(s, bytes) || (write_singly(s) && has_room(s, bytes));
}

/* Makes what is needed to compress the chunk that was made. */
static bool can_pack(snapshot *s)
{
    waiting_chunk *c = &s->waiting[s->waiting_count];

    c->zstd = c->zstd ? c->zstd : ZSTD_createCCtx();
    return c->zstd && mv_room_for(s->arena, c->packed,
                                  ZSTD_compressBound(c->head.raw_bytes) +
                                      c->parts * (uint64_t)ZSTD_compressBound(0),
                                  c->packed_capacity);
}

/* Ends a part of the payload at `at`. */
static void end_part(snapshot *s, uint64_t at)
{
    waiting_chunk *c = &s->waiting[s->waiting_count];

    if (c->parts == 0 || c->part_end[c->parts - 1] < at)
        c->part_end[c->parts++] = at;
}

/* Writes the chunk whose payload is the first `raw_bytes` of s->raw, now or together with later
 * ones. */
static bool write_chunk(snapshot *s, mv_wire_chunk head, uint64_t raw_bytes)
{
    end_part(s, raw_bytes);
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.raw_bytes = raw_bytes;
    s->waiting[s->waiting_count].head = head;
    if (!can_pack(s) && !(write_singly(s) && can_pack(s)))
        return false;
    s->waiting_count++;
    return !s->has_failed && (s->waiting_count < s->most_waiting || flush(s));
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Returns the number of the next new call. Calls are numbered in file order, so this number is
 * above all earlier calls in this column. */
static uint64_t calls_before(const uint32_t *calls, uint64_t first, uint64_t rows, uint64_t next)
{
    for (uint64_t i = first; i < first + rows; i++)
        if (calls[i] != MV_NO_CALL && calls[i] >= next)
            next = (uint64_t)calls[i] + 1;
    return next;
}

/* Returns the values of rows [first, first + count) of a table. For range ends, the end of the
 * previous row is included. */
static mv_column_values values_of(const void *rows, table_state *t, const mv_table_column *column,
                                  uint64_t first, uint32_t count)
{
    const uint8_t *all =
        (const uint8_t *)mv_column_of(rows, column) + (column->is_end ? column->size : 0);
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

static bool write_rows(snapshot *s, table_state *t, const void *rows, uint64_t first,
                       uint32_t count, const mv_wire_chunk *chunk)
{
    const mv_model_table *table = t->table;
    uint64_t at = table->column_count * sizeof(mv_wire_column);
    uint64_t most = at;
    bool has_parts;

    for (uint32_t i = 0; i < table->column_count; i++)
        most += mv_wire_aligned((uint64_t)count * table->columns[i].size);
    if (!make_room(s, most))
        return false;
    has_parts = chunk->kind == MV_WIRE_EVENTS && count >= LEAST_WORTH_PARTS;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        mv_column_values in = values_of(rows, t, column, first, count);
        mv_wire_column head;
        uint64_t bytes = mv_column_encode(&in, s->work, &head, s->raw + at);

        if (has_parts)
            end_part(s, at);
        head.column = column->number;
        head.columns = table->column_count;
        memcpy(s->raw + i * sizeof head, &head, sizeof head);
        memset(s->raw + at + bytes, 0, mv_wire_aligned(bytes) - bytes);
        at += mv_wire_aligned(bytes);
    }
    return write_chunk(s, *chunk, at);
}

/* ---- openings ---------------------------------------------------------------------------- */

static void begin_device(snapshot *s, uint32_t device)
{
    event_state *e = &s->events;
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);

    *e = (event_state){
        .table = {.table = table,
                  .rows =
                      device < s->trace->device_count ? mv_table_rows(s->trace, table, device) : 0},
        .device = device,
        .has_openings = s->opts && s->opts->digests,
        .begin = position(s),
    };
    mv_arena_init(&e->arena, s->arena->budget);
    mv_arena_init(&e->piece, s->arena->budget);
    mv_arena_init(&e->between, s->arena->budget);
    e->openings = (mv_openings){.allocs.arena = &e->arena, .row_of.arena = &e->arena};
}

static void end_device(event_state *e)
{
    mv_arena_release(&e->arena);
    mv_arena_release(&e->piece);
    mv_arena_release(&e->between);
}

/* Begins a piece, whose first rows are the live rows in e->alive. */
static bool begin_piece(event_state *e, const mv_snapshot_piece *piece)
{
    e->has_living = e->has_openings && piece->spans && piece->spans->is_known;
    if (!e->has_living)
        return true;
    if (!mv_living_init(&e->living, &e->piece, piece->events, piece->spans))
        return false;
    e->living.before = (mv_living_before){piece->before, (uint32_t)e->first, e->alive.event};
    return mv_living_pass(&e->living, piece->before);
}

/* Ends a piece. The rows that are alive at its end are the first rows of the next piece. */
static bool end_piece(event_state *e)
{
    mv_arena between;
    mv_living_columns alive = {0};
    bool is_enough;

    mv_arena_init(&between, e->arena.budget);
    is_enough = !e->has_living || e->first == e->table.rows ||
                mv_living_columns_make(&e->living, &between, &alive);
    mv_arena_release(&e->between);
    mv_arena_release(&e->piece);
    e->between = between;
    e->alive = alive;
    return is_enough;
}

/* Returns true if a LIVING chunk of `live` rows before event `row` is within its share of the bytes
 * written since the device's first chunk. */
static bool can_afford(snapshot *s, const event_state *o, uint64_t live, uint64_t row)
{
    uint64_t bytes = o->last ? o->last : live * LIVING_BYTES, written = position(s) - o->begin;
    uint64_t more = written / FIRST_SHARE < LIVING_MORE ? written / FIRST_SHARE : LIVING_MORE;

    if (row - o->living_row < LEAST_EVENTS)
        more = 0;
    return o->spent + bytes <= written / LIVING_SHARE + more;
}

static bool write_living(snapshot *s, event_state *o, mv_wire_chunk head)
{
    mv_table_column columns[MV_TABLE_COLUMNS];
    mv_model_table layout;
    table_state t = {.table = mv_living_layout(&layout, columns)};
    uint64_t begin = position(s), most = mv_living_rows(&o->living);
    mv_living_columns rows;
    mv_arena work;
    bool is_written;

    if (most > MV_WIRE_CHUNK_ROWS ||
        (!s->opts->chunk_rows && !can_afford(s, o, most, head.first_row)))
        return true;
    mv_arena_init(&work, s->arena->budget);
    is_written = mv_living_columns_make(&o->living, &work, &rows);
    head.kind = MV_WIRE_LIVING;
    head.count = is_written ? rows.rows.count : 0;
    if (head.count > 0)
        is_written = write_rows(s, &t, &rows, 0, head.count, &head);
    mv_arena_release(&work);
    o->living_row = head.first_row;
    o->last = position(s) - begin;
    o->spent += o->last;
    return is_written;
}

/* Writes the opening of a chunk of events, which begin at `row`. Before the first event, all numbers
 * are 0. */
static bool write_opening(snapshot *s, event_state *e, const mv_events *events, uint32_t row,
                          mv_wire_chunk head)
{
    table_state t = {.table = &mv_opening_layout};

    if (!mv_openings_pass(&e->openings, events, row, row + head.count))
        return false;
    head.kind = MV_WIRE_OPENING;
    head.count = e->openings.before.count;
    return head.count == 0 || head.first_row == 0 ||
           write_rows(s, &t, &e->openings.before, 0, head.count, &head);
}

static uint32_t rows_of_chunk(const snapshot *s, const mv_model_table *table, uint64_t left)
{
    uint32_t most = table->chunk_rows;

    if (table->kind == MV_WIRE_EVENTS && s->opts && s->opts->chunk_rows)
        most = s->opts->chunk_rows;
    return left < most ? (uint32_t)left : most;
}

static bool write_table(snapshot *s, const mv_model_table *table, uint32_t device)
{
    const void *rows = mv_table_of(s->trace, table, device);
    table_state t = {.table = table, .rows = mv_table_rows(s->trace, table, device)};

    for (uint64_t first = 0; first < t.rows; first += table->chunk_rows) {
        mv_wire_chunk head = {.kind = table->kind,
                              .device = device,
                              .count = rows_of_chunk(s, table, t.rows - first),
                              .first_row = first,
                              .table_rows = t.rows};
        if (!write_rows(s, &t, rows, first, head.count, &head))
            return false;
    }
    return true;
}

/* Writes the events of a piece. If digests are written, so are openings among the events, because
 * readers of a part need them. */
static bool write_events(snapshot *s, const mv_snapshot_piece *piece)
{
    event_state *e = &s->events;
    uint64_t row = piece->before;

    while (row < piece->events->count) {
        mv_wire_chunk head = {.kind = MV_WIRE_EVENTS,
                              .device = e->device,
                              .count = rows_of_chunk(s, e->table.table, piece->events->count - row),
                              .first_row = e->first,
                              .table_rows = e->table.rows};
        if ((e->has_openings && !write_opening(s, e, piece->events, (uint32_t)row, head)) ||
            (e->has_living && !write_living(s, e, head)) ||
            !write_rows(s, &e->table, piece->events, row, head.count, &head) ||
            (e->has_living && !mv_living_pass(&e->living, head.count)))
            return false;
        row += head.count;
        e->first += head.count;
        s->events_done += head.count;
        if (s->opts && s->opts->progress)
            s->opts->progress(s->opts->user, s->events_done, s->events_total);
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

    if (!make_room(s, most))
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

    if (!make_room(s, MV_NOTE_COUNT * (sizeof(mv_wire_note) + 2 * UINT8_MAX)))
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
    if (!make_room(s, trace->device_count * sizeof(mv_wire_digest)))
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
    mv_wire_footer footer = {.index_at = position(s)};
    uint64_t bytes = s->index_count * (uint64_t)sizeof *s->index;

    if (!make_room(s, bytes))
        return false;
    memcpy(s->raw, s->index, bytes);
    if (!write_chunk(s, (mv_wire_chunk){.kind = MV_WIRE_INDEX, .count = s->index_count}, bytes))
        return false;
    memcpy(footer.magic, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES);
    footer.file_bytes = position(s) + sizeof footer;
    if (s->has_failed)
        return false;
    footer.hash = XXH3_64bits(&footer, offsetof(mv_wire_footer, hash));
    mv_sink_write(s->sink, &footer, sizeof footer);
    return true;
}

static bool write_before_events(snapshot *s, const mv_model_table *table, uint32_t device)
{
    return table->kind >= MV_WIRE_EVENTS || write_table(s, table, device);
}

static bool write_after_events(snapshot *s, const mv_model_table *table, uint32_t device)
{
    return table->kind <= MV_WIRE_EVENTS || write_table(s, table, device);
}

static bool write_begin(snapshot *s)
{
    s->most_waiting = mv_parallel_for_threads(MOST_WAITING, 0);
    s->work = mv_arena_grow(s->arena, NULL, MV_WIRE_CHUNK_ROWS * (uint64_t)sizeof *s->work);
    if (!s->work)
        return false;
    write_header(s);
    return write_trace(s) && write_notes(s) && write_digests(s) &&
           for_tables(s, write_before_events);
}

mv_snapshot_writer *mv_snapshot_begin(mv_arena *scratch, const mv_trace *trace,
                                      const mv_write_opts *opts, mv_sink *sink)
{
    snapshot *s = mv_push_struct(scratch, snapshot);

    if (!s)
        return NULL;
    *s = (snapshot){
        .arena = scratch, .trace = trace, .opts = opts, .sink = sink, .start = sink->bytes};
    s->has_failed = !write_begin(s);
    begin_device(s, 0);
    return s;
}

void mv_snapshot_put(mv_snapshot_writer *s, mv_snapshot_piece piece)
{
    event_state *e = &s->events;

    if (s->has_failed || piece.events->count == piece.before)
        return;
    if (piece.device != e->device) {
        end_device(e);
        begin_device(s, piece.device);
    }
    s->has_failed = !begin_piece(e, &piece) || !write_events(s, &piece) || !end_piece(e);
}

const mv_living_columns *mv_snapshot_alive(const mv_snapshot_writer *s)
{
    return &s->events.alive;
}

mv_code mv_snapshot_end(mv_snapshot_writer *s, mv_err *err)
{
    bool is_whole = s && (s->has_failed || s->events_done == s->events_total);
    bool is_written =
        is_whole && !s->has_failed && for_tables(s, write_after_events) && write_end(s);

    if (s) {
        end_device(&s->events);
        for (uint32_t i = 0; i < MOST_WAITING; i++) {
            ZSTD_freeCCtx(s->waiting[i].zstd);
            mv_arena_drop(s->arena, s->waiting[i].raw);
            mv_arena_drop(s->arena, s->waiting[i].packed);
        }
        mv_arena_drop(s->arena, s->work);
        mv_arena_drop(s->arena, s->index);
    }
    if (s && !is_whole)
        return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET,
                       "%llu events were written, the trace has %llu",
                       (unsigned long long)s->events_done, (unsigned long long)s->events_total);
    return is_written ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "writing the snapshot");
}

mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err)
{
    mv_snapshot_writer *s = mv_snapshot_begin(scratch, trace, opts, sink);

    for (uint32_t i = 0; s && i < trace->device_count; i++)
        mv_snapshot_put(s, (mv_snapshot_piece){
                               .device = i,
                               .events = &trace->devices[i].events,
                               .spans = opts && opts->spans ? &opts->spans[i] : NULL,
                           });
    return mv_snapshot_end(s, err);
}
