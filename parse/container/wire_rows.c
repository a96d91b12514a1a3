#include <stdatomic.h>

#include "base/parallel_for.h"
#include "parse/container/wire_column.h"
#include "parse/container/wire_load.h"

enum {
    MOST_THREADS = 16,
    /* Number of bytes that can be decoded in the time that it takes to start a thread, which is
     * about 50 microseconds. */
    BYTES_A_THREAD = 4 << 20
};

typedef struct {
    mv_load *load;
    struct worker *workers;
    uint32_t worker_count;
    uint64_t most_raw;    /* largest number of decompressed bytes in a chunk */
    uint64_t most_stored; /* largest number of stored bytes in a chunk, if the file is not in
                           * memory */
    uint64_t most_column; /* largest number of bytes in a column */
    _Atomic bool no_memory;
} job;

/* A worker. It first decodes neighbouring chunks, so that it fills a contiguous range of the
 * columns, and then helps the other workers. */
typedef struct worker {
    job *job;
    uint32_t end;          /* end of the worker's own range of chunks */
    _Atomic uint32_t next; /* next chunk in the worker's own range; other workers may take it */
    mv_chunk_room room;    /* buffers of [most_stored] and [most_raw] bytes */
    uint8_t *column;       /* [most_column] buffer for the column being decoded */
} worker;

/* ---- one column -------------------------------------------------------------------------- */

static bool ids_below(const uint32_t *ids, uint32_t count, uint32_t limit, bool may_be_none)
{
    uint32_t none = may_be_none ? 1 : 0; /* adding 1 turns MV_NO_ROW into 0 */
    uint32_t most = limit + none - 1, beyond = 0;

    if (most > limit) /* there are no rows */
        return false;
    for (uint32_t i = 0; i < count; i++)
        beyond |= ids[i] + none > most;
    return beyond == 0;
}

static bool bytes_below(const uint8_t *values, uint32_t count, uint8_t limit)
{
    uint8_t most = 0;

    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most < limit;
}

static bool in_range(const mv_load *load, const mv_table_column *column, const mv_wire_column *head,
                     const void *values, uint32_t count)
{
    if (head->width == 0 && head->transform == MV_WIRE_PLAIN)
        count = 1; /* all values are equal */
    if (column->form == MV_FORM_DEVICE)
        return ids_below(values, count, MV_MOST_DEVICES, true);
    if (column->ref == MV_REF_NONE)
        return true;
    if (column->ref == MV_REF_CODE)
        return bytes_below(values, count, column->limit);
    return ids_below(values, count, load->limits[column->ref], mv_ref_may_be_none(column->ref));
}

static uint32_t column_row(const mv_model_table *layout, uint16_t number)
{
    for (uint32_t i = 0; i < layout->column_count; i++)
        if (layout->columns[i].number == number)
            return i;
    return MV_NO_ROW;
}

/* Prepares memory for the values of a column. */
static void prepare_values(const mv_load *load, const mv_table_column *column,
                           const mv_wire_column *head, uint32_t count, void *out)
{
    if (head->width > 0)
        mv_arena_touch(load->arena, out, (uint64_t)count * column->size);
    else if (mv_column_is_zero(head))
        mv_arena_clear(load->arena, out, (uint64_t)count * column->size);
}

/* ---- one chunk --------------------------------------------------------------------------- */

/* Fills columns that are missing from a chunk. Returns false if range ends are missing. A column
 * that refers to rows of an empty table is bad. */
static bool fill_absent(const mv_load *load, const mv_load_table *t, mv_chunk *chunk, uint32_t seen)
{
    for (uint32_t i = 0; i < t->layout->column_count; i++) {
        const mv_table_column *column = &t->layout->columns[i];
        mv_wire_column constant = {.base = column->absent};
        if ((seen & 1u << i) || mv_load_absent(load, t->layout, i))
            continue;
        if (column->is_end)
            return false;
        prepare_values(load, column, &constant, chunk->head.count,
                       mv_load_value(t, i, chunk->head.first_row));
        mv_column_decode(&constant, NULL, chunk->head.count, column->size, NULL,
                         mv_load_value(t, i, chunk->head.first_row));
        if (!in_range(load, column, &constant, mv_load_value(t, i, chunk->head.first_row),
                      chunk->head.count))
            chunk->bad_column = column->number;
    }
    return true;
}

static mv_code decode_column(const worker *w, const mv_load_table *t, mv_chunk *chunk,
                             const mv_wire_column *head, mv_payload *payload, uint64_t at,
                             uint32_t *seen)
{
    uint32_t i = column_row(t->layout, head->column);
    const mv_table_column *column;
    uint8_t *out;

    if (i == MV_NO_ROW) {
        chunk->new_columns++;
        return MV_OK;
    }
    column = &t->layout->columns[i];
    if ((*seen & 1u << i) || !mv_column_can_decode(head, column->size))
        return MV_CORRUPT;
    *seen |= 1u << i;
    if (mv_load_absent(w->job->load, t->layout, i))
        return MV_OK;
    if (!mv_payload_need(payload, at, at + (uint64_t)chunk->head.count * head->width))
        return MV_DECOMPRESS;
    out = mv_load_value(t, i, chunk->head.first_row);
    prepare_values(w->job->load, column, head, chunk->head.count, out);
    mv_column_decode(head, payload->bytes + at, chunk->head.count, column->size, w->column, out);
    if (column->is_end)
        chunk->begin = head->start;
    if (!in_range(w->job->load, column, head, out, chunk->head.count))
        chunk->bad_column = column->number;
    return MV_OK;
}

static mv_code decode_columns(const worker *w, const mv_load_table *t, mv_chunk *chunk,
                              mv_payload *payload)
{
    uint64_t at = sizeof(mv_wire_column), length = chunk->head.raw_bytes;
    mv_wire_column head = {0};
    uint32_t columns, seen = 0;

    if (length < at)
        return MV_CORRUPT;
    if (!mv_payload_need(payload, 0, at))
        return MV_DECOMPRESS;
    memcpy(&head, payload->bytes, sizeof head);
    columns = head.columns;
    at = columns * sizeof head;
    if (at > length)
        return MV_CORRUPT;
    if (!mv_payload_need(payload, 0, at))
        return MV_DECOMPRESS;
    for (uint32_t i = 0; i < columns; i++) {
        uint64_t bytes;
        mv_code code;
        memcpy(&head, payload->bytes + i * sizeof head, sizeof head);
        bytes = mv_wire_aligned((uint64_t)chunk->head.count * head.width);
        if (bytes > length - at)
            return MV_CORRUPT;
        code = decode_column(w, t, chunk, &head, payload, at, &seen);
        if (code != MV_OK)
            return code;
        at += bytes;
    }
    return fill_absent(w->job->load, t, chunk, seen) ? MV_OK : MV_CORRUPT;
}

static mv_code open_and_decode(const worker *w, const mv_load_table *t, mv_chunk *chunk)
{
    mv_payload payload;
    mv_code code = mv_chunk_open(w->job->load, &chunk->head, chunk->at, w->room, &payload);

    return code == MV_OK ? decode_columns(w, t, chunk, &payload) : code;
}

static void decode_chunk(const worker *w, mv_chunk *chunk)
{
    const mv_load *load = w->job->load;

    if (!mv_load_leaves(load, &chunk->head))
        chunk->lost = open_and_decode(w, &load->tables[chunk->table], chunk);
}

/* ---- all chunks -------------------------------------------------------------------------- */

static void work(void *user, uint32_t own)
{
    job *j = user;
    worker *self = &j->workers[own];

    self->room.zstd = ZSTD_createDCtx();
    if (!self->room.zstd)
        atomic_store(&j->no_memory, true);
    for (uint32_t i = 0; self->room.zstd && i < j->worker_count; i++) {
        worker *from = &j->workers[(own + i) % j->worker_count];
        uint32_t at;
        while ((at = atomic_fetch_add(&from->next, 1)) < from->end)
            decode_chunk(self, &j->load->chunks[at]);
    }
    ZSTD_freeDCtx(self->room.zstd);
}

/* Determines the number of useful threads, and the space needed for a chunk and a column. */
static void measure(job *j)
{
    const mv_load *load = j->load;
    uint64_t bytes = 0;
    uint32_t most = mv_parallel_for_threads(MOST_THREADS, 0);

    for (uint32_t i = 0; i < load->chunk_count; i++) {
        const mv_wire_chunk *head = &load->chunks[i].head;
        const mv_model_table *layout = load->tables[load->chunks[i].table].layout;
        if (mv_load_leaves(load, head))
            continue;
        for (uint32_t k = 0; k < layout->column_count; k++) {
            uint64_t column = (uint64_t)head->count * layout->columns[k].size;
            bytes += column;
            j->most_column = column > j->most_column ? column : j->most_column;
        }
        if (head->codec != MV_WIRE_CODEC_NONE && mv_chunk_lengths_good(head) &&
            head->raw_bytes > j->most_raw)
            j->most_raw = head->raw_bytes;
        if (!load->file.data && head->stored_bytes > j->most_stored)
            j->most_stored = head->stored_bytes;
    }
    j->worker_count = bytes / BYTES_A_THREAD < most ? 1 + (uint32_t)(bytes / BYTES_A_THREAD) : most;
}

static bool prepare(job *j)
{
    mv_load *load = j->load;

    for (uint32_t i = 0; i < j->worker_count; i++) {
        worker *w = &j->workers[i];
        w->job = j;
        atomic_init(&w->next, (uint32_t)((uint64_t)load->chunk_count * i / j->worker_count));
        w->end = (uint32_t)((uint64_t)load->chunk_count * (i + 1) / j->worker_count);
        w->room.raw = mv_arena_push_unset(&load->scratch, j->most_raw, 1);
        w->room.stored = mv_arena_push_unset(&load->scratch, j->most_stored, 1);
        w->column = mv_arena_push_unset(&load->scratch, j->most_column, 1);
        if (!w->room.raw || !w->room.stored || !w->column)
            return false;
    }
    return true;
}

mv_code mv_rows_decode(mv_load *load, mv_err *err)
{
    job j = {.load = load};
    worker workers[MOST_THREADS] = {{.job = &j}};

    j.workers = workers;
    measure(&j);
    if (!prepare(&j))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u chunks", load->chunk_count);
    mv_parallel_for(j.worker_count, j.worker_count, work, &j);
    if (atomic_load(&j.no_memory))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u chunks", load->chunk_count);
    return MV_OK;
}

mv_code mv_rows_decode_chunk(mv_load *load, const mv_load_table *t, mv_chunk *chunk)
{
    job j = {.load = load};
    worker alone = {.job = &j,
                    .column = mv_arena_push(&load->scratch, chunk->head.count, sizeof(uint64_t))};
    bool has_room = mv_chunk_room_make(load, &chunk->head, &alone.room) && alone.column;
    mv_code code = has_room ? open_and_decode(&alone, t, chunk) : MV_NOMEM;

    ZSTD_freeDCtx(alone.room.zstd);
    return code == MV_OK && chunk->bad_column ? MV_RANGE : code;
}
