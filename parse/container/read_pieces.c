#include "base/grow.h"
#include "parse/container/wire_load.h"
#include "parse/pieces.h"

/* A piece has at least this many events for each of its live rows, because reading a live row costs
 * as much as reading an event. */
enum { LEAST_SHARE = 12 };

typedef struct {
    const mv_chunk *living;       /* the LIVING chunk before the piece; NULL: the piece begins at
                                   * the first event */
    uint32_t first_chunk, chunks; /* first chunk in the device's table, and number of chunks */
} piece;

typedef struct {
    const mv_load_table *table; /* the device's table of events; NULL: no events */
    uint32_t count;
    piece *pieces; /* [count] */
} device_pieces;

struct mv_pieces {
    mv_arena tables;
    mv_load load;
    mv_source source;
    const mv_trace *trace;
    device_pieces *devices; /* [trace->device_count] */
};

/* ---- where pieces begin ------------------------------------------------------------------ */

/* Lists the pieces of a device. LIVING chunks are sorted by event. */
static bool list_pieces(mv_pieces *p, device_pieces *d)
{
    const mv_load_table *t = d->table;
    const mv_load *load = &p->load;
    bool is_whole = load->digests[t->device].history != MV_DIGEST_COMPLETE;
    uint32_t capacity = 0;
    uint64_t first = 0;

    if (!mv_append(&p->load.scratch, d->pieces, d->count, capacity,
                   (piece){.chunks = t->chunk_count}))
        return false;
    for (uint32_t i = 0; i < load->opening_count && !is_whole; i++) {
        const mv_chunk *c = &load->openings[i];
        piece *last = &d->pieces[d->count - 1];
        uint32_t at;
        if (c->head.kind != MV_WIRE_LIVING || c->head.device != t->device ||
            c->head.first_row < first + c->head.count * LEAST_SHARE)
            continue;
        at = mv_load_chunk_at(t, c->head.first_row);
        if (at == t->chunk_count)
            continue;
        last->chunks = at - last->first_chunk;
        first = c->head.first_row;
        if (!mv_append(&p->load.scratch, d->pieces, d->count, capacity,
                       (piece){c, at, t->chunk_count - at}))
            return false;
    }
    return true;
}

static bool list_devices(mv_pieces *p, bool *has_several)
{
    mv_load *load = &p->load;

    p->devices = mv_push_array(&load->scratch, device_pieces, p->trace->device_count);
    for (uint32_t i = 0; p->devices && i < load->table_count; i++) {
        const mv_load_table *t = &load->tables[i];
        if (t->layout->kind != MV_WIRE_EVENTS)
            continue;
        p->devices[t->device].table = t;
        if (!list_pieces(p, &p->devices[t->device]))
            return false;
        *has_several = *has_several || p->devices[t->device].count > 1;
    }
    return p->devices != NULL;
}

/* Returns true if there are LIVING chunks. Without them it is not worth reading the tables. */
static bool has_living(mv_load *load)
{
    mv_err err = {0};
    bool has = false;

    if (mv_chunks_find(load, &err) != MV_OK)
        return false;
    for (uint32_t i = 0; i < load->chunk_count; i++)
        has = has || load->chunks[i].head.kind == MV_WIRE_LIVING;
    load->chunk_count = 0;
    return has;
}

static bool open_file(mv_pieces *p, const char *path, mv_trace *trace)
{
    mv_read_opts opts = {.digest_suffices = true};
    mv_err err = {0};

    if (mv_source_open_file(&p->load.scratch, path, &p->source, &err) != MV_OK ||
        !mv_source_is_file(&p->source, &p->load.file.length))
        return false;
    *trace = (mv_trace){.origin = {.format = MV_FORMAT_BIN,
                                   .file_bytes = mv_source_file_bytes(&p->source),
                                   .data_bytes = p->load.file.length,
                                   .compression = mv_source_compression(&p->source)}};
    p->load.source = &p->source;
    p->load.arena = &p->tables;
    p->load.build = (mv_build){.arena = &p->tables, .trace = trace};
    p->trace = trace;
    return has_living(&p->load) && mv_load_all(&p->load, &opts, trace, &err) == MV_OK &&
           !p->load.damaged && p->load.digests && mv_part_allows_living(&p->load);
}

mv_pieces *mv_pieces_open(mv_arena *arena, const char *path, mv_trace *trace)
{
    mv_pieces *p = mv_push_struct(arena, mv_pieces);
    bool has_several = false;

    if (!p)
        return NULL;
    mv_arena_init(&p->tables, arena->budget);
    mv_arena_init(&p->load.scratch, arena->budget);
    if (open_file(p, path, trace) && list_devices(p, &has_several) && has_several)
        return p;
    mv_pieces_close(p);
    return NULL;
}

void mv_pieces_close(mv_pieces *p)
{
    if (!p)
        return;
    mv_source_close(&p->source);
    mv_arena_release(&p->load.scratch);
    mv_arena_release(&p->tables);
}

/* Makes a column of absent values for the largest piece. */
static void *make_absent(mv_pieces *p, const mv_table_column *column, uint32_t rows)
{
    mv_wire_column constant = {.base = column->absent};
    void *values = mv_arena_push(&p->tables, rows, column->size);

    if (values)
        mv_column_decode(&constant, NULL, rows, column->size, NULL, values);
    return values;
}

void mv_pieces_need(mv_pieces *p, uint32_t columns)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    uint64_t most = 0;
    void **absent;

    for (uint32_t i = 0; p && i < p->trace->device_count; i++)
        most = mv_pieces_most(p, i) > most ? mv_pieces_most(p, i) : most;
    absent = most ? mv_push_array(&p->tables, void *, table->column_count) : NULL;
    for (uint32_t i = 0; absent && i < table->column_count; i++)
        if (!(columns & 1u << i))
            absent[i] = make_absent(p, &table->columns[i], (uint32_t)most + 2);
    if (p)
        p->load.absent = absent;
}

mv_arena *mv_pieces_arena(mv_pieces *p)
{
    return &p->tables;
}

uint32_t mv_pieces_count(const mv_pieces *p, uint32_t device)
{
    uint32_t count = device < p->trace->device_count ? p->devices[device].count : 0;

    return count ? count : 1;
}

uint64_t mv_pieces_most(const mv_pieces *p, uint32_t device)
{
    const device_pieces *d = &p->devices[device];
    uint64_t most = 0;

    for (uint32_t i = 0; device < p->trace->device_count && i < d->count; i++) {
        const piece *at = &d->pieces[i];
        uint64_t rows = at->living ? at->living->head.count : 0;
        for (uint32_t k = 0; k < at->chunks; k++)
            rows += d->table->chunks[at->first_chunk + k].head.count;
        most = rows > most ? rows : most;
    }
    return most;
}

/* ---- one piece --------------------------------------------------------------------------- */

/* Keeps only the chunks of a piece, and numbers their rows after the live rows. */
static bool take_chunks(mv_load *load, const piece *from, mv_load_table *t)
{
    mv_living *living = &load->living[t->device];
    const mv_chunk *chunks = t->chunks + from->first_chunk;
    uint64_t rows = living->count;

    *living = (mv_living){.count = living->count,
                          .first = from->living ? (uint32_t)from->living->head.first_row : 0,
                          .total = (uint32_t)t->rows,
                          .is_cut = from->first_chunk + from->chunks < t->chunk_count,
                          .block = living->block,
                          .event = living->event,
                          .older = living->older,
                          .older_addr = living->older_addr,
                          .older_block = living->older_block};
    t->chunks = mv_push_array(&load->scratch, mv_chunk, from->chunks);
    for (uint32_t i = 0; t->chunks && i < from->chunks; i++) {
        t->chunks[i] = chunks[i];
        t->chunks[i].table = 0;
        t->chunks[i].head.first_row = rows;
        rows += chunks[i].head.count;
    }
    t->chunk_count = from->chunks;
    t->rows = t->declared_rows = rows;
    load->chunks = t->chunks;
    load->chunk_count = t->chunk_count;
    return t->chunks != NULL;
}

static mv_code decode(mv_load *load, const piece *from, mv_load_table *t, mv_err *err)
{
    mv_code code = MV_OK;

    load->alive = mv_push_array(&load->scratch, mv_living_columns, load->totals.devices);
    load->living = mv_push_array(load->arena, mv_living, load->totals.devices);
    if (!load->alive || !load->living)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    if (from->living)
        code =
            mv_living_read(load, from->living, &load->alive[t->device], &load->living[t->device]);
    if (code != MV_OK && code != MV_NOMEM)
        return mv_fail(err, MV_CORRUPT, from->living->at, "what is alive");
    if (code == MV_NOMEM || !take_chunks(load, from, t))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "events");
    code = mv_load_make_room(load, t, err);
    if (code != MV_OK)
        return code;
    mv_part_begin(load);
    code = mv_rows_decode(load, err);
    for (uint32_t i = 0; code == MV_OK && i < t->chunk_count; i++)
        if (t->chunks[i].lost != MV_OK || t->chunks[i].bad_column)
            code = mv_fail(err, MV_CORRUPT, t->chunks[i].at, "events");
    return code;
}

mv_code mv_pieces_read(mv_pieces *p, mv_arena *arena, uint32_t device, uint32_t nth, mv_trace *out,
                       mv_err *err)
{
    mv_load load = p->load;
    mv_load_table t;
    mv_code code = MV_OK;

    *out = *p->trace;
    out->devices = mv_push_array(arena, mv_device, out->device_count);
    if (!out->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", out->device_count);
    load.arena = arena;
    mv_arena_init(&load.scratch, arena->budget);
    if (device < out->device_count && p->devices[device].table) {
        t = *p->devices[device].table;
        load.tables = &t;
        load.table_count = 1;
        code = decode(&load, &p->devices[device].pieces[nth], &t, err);
        if (code == MV_OK)
            mv_load_publish(&t, out);
        for (uint32_t i = 0; code == MV_OK && i < out->device_count; i++)
            if (i != device && p->devices[i].table)
                load.living[i].first = load.living[i].total = (uint32_t)p->devices[i].table->rows;
        out->living = load.living;
    }
    mv_arena_release(&load.scratch);
    return code;
}

mv_code mv_pieces_time(mv_pieces *p, uint32_t device, uint32_t event, int64_t *time_us, mv_err *err)
{
    const mv_load_table *t = device < p->trace->device_count ? p->devices[device].table : NULL;
    mv_load load = p->load;
    const int64_t *times = NULL;
    mv_code code = MV_CORRUPT;

    mv_arena_init(&load.scratch, p->tables.budget);
    load.absent = NULL;
    for (uint32_t i = 0; t && i < t->chunk_count; i++) {
        const mv_wire_chunk *head = &t->chunks[i].head;
        if (event < head->first_row || event - head->first_row >= head->count)
            continue;
        code = mv_part_times(&load, &t->chunks[i], &times);
        *time_us = code == MV_OK ? times[event - head->first_row] : MV_NO_TIME;
    }
    mv_arena_release(&load.scratch);
    return code == MV_OK ? MV_OK : mv_fail(err, code, MV_NO_OFFSET, "time of event %u", event);
}
