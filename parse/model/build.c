#include "parse/model/build.h"

#include <stdarg.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Largest number of rows: row numbers have 32 bits, and the last one means "none". */
#define MOST_ROWS (UINT32_MAX - 1)

static bool fail(mv_build *b, mv_code code)
{
    if (b->code == MV_OK)
        b->code = code;
    return false;
}

static bool grow_column(mv_build *b, void *column, uint64_t rows, uint64_t size)
{
    void *grown = mv_arena_grow(b->arena, *(void **)column, rows * size);

    if (!grown)
        return fail(b, MV_NOMEM);
    *(void **)column = grown;
    return true;
}

static uint32_t next_capacity(uint32_t capacity, uint64_t wanted)
{
    uint64_t next = capacity ? (uint64_t)capacity + capacity / 2 : 4096;

    if (next < wanted)
        next = wanted;
    return next > MOST_ROWS ? (uint32_t)MOST_ROWS : (uint32_t)next;
}

void *mv_build_rows(mv_build *b, const mv_model_table *table)
{
    if (table->kind == MV_WIRE_EVENTS || table->kind == MV_WIRE_HOST_EVENTS)
        return &b->events;
    if (table->kind == MV_WIRE_SEGMENTS || table->kind == MV_WIRE_HOST_SEGMENTS)
        return &b->segments;
    return (char *)b->trace + table->at;
}

/* Makes space for `more` rows after the last row of a table. */
static bool reserve(mv_build *b, uint16_t kind, uint64_t more)
{
    const mv_model_table *table = mv_table_find(kind);
    void *rows = mv_build_rows(b, table);
    uint64_t wanted = *(const uint32_t *)rows + more; /* every struct of columns begins with
                                                       * `count` */
    uint32_t capacity;

    if (wanted <= b->capacity[kind])
        return true;
    if (wanted > MOST_ROWS)
        return fail(b, MV_LIMIT);
    capacity = next_capacity(b->capacity[kind], wanted);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        if (!grow_column(b, (char *)rows + column->at, (uint64_t)capacity + 1, column->size))
            return false;
    }
    b->capacity[kind] = capacity;
    return true;
}

/* Makes space in a column of values that the rows of a table share; each row may own any number of
 * values. */
static bool reserve_values(mv_build *b, void *column, uint64_t *capacity, uint64_t wanted,
                           uint64_t size)
{
    uint64_t values = wanted + wanted / 2 + 65536 / size;

    if (wanted <= *capacity)
        return true;
    if (!grow_column(b, column, values, size))
        return false;
    *capacity = values;
    return true;
}

/* Makes space for a row that was not found among the interned rows, and adds it to the hash
 * table. */
static bool add_interned(mv_build *b, mv_intern *interned, uint64_t hash, uint16_t kind,
                         uint32_t row)
{
    if (b->code != MV_OK || !reserve(b, kind, 1))
        return false;
    return mv_intern_add(interned, hash, row) || fail(b, MV_NOMEM);
}

/* Replaces a missing stream with the default stream, so that the result does not depend on which
 * stream comes first in the file. */
static void settle_stream(mv_build *b, mv_stream_id *stream)
{
    if (stream->row == MV_NO_ROW)
        *stream = mv_build_stream(b, 0);
}

/* Appends a row, which has the table's row type. The values are copied column by column. */
static uint32_t append(mv_build *b, uint16_t kind, const void *row)
{
    const mv_model_table *table = mv_table_find(kind);
    void *rows = mv_build_rows(b, table);
    uint32_t *count = rows, at = *count;

    if (!reserve(b, kind, 1))
        return 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        void *to = (char *)mv_column_of(rows, column) + (uint64_t)at * column->size;
        memcpy(to, (const char *)row + column->row_at, column->size);
        if (column->kind == MV_KIND_STREAM)
            settle_stream(b, to);
    }
    (*count)++;
    return at;
}

/* A statement or a comparison for each column, for code that is too slow with a loop over the
 * table's columns, because it runs once per event or frame. */
#define STORE(table, number, name, ...) (table)->name[at] = row->name;
#define SETTLE(table, number, name, kind, ...) \
    if (MV_KIND_##kind == MV_KIND_STREAM)      \
        settle_stream(b, (mv_stream_id *)&(table)->name[at]);
#define IS_SAME(table, number, name, ...) \
    &&memcmp(&(table)->name[at], &row->name, sizeof row->name) == 0
#define IS_ABSENT(T, number, name, kind, absent, ...) \
    &&memcmp(&row->name, &(mv_value_of_##kind){absent}, sizeof row->name) == 0

void mv_build_init(mv_build *b, mv_arena *arena, mv_trace *trace)
{
    mv_intern empty = {.arena = arena};

    *trace = (mv_trace){.origin = {.compression = "none"}};
    *b = (mv_build){.arena = arena, .trace = trace};
    b->strings = b->frames = b->stacks = b->streams = b->pools = b->tags = b->facts = empty;
    if (!reserve(b, MV_WIRE_STRINGS, 1) || !reserve(b, MV_WIRE_STACKS, 1))
        return;
    mv_build_stack(b, NULL, 0);
    mv_build_pool(b, 0, 0);
    mv_build_tag(b, &MV_TAG_ROW);
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Replaces a column with a copy of its first `bytes` bytes, which has room for `room` bytes. */
static void clone_block(mv_build *b, void *column, uint64_t bytes, uint64_t room)
{
    void *from = *(void **)column, *copy = from ? mv_arena_grow(b->arena, NULL, room) : NULL;

    if (from && !copy)
        fail(b, MV_NOMEM);
    else if (from)
        memcpy(copy, from, bytes);
    *(void **)column = copy;
}

/* Columns have one entry more than rows, as reserve() makes them. */
static void clone_rows(mv_build *b, const mv_model_table *table, uint64_t more)
{
    void *rows = mv_build_rows(b, table);
    uint64_t count = table->ends ? mv_table_rows(b->trace, table, 0) : *(const uint32_t *)rows;

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        clone_block(b, (char *)rows + column->at, (count + 1) * column->size,
                    (count + more + 1) * column->size);
    }
    b->capacity[table->kind] = (uint32_t)(count + more);
}

bool mv_build_move_events(mv_build *b)
{
    uint32_t count = b->events.count, capacity = next_capacity(count, (uint64_t)count + 1);

    if (capacity == count)
        return fail(b, MV_LIMIT);
    clone_rows(b, mv_table_find(MV_WIRE_EVENTS), capacity - count);
    return b->code == MV_OK;
}

void mv_build_drop_events(mv_arena *arena, const mv_events *events)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);

    for (uint32_t i = 0; i < table->column_count; i++)
        mv_arena_drop(arena, mv_column_of(events, &table->columns[i]));
}

void mv_build_clone(mv_build *to, mv_arena *arena, mv_trace *trace, const mv_build *from,
                    bool shares_events)
{
    mv_intern *interned[] = {&to->strings, &to->frames, &to->stacks, &to->streams,
                             &to->pools,   &to->tags,   &to->facts};

    *trace = *from->trace;
    *to = *from;
    to->arena = arena;
    to->trace = trace;
    to->string_bytes_capacity = mv_table_rows(trace, mv_table_find(MV_WIRE_STRING_BYTES), 0);
    to->stack_frames_capacity = mv_table_rows(trace, mv_table_find(MV_WIRE_STACK_FRAMES), 0);
    /* The host's events and segments share the staging tables of the devices. */
    for (const mv_model_table *table = mv_tables; table->kind && to->code == MV_OK; table++)
        if (table->kind != MV_WIRE_HOST_EVENTS && table->kind != MV_WIRE_HOST_SEGMENTS &&
            (table->kind != MV_WIRE_EVENTS || !shares_events))
            clone_rows(to, table, 0);
    for (unsigned i = 0; i < sizeof interned / sizeof *interned; i++) {
        interned[i]->arena = arena;
        clone_block(to, &interned[i]->slots, interned[i]->capacity * sizeof(mv_intern_slot),
                    interned[i]->capacity * sizeof(mv_intern_slot));
    }
}

/* ---- interned rows ----------------------------------------------------------------------- */

mv_string_id mv_build_string(mv_build *b, const char *text, uint64_t length)
{
    mv_strings *s = &b->trace->strings;
    uint64_t hash = XXH3_64bits_withSeed(text, length, mv_hash_key());
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->strings, hash); mv_intern_next(&b->strings, &p);) {
        const char *other = s->bytes + s->at[p.row];
        if (s->at[p.row + 1] - s->at[p.row] == length + 1 && memcmp(other, text, length) == 0)
            return (mv_string_id){p.row};
    }
    if (b->code != MV_OK || !reserve(b, MV_WIRE_STRINGS, 1) ||
        !reserve_values(b, &s->bytes, &b->string_bytes_capacity, s->at[row] + length + 1, 1) ||
        !add_interned(b, &b->strings, hash, MV_WIRE_STRINGS, row))
        return (mv_string_id){0};
    memcpy(s->bytes + s->at[row], text, length);
    s->bytes[s->at[row] + length] = 0;
    s->at[row + 1] = s->at[row] + length + 1;
    s->count++;
    return (mv_string_id){row};
}

static bool is_without_fx(const mv_fx_row *row)
{
    return true MV_FX_COLUMNS(IS_ABSENT, );
}

static bool same_fx(const mv_fx *f, uint32_t at, const mv_fx_row *row)
{
    if (at == MV_NO_ROW)
        return is_without_fx(row);
    return true MV_FX_COLUMNS(IS_SAME, f);
}

static bool same_frame(const mv_trace *t, uint32_t at, const mv_frame_row *row)
{
    const mv_frames *f = &t->frames;

    return same_fx(&t->fx, f->fx[at], &row->fx) MV_CODE_COLUMNS(IS_SAME, f);
}

mv_frame_id mv_build_frame(mv_build *b, const mv_frame_row *row)
{
    mv_frames *f = &b->trace->frames;
    uint64_t hash = mv_mix(mv_mix(row->function.row, row->file.row), (uint64_t)row->line);
    bool is_plain = is_without_fx(&row->fx);
    uint32_t at = f->count;

    if (!is_plain)
        hash = mv_mix(hash, mv_mix(row->fx.name.row, row->fx.target.row) ^
                                mv_mix(row->fx.trace.row, row->fx.op.row));

    for (mv_probe p = mv_intern_start(&b->frames, hash); mv_intern_next(&b->frames, &p);)
        if (same_frame(b->trace, p.row, row))
            return (mv_frame_id){p.row};
    if (!add_interned(b, &b->frames, hash, MV_WIRE_FRAMES, at))
        return (mv_frame_id){0};
    MV_CODE_COLUMNS(STORE, f)
    f->fx[at] = is_plain ? MV_NO_ROW : append(b, MV_WIRE_FX, &row->fx);
    f->count++;
    return (mv_frame_id){at};
}

mv_stack_id mv_build_stack(mv_build *b, const mv_frame_id *frames, uint32_t count)
{
    mv_stacks *s = &b->trace->stacks;
    uint64_t bytes = (uint64_t)count * sizeof *frames;
    uint64_t hash = XXH3_64bits_withSeed(frames, bytes, mv_hash_key());
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->stacks, hash); mv_intern_next(&b->stacks, &p);)
        if (s->first[p.row + 1] - s->first[p.row] == count &&
            (count == 0 || memcmp(s->frame + s->first[p.row], frames, bytes) == 0))
            return (mv_stack_id){p.row};
    if (b->code != MV_OK || !reserve(b, MV_WIRE_STACKS, 1) ||
        !reserve_values(b, &s->frame, &b->stack_frames_capacity, s->first[row] + count,
                        sizeof *frames) ||
        !add_interned(b, &b->stacks, hash, MV_WIRE_STACKS, row))
        return (mv_stack_id){0};
    if (count)
        memcpy(s->frame + s->first[row], frames, bytes);
    s->first[row + 1] = s->first[row] + count;
    s->count++;
    return (mv_stack_id){row};
}

mv_stream_id mv_build_stream(mv_build *b, uint64_t value)
{
    mv_streams *s = &b->trace->streams;
    uint64_t hash = mv_mix(value, 1);
    uint32_t row = s->count;

    /* Neighbouring events usually have the same stream. */
    if (!b->streams.is_blind && b->last_stream < s->count && s->value[b->last_stream] == value)
        return (mv_stream_id){b->last_stream};

    for (mv_probe p = mv_intern_start(&b->streams, hash); mv_intern_next(&b->streams, &p);)
        if (s->value[p.row] == value) {
            b->last_stream = p.row;
            return (mv_stream_id){p.row};
        }
    if (!add_interned(b, &b->streams, hash, MV_WIRE_STREAMS, row))
        return (mv_stream_id){0};
    s->value[row] = value;
    s->count++;
    return (mv_stream_id){row};
}

mv_pool_id mv_build_pool(mv_build *b, uint64_t capture, uint64_t asked)
{
    mv_pools *s = &b->trace->pools;
    uint64_t hash = mv_mix(capture, asked);
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->pools, hash); mv_intern_next(&b->pools, &p);)
        if (s->a[p.row] == capture && s->b[p.row] == asked)
            return (mv_pool_id){p.row};
    if (!add_interned(b, &b->pools, hash, MV_WIRE_POOLS, row))
        return (mv_pool_id){0};
    s->a[row] = capture;
    s->b[row] = asked;
    s->count++;
    return (mv_pool_id){row};
}

#define PLUS_SIZE(T, number, name, ...) +sizeof((mv_tag_row *)0)->name
static_assert(sizeof(mv_tag_row) == 0 MV_TAG_COLUMNS(PLUS_SIZE, ),
              "bytes between the columns of a tag would be part of its hash");

static bool same_tag(const mv_tags *t, uint32_t at, const mv_tag_row *row)
{
    return true MV_TAG_COLUMNS(IS_SAME, t);
}

mv_tag_id mv_build_tag(mv_build *b, const mv_tag_row *row)
{
    mv_tags *t = &b->trace->tags;
    uint64_t hash = XXH3_64bits_withSeed(row, sizeof *row, mv_hash_key());
    uint32_t at = t->count;

    for (mv_probe p = mv_intern_start(&b->tags, hash); mv_intern_next(&b->tags, &p);)
        if (same_tag(t, p.row, row))
            return (mv_tag_id){p.row};
    if (!add_interned(b, &b->tags, hash, MV_WIRE_TAGS, at))
        return (mv_tag_id){0};
    MV_TAG_COLUMNS(STORE, t)
    t->count++;
    return (mv_tag_id){at};
}

uint32_t mv_build_fact(mv_build *b, mv_string_id key, mv_string_id value)
{
    mv_facts *f = &b->trace->facts;
    mv_fact_row row = MV_FACT_ROW;
    uint64_t hash = mv_mix(key.row, 1);

    for (mv_probe p = mv_intern_start(&b->facts, hash); mv_intern_next(&b->facts, &p);)
        if (f->key[p.row].row == key.row) {
            f->value[p.row] = value;
            return p.row;
        }
    if (!add_interned(b, &b->facts, hash, MV_WIRE_FACTS, f->count))
        return 0;
    row.key = key;
    row.value = value;
    return append(b, MV_WIRE_FACTS, &row);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Stores a value in a new row, which is zero. Most streams and tags are zero, and are not stored, so
 * that their pages are not touched. */
#define STORE_NEW(table, number, name, kind, ...)                                      \
    if ((MV_KIND_##kind != MV_KIND_STREAM && MV_KIND_##kind != MV_KIND_TAG) ||         \
        memcmp(&row->name, &(mv_value_of_##kind){0}, sizeof(mv_value_of_##kind)) != 0) \
        (table)->name[at] = row->name;

uint32_t mv_build_event(mv_build *b, const mv_event_row *row)
{
    mv_events *e = &b->events;
    uint32_t at = e->count;

    if (at >= b->capacity[MV_WIRE_EVENTS] && !reserve(b, MV_WIRE_EVENTS, 1))
        return 0;
    MV_EVENT_COLUMNS(STORE_NEW, e)
    MV_EVENT_COLUMNS(SETTLE, e)
    e->count++;
    return at;
}

#define APPEND(name, TABLE)                                           \
    uint32_t mv_build_##name(mv_build *b, const mv_##name##_row *row) \
    {                                                                 \
        return append(b, MV_WIRE_##TABLE, row);                       \
    }
APPEND(segment, SEGMENTS)
APPEND(block, BLOCKS)
APPEND(history, HISTORY)
APPEND(annotation, ANNOTATIONS)
APPEND(setting, SETTINGS)
APPEND(tensor, TENSORS)
APPEND(api_call, API_CALLS)
APPEND(heap_call, HEAP_CALLS)
APPEND(sample, SAMPLES)

uint32_t mv_build_copy(mv_build *b, uint16_t kind, uint32_t row)
{
    const mv_model_table *table = mv_table_find(kind);
    void *rows = mv_build_rows(b, table);
    uint32_t *count = rows, at = *count;

    if (!reserve(b, kind, 1))
        return 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        uint64_t size = table->columns[i].size;
        char *values = mv_column_of(rows, &table->columns[i]);
        memcpy(values + at * size, values + row * size, size);
    }
    (*count)++;
    return at;
}

void mv_build_note(mv_build *b, mv_note_code code, const char *format, ...)
{
    mv_note *note = &b->trace->notes[code];
    char text[sizeof note->first];
    va_list args;

    if (note->count++ > 0)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mv_note_describe(note, text, strlen(text));
}

/* ---- the end ----------------------------------------------------------------------------- */

static void cut(mv_build *b, uint16_t kind, mv_range range, void *out)
{
    const mv_model_table *table = mv_table_find(kind);

    mv_table_cut(table, mv_build_rows(b, table), range.first, range.count, out);
}

mv_code mv_build_finish(mv_build *b, const mv_build_ranges *ranges, mv_err *err)
{
    mv_trace *t = b->trace;
    mv_intern *tables[] = {&b->strings, &b->frames, &b->stacks, &b->streams,
                           &b->pools,   &b->tags,   &b->facts};

    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
        mv_arena_drop(b->arena, tables[i]->slots);
        *tables[i] = (mv_intern){.arena = b->arena};
    }
    t->devices = mv_push_array(b->arena, mv_device, ranges->device_count);
    if (!t->devices)
        fail(b, MV_NOMEM);
    if (b->code != MV_OK)
        return mv_fail(err, b->code, MV_NO_OFFSET, "%s", "");
    t->device_count = ranges->device_count;
    for (uint32_t i = 0; i < ranges->device_count; i++)
        cut(b, MV_WIRE_EVENTS, ranges->devices[i], &t->devices[i].events);
    cut(b, MV_WIRE_EVENTS, ranges->host_events, &t->host_events);
    cut(b, MV_WIRE_SEGMENTS, ranges->segments, &t->segments);
    cut(b, MV_WIRE_SEGMENTS, ranges->host_segments, &t->host_segments);
    mv_build_settle(b);
    return b->code == MV_OK ? MV_OK : mv_fail(err, b->code, MV_NO_OFFSET, "%s", "settings");
}
