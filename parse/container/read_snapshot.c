/* Reads docs/internals/snapshot-format.md. If a file is damaged, all parts with correct checksums
 * are read. A wrong value in a part with a correct checksum, such as a row number out of range, is
 * an error. */
#include "base/grow.h"
#include "base/sort.h"
#include "parse/container/wire_load.h"
#include "parse/live/read_live.h"
#include "parse/readers.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CACHE_LINE = 64 };

bool mv_snapshot_probe(mv_span head)
{
    return head.length >= MV_WIRE_MAGIC_BYTES &&
           memcmp(head.data, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES) == 0;
}

/* ---- header, totals, notes --------------------------------------------------------------- */

static mv_code check_header(mv_load *load, mv_err *err)
{
    mv_wire_header header;

    if (load->file.data && !mv_snapshot_probe(load->file))
        return mv_fail(err, MV_FORMAT, 0, "not a memviz snapshot");
    if (load->file.length < sizeof header || !mv_load_copy(load, 0, &header, sizeof header))
        return mv_fail(err, MV_TRUNCATED, load->file.length, "file header");
    if (header.hash != XXH3_64bits(&header, offsetof(mv_wire_header, hash))) {
        load->damaged = true;
        mv_build_note(&load->build, MV_NOTE_DAMAGED, "file header at byte 0");
        return MV_OK;
    }
    if (header.version > MV_WIRE_VERSION || header.features != 0)
        return mv_fail(err, MV_VERSION, offsetof(mv_wire_header, version),
                       "version %u, features %x", header.version, header.features);
    return MV_OK;
}

static void note_lost(mv_load *load, const mv_chunk *chunk)
{
    load->damaged = true;
    mv_build_note(&load->build, MV_NOTE_DAMAGED, "%s chunk at byte %llu: %s",
                  mv_wire_kind_name(chunk->head.kind), (unsigned long long)chunk->at,
                  mv_code_text(chunk->lost));
}

static bool read_totals(mv_load *load, const mv_wire_chunk *head, const uint8_t *payload)
{
    mv_wire_trace *totals = &load->totals;

    if (load->has_totals || head->raw_bytes < sizeof *totals)
        return load->has_totals;
    memcpy(totals, payload, sizeof *totals);
    if (head->raw_bytes != sizeof *totals + totals->tables * sizeof(mv_wire_table)) {
        *totals = (mv_wire_trace){0};
        return false;
    }
    load->total_rows = mv_push_array(&load->scratch, mv_wire_table, totals->tables);
    if (load->total_rows)
        memcpy(load->total_rows, payload + sizeof *totals, totals->tables * sizeof(mv_wire_table));
    load->has_totals = true;
    load->build.trace->keys = totals->keys;
    return true;
}

static void keep_note(mv_trace *trace, const mv_wire_note *entry, mv_span name, mv_span text)
{
    unsigned code = 0;
    mv_note *note;

    while (code < MV_NOTE_COUNT &&
           (strlen(mv_note_name((mv_note_code)code)) != name.length ||
            memcmp(mv_note_name((mv_note_code)code), name.data, name.length) != 0))
        code++;
    if (mv_note_is_found((mv_note_code)code))
        return;
    note = &trace->notes[code < MV_NOTE_COUNT ? code : MV_NOTE_FILE_NOTE];
    if (note->count == 0)
        mv_note_describe(note, (const char *)text.data, text.length);
    note->count = note->count > UINT64_MAX - entry->count ? UINT64_MAX : note->count + entry->count;
}

static bool read_notes(mv_load *load, const mv_wire_chunk *head, const uint8_t *payload)
{
    mv_cursor c = mv_cursor_over((mv_span){payload, head->raw_bytes});

    for (uint32_t i = 0; i < head->count; i++) {
        mv_wire_note entry;
        const uint8_t *at = mv_take_bytes(&c, sizeof entry);
        const uint8_t *name, *text;
        if (!at)
            return false;
        memcpy(&entry, at, sizeof entry);
        name = mv_take_bytes(&c, entry.name_bytes);
        text = mv_take_bytes(&c, entry.text_bytes);
        if (c.overrun)
            return false;
        keep_note(load->build.trace, &entry, (mv_span){name, entry.name_bytes},
                  (mv_span){text, entry.text_bytes});
    }
    return true;
}

/* If all values in a column are equal, the column takes no bytes per row. Therefore the number of
 * rows in a chunk cannot be checked against the size of the chunk. Instead, it is limited to the
 * largest number that writers put into a chunk. The header's hash is correct, so a larger number is
 * not an accident. */
static mv_code check_rows(const mv_chunk *chunk, mv_err *err)
{
    uint32_t most = mv_table_find(chunk->head.kind)->chunk_rows;

    if (chunk->head.count <= most)
        return MV_OK;
    return mv_fail(err, MV_RANGE, chunk->at,
                   "%s: %u rows in a chunk of %llu bytes; the maximum is %u",
                   mv_wire_kind_name(chunk->head.kind), chunk->head.count,
                   (unsigned long long)(sizeof chunk->head + chunk->head.stored_bytes), most);
}

static bool keep_digests(mv_load *load, const mv_wire_chunk *head, const uint8_t *payload)
{
    if (head->raw_bytes != head->count * (uint64_t)sizeof(mv_wire_digest))
        return false;
    load->stored_digests = payload;
    load->stored_digest_count = head->count;
    return true;
}

static bool read_small_chunk(mv_load *load, const mv_wire_chunk *head, const uint8_t *payload)
{
    if (head->kind == MV_WIRE_TRACE)
        return read_totals(load, head, payload);
    return head->kind == MV_WIRE_NOTES ? read_notes(load, head, payload)
                                       : keep_digests(load, head, payload);
}

static bool is_small(uint16_t kind)
{
    return kind == MV_WIRE_TRACE || kind == MV_WIRE_NOTES || kind == MV_WIRE_DIGEST;
}

/* Reads TRACE, NOTES and DIGEST, adds notes about unknown kinds of chunks, and keeps only the
 * chunks of tables. */
static mv_code read_small_chunks(mv_load *load, mv_err *err)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < load->chunk_count; i++) {
        mv_chunk chunk = load->chunks[i];
        const uint8_t *payload;
        if (mv_table_find(chunk.head.kind)) {
            if (check_rows(&chunk, err) != MV_OK)
                return err->code;
            load->chunks[kept++] = chunk;
            continue;
        }
        if (chunk.head.kind == MV_WIRE_OPENING || chunk.head.kind == MV_WIRE_LIVING) {
            if (!mv_append(&load->scratch, load->openings, load->opening_count,
                           load->opening_capacity, chunk))
                return mv_fail(err, MV_NOMEM, chunk.at, "%s", "openings");
            continue;
        }
        if (!is_small(chunk.head.kind)) {
            mv_build_note(&load->build, MV_NOTE_UNKNOWN_KEY, "chunk kind %u at byte %llu",
                          chunk.head.kind, (unsigned long long)chunk.at);
            continue;
        }
        chunk.lost = mv_chunk_open_alone(load, &chunk.head, chunk.at, &payload);
        if (chunk.lost == MV_OK && !read_small_chunk(load, &chunk.head, payload))
            chunk.lost = MV_CORRUPT;
        if (chunk.lost == MV_NOMEM || (load->has_totals && !load->total_rows))
            return mv_fail(err, MV_NOMEM, chunk.at, "%s chunk", mv_wire_kind_name(chunk.head.kind));
        if (load->totals.devices > MV_MOST_DEVICES)
            return mv_fail(err, MV_RANGE, chunk.at, "%u devices", load->totals.devices);
        if (chunk.lost != MV_OK)
            note_lost(load, &chunk);
    }
    load->chunk_count = kept;
    if (!load->has_totals && !load->damaged) {
        load->damaged = true;
        mv_build_note(&load->build, MV_NOTE_DAMAGED, "no trace chunk");
    }
    return MV_OK;
}

/* ---- which tables exist -------------------------------------------------------------------- */

/* Evidence that a table exists: one of its chunks, its row in TRACE, or its row in mv_tables. */
typedef struct {
    uint16_t kind;
    uint32_t device;
    uint64_t rows;
    uint64_t at; /* position of the evidence */
} claim;

static claim *collect_claims(mv_load *load, uint64_t *count)
{
    uint64_t most = load->chunk_count + (uint64_t)load->totals.tables + 32;
    claim *claims = mv_push_array(&load->scratch, claim, most);

    *count = 0;
    if (!claims)
        return NULL;
    for (const mv_model_table *t = mv_tables; t->kind; t++)
        if (t->kind != MV_WIRE_EVENTS)
            claims[(*count)++] = (claim){.kind = t->kind};
    for (uint32_t i = 0; i < load->totals.tables; i++) {
        const mv_wire_table *row = &load->total_rows[i];
        const mv_model_table *table =
            row->kind <= UINT16_MAX ? mv_table_find((uint16_t)row->kind) : NULL;
        if (table)
            claims[(*count)++] = (claim){table->kind, row->device, row->rows, 0};
    }
    for (uint32_t i = 0; i < load->chunk_count; i++) {
        const mv_wire_chunk *head = &load->chunks[i].head;
        claims[(*count)++] =
            (claim){head->kind, head->device, head->table_rows, load->chunks[i].at};
    }
    mv_sort_rows(&load->scratch, claims, *count, MV_RISING(claim, kind), MV_RISING(claim, device));
    return claims;
}

static int by_table(uint16_t kind, uint32_t device, uint16_t other_kind, uint32_t other_device)
{
    if (kind != other_kind)
        return kind < other_kind ? -1 : 1;
    return (device > other_device) - (device < other_device);
}

static mv_code add_table(mv_load *load, const claim *c, mv_err *err)
{
    bool is_first = load->table_count == 0;
    mv_load_table *last = &load->tables[is_first ? 0 : load->table_count - 1];
    uint32_t devices = load->has_totals ? load->totals.devices : MV_MOST_DEVICES;

    if (c->kind != MV_WIRE_EVENTS)
        devices = 1;
    if (is_first || last->layout->kind != c->kind || last->device != c->device) {
        if (c->device >= devices)
            return mv_fail(err, MV_RANGE, c->at, "%s of device %u", mv_wire_kind_name(c->kind),
                           c->device);
        last = &load->tables[load->table_count++];
        *last = (mv_load_table){
            .layout = mv_table_find(c->kind), .device = c->device, .declared_rows = c->rows};
        load->by_kind[c->kind] = last;
        return MV_OK;
    }
    if (last->declared_rows == 0)
        last->declared_rows = c->rows;
    if (c->rows != 0 && c->rows != last->declared_rows)
        return mv_fail(err, MV_CORRUPT, c->at, "%s: %llu rows, and %llu elsewhere",
                       mv_wire_kind_name(c->kind), (unsigned long long)c->rows,
                       (unsigned long long)last->declared_rows);
    return MV_OK;
}

/* Assigns each table its chunks, which are in the same order as the tables. */
static mv_code share_chunks(mv_load *load, mv_err *err)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        t->chunks = load->chunk_count ? load->chunks + next : NULL;
        for (; next < load->chunk_count; next++) {
            mv_chunk *chunk = &load->chunks[next];
            if (by_table(t->layout->kind, t->device, chunk->head.kind, chunk->head.device) != 0)
                break;
            if (chunk->head.first_row < t->rows)
                return mv_fail(err, MV_CORRUPT, chunk->at, "%s: duplicate row %llu",
                               mv_wire_kind_name(chunk->head.kind),
                               (unsigned long long)chunk->head.first_row);
            chunk->table = i;
            t->rows = chunk->head.first_row + chunk->head.count;
            t->chunk_count++;
        }
    }
    return MV_OK;
}

static mv_code list_tables(mv_load *load, mv_err *err)
{
    uint64_t count;
    claim *claims = collect_claims(load, &count);
    mv_code code = MV_OK;

    load->tables = mv_push_array(&load->scratch, mv_load_table, count);
    if (!claims || !load->tables)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "list of tables");
    for (uint64_t i = 0; i < count && code == MV_OK; i++)
        code = add_table(load, &claims[i], err);
    if (code != MV_OK)
        return code;
    mv_sort_rows(&load->scratch, load->chunks, load->chunk_count, MV_RISING(mv_chunk, head.kind),
                 MV_RISING(mv_chunk, head.device), MV_RISING(mv_chunk, head.first_row),
                 MV_RISING(mv_chunk, at));
    return share_chunks(load, err);
}

/* ---- memory for tables --------------------------------------------------------------------- */

static bool counted_in_64_bits(const mv_model_table *layout)
{
    return layout->kind == MV_WIRE_STRING_BYTES || layout->kind == MV_WIRE_STACK_FRAMES;
}

static uint64_t column_room(const mv_load_table *t, uint32_t column)
{
    return ((t->rows + 2) * t->layout->columns[column].size + CACHE_LINE - 1) &
           ~(CACHE_LINE - 1ull);
}

/* Allocates all columns of a table in one block, so that the table takes as few pages as
 * possible. */
mv_code mv_load_make_room(mv_load *load, mv_load_table *t, mv_err *err)
{
    const mv_model_table *layout = t->layout;
    uint64_t bytes = 0, at = t->chunk_count && t->chunks ? t->chunks[0].at : MV_NO_OFFSET;
    char *block;

    if (!layout)
        return MV_OK; /* tables of an unknown kind have no columns */
    if (!counted_in_64_bits(layout) && t->declared_rows >= MV_NO_ROW)
        return mv_fail(err, MV_LIMIT, at, "%s: %llu rows", mv_wire_kind_name(layout->kind),
                       (unsigned long long)t->declared_rows);
    if (t->rows > UINT64_MAX / 1024)
        return mv_fail(err, MV_NOMEM, at, "%s", mv_wire_kind_name(layout->kind));
    if (load->digests && !load->living && layout->kind == MV_WIRE_EVENTS)
        return MV_OK;
    for (uint32_t i = 0; i < layout->column_count; i++)
        bytes += mv_load_absent(load, layout, i) ? 0 : column_room(t, i);
    block = layout->kind == MV_WIRE_EVENTS ? mv_arena_push_unset(load->arena, bytes, 1)
                                           : mv_arena_push(load->arena, bytes, 1);
    if (!block)
        return mv_fail(err, MV_NOMEM, at, "%s: %llu rows", mv_wire_kind_name(layout->kind),
                       (unsigned long long)t->rows);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        t->columns[i] = mv_load_absent(load, layout, i);
        if (t->columns[i])
            continue;
        t->columns[i] = block;
        mv_arena_clear(load->arena, block + t->rows * layout->columns[i].size,
                       2ull * layout->columns[i].size);
        block += column_room(t, i);
    }
    return MV_OK;
}

/* Adds the rows that every trace has, even if a file does not list them. */
static void make_first_rows(mv_load *load)
{
    mv_load_table *tags = mv_load_find(load, MV_WIRE_TAGS);
    mv_load_table *tables[] = {tags, mv_load_find(load, MV_WIRE_STACKS),
                               mv_load_find(load, MV_WIRE_POOLS)};

    for (uint32_t i = 0; i < tags->layout->column_count && tags->rows == 0; i++)
        *(uint32_t *)tags->columns[i] = MV_NO_ROW;
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i]->rows == 0)
            tables[i]->rows = 1;
}

/* Allocates all event tables, or all other tables. */
static mv_code make_rooms(mv_load *load, bool of_events, mv_err *err)
{
    mv_code code = MV_OK;

    for (uint32_t i = 0; i < load->table_count && code == MV_OK; i++)
        if ((load->tables[i].layout->kind == MV_WIRE_EVENTS) == of_events)
            code = mv_load_make_room(load, &load->tables[i], err);
    return code;
}

static mv_code prepare_tables(mv_load *load, mv_err *err)
{
    mv_code code = list_tables(load, err);

    if (code == MV_OK)
        code = make_rooms(load, false, err);
    if (code != MV_OK)
        return code;
    make_first_rows(load);
    for (mv_row_ref ref = 0; ref < MV_REF_COUNT; ref++)
        if (mv_ref_kind(ref))
            load->limits[ref] = (uint32_t)mv_load_find(load, mv_ref_kind(ref))->rows;
    load->limits[MV_REF_CALL] = load->has_totals ? load->totals.calls : MV_NO_CALL;
    if (load->digests && load->part)
        code = mv_part_find(load, err);
    if (code == MV_OK)
        code = make_rooms(load, true, err);
    if (code == MV_OK && load->living)
        mv_part_begin(load);
    return code;
}

/* ---- checks ------------------------------------------------------------------------------ */

/* Adds a note about the lost rows of a table, in addition to the note about the damaged part, so
 * that reports can mention the rows. */
static void note_lost_table(mv_load *load, const mv_load_table *t, uint64_t lost)
{
    static const struct {
        uint16_t kind;
        mv_note_code note;
    } notes[] = {{MV_WIRE_EVENTS, MV_NOTE_LOST_EVENTS},
                 {MV_WIRE_API_CALLS, MV_NOTE_LOST_CALLS},
                 {MV_WIRE_SAMPLES, MV_NOTE_LOST_SAMPLES},
                 {MV_WIRE_FACTS, MV_NOTE_LOST_FACTS}};

    for (unsigned i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].kind == t->layout->kind && lost)
            mv_build_note(&load->build, notes[i].note, "%llu of %llu", (unsigned long long)lost,
                          (unsigned long long)t->declared_rows);
        else if (notes[i].kind == t->layout->kind)
            mv_build_note(&load->build, notes[i].note, "their number is unknown");
}

/* Returns the number of rows of a table in intact chunks. */
static uint64_t intact_rows(const mv_load_table *t)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < t->chunk_count; i++)
        rows += t->chunks[i].lost == MV_OK ? t->chunks[i].head.count : 0;
    return rows;
}

static bool note_missing_rows(mv_load *load)
{
    bool usable = false;
    bool all_empty = load->has_totals;

    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        uint64_t whole = intact_rows(t);
        usable = usable || whole > 0;
        all_empty = all_empty && t->declared_rows == 0;
        if (!load->has_totals && t->declared_rows == 0)
            note_lost_table(load, t, 0);
        if (whole == t->declared_rows)
            continue;
        note_lost_table(load, t, t->declared_rows - whole);
        load->damaged = true;
        mv_build_note(&load->build, MV_NOTE_DAMAGED, "%s of device %u: %llu of %llu rows are lost",
                      mv_wire_kind_name(t->layout->kind), t->device,
                      (unsigned long long)(t->declared_rows - whole),
                      (unsigned long long)t->declared_rows);
    }
    if (!load->has_totals && !load->by_kind[MV_WIRE_EVENTS])
        mv_build_note(&load->build, MV_NOTE_LOST_EVENTS, "their number is unknown");
    return usable || all_empty;
}

/* Turns the results of the decoding threads into notes and errors. */
static mv_code review(mv_load *load, mv_err *err)
{
    const mv_chunk *bad = NULL;

    for (uint32_t i = 0; i < load->chunk_count; i++) {
        const mv_chunk *chunk = &load->chunks[i];
        if (chunk->lost != MV_OK)
            note_lost(load, chunk);
        else if (chunk->bad_column && !bad)
            bad = chunk;
        for (uint32_t k = 0; k < chunk->new_columns; k++)
            mv_build_note(&load->build, MV_NOTE_UNKNOWN_KEY, "%s: unknown column at byte %llu",
                          mv_wire_kind_name(chunk->head.kind), (unsigned long long)chunk->at);
    }
    if (!note_missing_rows(load))
        return mv_fail(err, MV_CORRUPT, sizeof(mv_wire_header), "no intact chunk");
    if (bad && !load->damaged)
        return mv_fail(err, MV_RANGE, bad->at, "%s: column %u", mv_wire_kind_name(bad->head.kind),
                       bad->bad_column);
    return load->damaged ? mv_rows_repair(load, err) : MV_OK;
}

static mv_code bad_table(const mv_load_table *t, uint64_t row, mv_err *err)
{
    return mv_fail(err, MV_RANGE, t->chunk_count ? t->chunks[0].at : MV_NO_OFFSET, "%s: row %llu",
                   mv_wire_kind_name(t->layout->kind), (unsigned long long)row);
}

/* Checks that range ends do not decrease, and do not exceed the table that they divide. */
static mv_code check_ends(const mv_load *load, uint16_t kind, uint16_t of_kind, uint64_t least,
                          mv_err *err)
{
    const mv_load_table *t = mv_load_find(load, kind);
    const mv_load_table *of = mv_load_find(load, of_kind);
    const uint64_t *ends = t->columns[0];
    const char *bytes = of->columns[0];

    for (uint64_t row = 0; row < t->rows; row++) {
        if (ends[row + 1] > of->rows || ends[row] > ends[row + 1] ||
            ends[row + 1] - ends[row] < least || ends[row + 1] - ends[row] > UINT32_MAX)
            return bad_table(t, row, err);
        if (least && bytes[ends[row + 1] - 1] != 0)
            return bad_table(t, row, err);
    }
    return ends[t->rows] == of->rows ? MV_OK : bad_table(t, t->rows, err);
}

static mv_code check_children(const mv_load *load, mv_err *err)
{
    uint64_t taken[MV_WIRE_KINDS] = {0};

    for (uint32_t i = 0; i < load->table_count; i++) {
        const mv_load_table *t = &load->tables[i];
        mv_child_range child = mv_table_child(t->layout);
        const uint32_t *first = t->columns[child.first], *count = t->columns[child.count];
        uint64_t rows = child.kind ? mv_load_find(load, child.kind)->rows : 0;
        for (uint64_t row = 0; child.kind && row < t->rows; row++)
            if (!mv_child_take(&taken[child.kind], rows, first[row], count[row]))
                return bad_table(t, row, err);
    }
    return MV_OK;
}

/* Checks the rows whose content the model prescribes. */
static mv_code check_first_rows(const mv_load *load, mv_err *err)
{
    const mv_load_table *stacks = mv_load_find(load, MV_WIRE_STACKS);
    const mv_load_table *pools = mv_load_find(load, MV_WIRE_POOLS);
    const mv_load_table *tags = mv_load_find(load, MV_WIRE_TAGS);

    if (((const uint64_t *)stacks->columns[0])[1] != 0)
        return bad_table(stacks, 0, err);
    for (uint32_t i = 0; i < pools->layout->column_count; i++)
        if (*(const uint64_t *)pools->columns[i] != 0)
            return bad_table(pools, 0, err);
    for (uint32_t i = 0; i < tags->layout->column_count; i++)
        if (*(const uint32_t *)tags->columns[i] != MV_NO_ROW)
            return bad_table(tags, 0, err);
    return MV_OK;
}

static mv_code check_tables(const mv_load *load, mv_err *err)
{
    mv_code code = check_ends(load, MV_WIRE_STRINGS, MV_WIRE_STRING_BYTES, 1, err);

    if (code == MV_OK)
        code = check_ends(load, MV_WIRE_STACKS, MV_WIRE_STACK_FRAMES, 0, err);
    if (code == MV_OK)
        code = check_children(load, err);
    return code == MV_OK ? check_first_rows(load, err) : code;
}

/* ---- the trace --------------------------------------------------------------------------- */

void mv_load_publish(const mv_load_table *t, mv_trace *out)
{
    char *to = (char *)mv_table_of(out, t->layout, t->device);

    for (uint32_t i = 0; i < t->layout->column_count; i++)
        memcpy(to + t->layout->columns[i].at, &t->columns[i], sizeof t->columns[i]);
    if (!counted_in_64_bits(t->layout))
        *(uint32_t *)(void *)to = (uint32_t)t->rows; /* every table begins with `count` */
}

/* Checks the event numbers of API calls. Rows of lost events are dropped, so calls may refer to
 * events beyond the last one; they are given the number of events instead. */
static mv_code check_api_calls(const mv_load *load, mv_trace *out, mv_err *err)
{
    const mv_load_table *t = mv_load_find(load, MV_WIRE_API_CALLS);
    uint32_t row = 0;

    while ((row = mv_api_call_beyond(out, row)) != MV_NO_ROW) {
        int32_t device = out->api_calls.device[row];
        if (!load->damaged)
            return bad_table(t, row, err);
        out->api_calls.event[row] = 0;
        if (device >= 0 && (uint32_t)device < out->device_count)
            out->api_calls.event[row] = out->devices[device].events.count;
    }
    return MV_OK;
}

static mv_code publish(const mv_load *load, mv_trace *out, mv_err *err)
{
    const mv_load_table *events = load->by_kind[MV_WIRE_EVENTS]; /* events of the last device */

    out->calls = load->totals.calls;
    out->digests = load->digests;
    out->living = load->living;
    out->device_count = load->totals.devices;
    if (!load->has_totals && events)
        out->device_count = events->device + 1;
    out->devices = mv_push_array(load->arena, mv_device, out->device_count);
    if (!out->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", out->device_count);
    for (uint32_t i = 0; i < load->table_count; i++)
        mv_load_publish(&load->tables[i], out);
    return check_api_calls(load, out, err);
}

static bool has_lost_rows(const mv_load *load)
{
    for (uint32_t i = 0; i < load->chunk_count; i++)
        if (load->chunks[i].lost != MV_OK)
            return true;
    for (uint32_t i = 0; i < load->table_count; i++)
        if (intact_rows(&load->tables[i]) != load->tables[i].declared_rows)
            return true;
    return false;
}

/* Decodes all tables. Digests include lost rows, so if rows of any table are lost, the events are
 * decoded too. */
static mv_code load_tables(mv_load *load, mv_err *err)
{
    mv_code code = prepare_tables(load, err);

    if (code == MV_OK)
        code = mv_rows_decode(load, err);
    if (code != MV_OK || !load->digests || !has_lost_rows(load))
        return code;
    if (load->living) {
        load->needs_whole = true;
        return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "events");
    }
    load->digests = NULL;
    code = make_rooms(load, true, err);
    return code == MV_OK ? mv_rows_decode(load, err) : code;
}

/* Reads a file whose capture is still running, or whose process was killed. */
static mv_code load_live(mv_load *load, const mv_read_opts *opts, mv_trace *out, mv_err *err)
{
    mv_origin origin = out->origin;
    mv_live_opts live = {.looks_here = opts && opts->foreign_symbols};
    mv_code code = mv_live_read(load->arena, load->file, &live, out, err);

    out->origin = origin;
    if (code == MV_OK && load->damaged)
        mv_build_note(&load->build, MV_NOTE_DAMAGED, "file header at byte 0");
    return code;
}

mv_code mv_load_all(mv_load *load, const mv_read_opts *opts, mv_trace *out, mv_err *err)
{
    mv_code code = check_header(load, err);

    if (code == MV_OK && load->file.data && mv_live_probe(load->file))
        return load_live(load, opts, out, err);
    if (code == MV_OK)
        code = mv_chunks_find(load, err);
    if (code == MV_OK)
        code = read_small_chunks(load, err);
    if (code == MV_OK && opts && (opts->digest_suffices || load->part))
        code = mv_digests_take(load, err);
    if (opts && opts->needs_failures && mv_digests_may_show_failures(load))
        load->digests = NULL;
    if (code == MV_OK)
        code = load_tables(load, err);
    if (code == MV_OK)
        code = review(load, err);
    if (code == MV_OK)
        code = check_tables(load, err);
    if (code == MV_OK)
        code = publish(load, out, err);
    if (code == MV_OK && load->living && !load->part->has_living)
        code = mv_part_number(load, out, err);
    if (code == MV_OK)
        mv_build_settle(&load->build);
    if (code == MV_OK && load->build.code != MV_OK)
        code = mv_fail(err, load->build.code, MV_NO_OFFSET, "%s", "settings");
    return code;
}

/* *again is set if the whole file must be read to find out which events are damaged. */
static mv_code read_file(mv_arena *arena, mv_source *source, mv_span file, const mv_read_opts *opts,
                         const mv_read_part *part, mv_trace *out, bool *again, mv_err *err)
{
    mv_load load = {.file = file,
                    .source = source,
                    .arena = arena,
                    .build = {.arena = arena, .trace = out},
                    .part = part};
    mv_code code;

    *out = (mv_trace){.origin = {.format = MV_FORMAT_BIN,
                                 .file_bytes = mv_source_file_bytes(source),
                                 .data_bytes = file.length,
                                 .compression = mv_source_compression(source)}};
    mv_arena_init(&load.scratch, arena->budget);
    code = mv_load_all(&load, opts, out, err);
    mv_arena_release(&load.scratch);
    *again = load.needs_whole;
    return code;
}

/* Reads a file chunk by chunk, without loading all of it into memory, if only a part or the digests
 * are needed. Returns false if that fails, for example because memory has run out. */
static bool read_in_place(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                          mv_trace *out)
{
    mv_span file = {0};
    mv_err err = {0};
    bool again;

    return opts && (opts->digest_suffices || opts->part) &&
           mv_source_is_file(source, &file.length) &&
           read_file(arena, source, file, opts, opts->part, out, &again, &err) == MV_OK;
}

mv_code mv_snapshot_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                         mv_trace *out, mv_err *err)
{
    mv_span file;
    bool again;
    mv_code code;

    if (!mv_source_map_rest(source, &file)) {
        if (read_in_place(arena, source, opts, out))
            return MV_OK;
        if (mv_source_rest(source, &file, err) != MV_OK)
            return err->code;
    }
    code = read_file(arena, source, file, opts, opts ? opts->part : NULL, out, &again, err);
    if (again) {
        *err = (mv_err){.offset = MV_NO_OFFSET};
        code = read_file(arena, source, file, opts, NULL, out, &again, err);
    }
    if (code == MV_OK && opts && opts->progress)
        opts->progress(opts->user, mv_source_file_read(source), mv_source_file_read(source));
    return code;
}
