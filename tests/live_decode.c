#include "tests/live_decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct {
    const uint8_t *at, *end;
    bool failed;
} bytes;

static void fault(live_decoded *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fault(live_decoded *d, const char *format, ...)
{
    va_list arguments;

    if (d->fault[0])
        return;
    va_start(arguments, format);
    vsnprintf(d->fault, sizeof d->fault, format, arguments);
    va_end(arguments);
}

static void *one_more(void *rows, size_t count, size_t size)
{
    if (count & (count - 1))
        return rows;
    rows = realloc(rows, (count ? 2 * count : 1) * size);
    if (!rows)
        abort();
    return rows;
}

static uint64_t take(bytes *b)
{
    uint64_t value = 0;

    for (int shift = 0; b->at < b->end && shift < 70; shift += 7) {
        uint8_t byte = *b->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    b->failed = true;
    return 0;
}

static int64_t take_signed(bytes *b)
{
    uint64_t n = take(b);
    return (int64_t)(n >> 1 ^ -(n & 1));
}

static uint64_t take_size(bytes *b)
{
    uint64_t n = take(b);
    return n & 1 ? n >> 1 : n >> 1 << 9;
}

static const char *take_text(bytes *b, uint64_t *length)
{
    const char *text;

    *length = take(b);
    text = (const char *)b->at;
    if (b->failed || *length > (uint64_t)(b->end - b->at)) {
        b->failed = true;
        *length = 0;
        return "";
    }
    b->at += *length;
    return text;
}

/* ---- Facts ---- */

static void decode_facts(live_decoded *d, bytes b)
{
    while (b.at < b.end) {
        uint64_t key_bytes, value_bytes;
        const char *key = take_text(&b, &key_bytes), *value = take_text(&b, &value_bytes);

        if (b.failed) {
            fault(d, "fact %zu is not whole", d->fact_count);
            return;
        }
        d->facts = one_more(d->facts, d->fact_count, sizeof *d->facts);
        d->facts[d->fact_count].key = strndup(key, key_bytes);
        d->facts[d->fact_count++].value = strndup(value, value_bytes);
    }
}

/* ---- Names ---- */

/* s: string id, c: code id, m: module id + 1, k: stack id + 1, f: frame id, n: a number, t: text */
static const char *const name_shapes[] = {
    [MV_LIVE_NAME_STRING] = "t",  [MV_LIVE_NAME_CODE] = "ssnnt", [MV_LIVE_NAME_MODULE] = "stnnn",
    [MV_LIVE_NAME_PYTHON] = "cn", [MV_LIVE_NAME_NATIVE] = "mn",  [MV_LIVE_NAME_WORDS] = "s",
    [MV_LIVE_NAME_STACK] = "kf",  [MV_LIVE_NAME_THREAD] = "ns"};

/* All kinds of frames share their ids. */
static live_names *table_of(live_decoded *d, mv_live_name kind)
{
    bool is_frame = kind == MV_LIVE_NAME_NATIVE || kind == MV_LIVE_NAME_WORDS;
    return &d->names[is_frame ? MV_LIVE_NAME_PYTHON : kind];
}

static bool refers(live_decoded *d, char shape, uint64_t n)
{
    switch (shape) {
    case 's':
        return n < d->names[MV_LIVE_NAME_STRING].count;
    case 'c':
        return n < d->names[MV_LIVE_NAME_CODE].count;
    case 'm':
        return n <= d->names[MV_LIVE_NAME_MODULE].count;
    case 'k':
        return n <= d->names[MV_LIVE_NAME_STACK].count;
    case 'f':
        return n < d->names[MV_LIVE_NAME_PYTHON].count;
    default:
        return true;
    }
}

static void decode_name(live_decoded *d, bytes *b)
{
    unsigned kind = *b->at++, numbers = 0;
    live_name row = {.kind = (mv_live_name)kind};
    live_names *table;

    if (kind < MV_LIVE_NAME_STRING || kind > MV_LIVE_NAME_THREAD) {
        fault(d, "name of kind %u", kind);
        b->failed = true;
        return;
    }
    for (const char *shape = name_shapes[kind]; *shape; shape++) {
        if (*shape == 't') {
            row.text = take_text(b, &row.text_bytes);
            continue;
        }
        row.number[numbers] = take(b);
        if (!refers(d, *shape, row.number[numbers++]))
            fault(d, "name of kind %u refers to what is not there", kind);
    }
    table = table_of(d, row.kind);
    table->rows = one_more(table->rows, table->count, sizeof row);
    table->rows[table->count++] = row;
}

static void decode_names(live_decoded *d, bytes b, const mv_wire_chunk *chunk)
{
    uint64_t ids = d->names[MV_LIVE_NAME_STRING].count | (uint64_t)d->names[MV_LIVE_NAME_CODE].count
                                                             << 32;
    uint64_t more =
        d->names[MV_LIVE_NAME_PYTHON].count | (uint64_t)d->names[MV_LIVE_NAME_STACK].count << 32;

    if (chunk->first_row != ids || chunk->table_rows != more ||
        chunk->device != d->names[MV_LIVE_NAME_MODULE].count)
        fault(d, "names begin at other ids than were made");
    d->name_chunks++;
    d->name_bytes += (size_t)(b.end - b.at);
    while (b.at < b.end && !b.failed)
        decode_name(d, &b);
    if (b.failed)
        fault(d, "a name is not whole");
}

/* ---- Events ---- */

typedef struct {
    bytes b;
    live_event ahead; /* number, time and device of the record ahead */
    uint64_t spelled, recent[MV_LIVE_RECENT];
    unsigned spelled_count;
} events;

static uint64_t take_addr(events *e, unsigned slot)
{
    uint64_t n;
    int64_t step;

    if (slot < MV_LIVE_RECENT) {
        e->b.failed = e->b.failed || slot >= e->spelled_count;
        return e->recent[slot];
    }
    n = take(&e->b);
    step = (int64_t)(n >> 2 ^ -(n >> 1 & 1));
    e->spelled += n & 1 ? (uint64_t)step << 9 : (uint64_t)step;
    e->recent[e->spelled_count++ % MV_LIVE_RECENT] = e->spelled;
    return e->spelled;
}

static void take_call(events *e, unsigned slot, live_event *row)
{
    row->addr = take_addr(e, slot);
    row->action = take(&e->b);
    row->size = take_size(&e->b);
    row->handle = take(&e->b);
    row->api = take(&e->b);
    row->library = take(&e->b);
    row->device = take_signed(&e->b);
    row->result = take_signed(&e->b);
    row->stack = take(&e->b);
}

static void take_oom(events *e, live_event *row)
{
    row->size = take_size(&e->b);
    row->allocated = take(&e->b);
    row->reserved = take(&e->b);
    row->stack = take(&e->b);
}

static void take_fields(events *e, unsigned slot, live_event *row)
{
    bytes *b = &e->b;

    switch (row->kind) {
    case MV_LIVE_EVENT_BLOCK:
    case MV_LIVE_EVENT_FREE:
        row->addr = take_addr(e, slot);
        row->size = take_size(b);
        row->stack = row->kind == MV_LIVE_EVENT_BLOCK ? take(b) : 0;
        break;
    case MV_LIVE_EVENT_TOTALS:
        row->allocated = take(b);
        row->reserved = take(b);
        break;
    case MV_LIVE_EVENT_OOM:
        take_oom(e, row);
        break;
    case MV_LIVE_EVENT_CALL:
        take_call(e, slot, row);
        break;
    case MV_LIVE_EVENT_BEGIN:
    case MV_LIVE_EVENT_END:
        row->number = take(b);
        row->text = row->kind == MV_LIVE_EVENT_BEGIN ? take(b) : 0;
        break;
    case MV_LIVE_EVENT_MARK:
    case MV_LIVE_EVENT_PUSH:
        row->text = take(b);
        break;
    case MV_LIVE_EVENT_DEVICE:
        e->ahead.device_type = take_signed(b);
        e->ahead.device = take_signed(b);
        break;
    case MV_LIVE_EVENT_THREAD:
        e->ahead.thread = (uint32_t)take(b);
        e->ahead.device_type = e->ahead.device = 0;
        break;
    case MV_LIVE_EVENT_POP:
        break;
    default:
        b->failed = true;
    }
}

static void decode_event(live_decoded *d, events *e)
{
    unsigned tag = *e->b.at++, slot = tag >> 4;
    uint64_t sequence = take(&e->b);
    mv_live_event kind = (mv_live_event)(tag & 15);
    bool is_told_of_others = kind == MV_LIVE_EVENT_DEVICE || kind == MV_LIVE_EVENT_THREAD;
    live_event row;

    e->ahead.sequence += sequence;
    e->ahead.time_us += take(&e->b);
    row = e->ahead;
    row.kind = kind;
    take_fields(e, slot, &row);
    if ((is_told_of_others || kind == MV_LIVE_EVENT_TOTALS) && sequence)
        fault(d, "a record beside an event has a number");
    if (e->b.failed || is_told_of_others)
        return;
    row.order = d->event_count;
    d->events = one_more(d->events, d->event_count, sizeof row);
    d->events[d->event_count++] = row;
}

static void decode_events(live_decoded *d, bytes b, const mv_live_head *head, size_t at)
{
    events e = {.b = b,
                .ahead = {.thread = head->thread,
                          .sequence = head->first_sequence,
                          .time_us = head->first_time_us,
                          .chunk_at = at}};

    d->event_chunks++;
    d->event_bytes += (size_t)(b.end - b.at);
    while (e.b.at < e.b.end && !e.b.failed)
        decode_event(d, &e);
    if (e.b.failed)
        fault(d, "an event in the chunk at %zu is not whole", at);
}

/* TOTALS have the number of the event ahead, and stay behind it. */
static int by_number(const void *a, const void *b)
{
    const live_event *x = a, *y = b;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void check_event(live_decoded *d, const live_event *e)
{
    uint64_t strings = d->names[MV_LIVE_NAME_STRING].count;
    bool has_text = e->kind == MV_LIVE_EVENT_MARK || e->kind == MV_LIVE_EVENT_PUSH ||
                    e->kind == MV_LIVE_EVENT_BEGIN;

    if (e->stack > d->names[MV_LIVE_NAME_STACK].count)
        fault(d, "event %llu has a stack that is not there", (unsigned long long)e->sequence);
    if (e->api > strings || e->library > strings || (has_text && e->text >= strings))
        fault(d, "event %llu has a text that is not there", (unsigned long long)e->sequence);
}

static void check_events(live_decoded *d)
{
    if (d->event_count)
        qsort(d->events, d->event_count, sizeof *d->events, by_number);
    for (size_t i = 0; i < d->event_count; i++) {
        const live_event *e = &d->events[i];
        check_event(d, e);
        if (i && e->sequence == e[-1].sequence && e->kind != MV_LIVE_EVENT_TOTALS)
            fault(d, "two events have the number %llu", (unsigned long long)e->sequence);
        if (i && e->chunk_at == e[-1].chunk_at && e->time_us < e[-1].time_us)
            fault(d, "time goes back at event %llu", (unsigned long long)e->sequence);
    }
}

/* ---- Chunks ---- */

static void decode_chunk(live_decoded *d, size_t at, const mv_wire_chunk *chunk)
{
    const mv_live_head *head = (const mv_live_head *)(d->bytes + at + sizeof *chunk);
    const uint8_t *records = (const uint8_t *)(head + 1);
    bytes b = {.at = records, .end = records + head->committed};

    if (head->committed > chunk->stored_bytes - sizeof *head) {
        fault(d, "more is committed than the chunk at %zu has", at);
        return;
    }
    if (head->seal && head->seal != XXH3_64bits(records, head->committed))
        fault(d, "the chunk at %zu has another hash", at);
    d->sealed_chunks += head->seal != 0;
    if (chunk->kind == MV_LIVE_FACTS)
        decode_facts(d, b);
    else if (chunk->kind == MV_LIVE_NAMES)
        decode_names(d, b, chunk);
    else if (chunk->kind == MV_LIVE_EVENTS)
        decode_events(d, b, head, at);
    else
        fault(d, "chunk of kind %u", chunk->kind);
}

/* The bytes that the chunk takes, or 0 when none begins here. */
static size_t chunk_at(live_decoded *d, size_t at)
{
    const mv_wire_chunk *chunk = (const mv_wire_chunk *)(d->bytes + at);
    size_t least = sizeof *chunk + sizeof(mv_live_head);

    if (d->byte_count - at < least || chunk->magic[0] == 0)
        return 0;
    if (memcmp(chunk->magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES) != 0 ||
        chunk->hash != XXH3_64bits(chunk, offsetof(mv_wire_chunk, hash)) ||
        chunk->flags != MV_WIRE_UNSEALED || chunk->codec != MV_WIRE_CODEC_NONE ||
        chunk->raw_bytes != chunk->stored_bytes || chunk->stored_hash != 0) {
        fault(d, "the chunk header at %zu is wrong", at);
        return 0;
    }
    if (chunk->stored_bytes > d->byte_count - at - sizeof *chunk ||
        (at + sizeof *chunk + chunk->stored_bytes) % MV_LIVE_CHUNK_BYTES != 0) {
        fault(d, "the chunk at %zu has a wrong size", at);
        return 0;
    }
    decode_chunk(d, at, chunk);
    return sizeof *chunk + chunk->stored_bytes;
}

static void load(const char *path, live_decoded *d)
{
    FILE *file = fopen(path, "rb");

    if (!file) {
        fault(d, "%s cannot be opened", path);
        return;
    }
    fseek(file, 0, SEEK_END);
    d->byte_count = (size_t)ftell(file);
    rewind(file);
    d->bytes = malloc(d->byte_count + 1);
    if (!d->bytes || fread(d->bytes, 1, d->byte_count, file) != d->byte_count)
        fault(d, "%s cannot be read", path);
    fclose(file);
}

void live_decode(const char *path, live_decoded *d)
{
    const mv_wire_header *header;

    memset(d, 0, sizeof *d);
    load(path, d);
    if (d->fault[0] || d->byte_count < sizeof *header || d->bytes[0] == 0)
        return;
    header = (const mv_wire_header *)d->bytes;
    if (memcmp(header->magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES) != 0 ||
        header->version != MV_WIRE_VERSION || header->hash != XXH3_64bits(header, 16))
        fault(d, "the file's header is wrong");
    for (size_t at = sizeof *header; at < d->byte_count && !d->fault[0];) {
        size_t took = chunk_at(d, at);
        at = took ? at + took : (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES;
    }
    if (!d->fault[0])
        check_events(d);
}

void live_decode_drop(live_decoded *d)
{
    for (size_t i = 0; i < d->fact_count; i++) {
        free(d->facts[i].key);
        free(d->facts[i].value);
    }
    for (int kind = 0; kind <= MV_LIVE_NAME_THREAD; kind++)
        free(d->names[kind].rows);
    free(d->facts);
    free(d->events);
    free(d->bytes);
}

const char *live_decode_fact(const live_decoded *d, const char *key)
{
    for (size_t i = d->fact_count; i-- > 0;)
        if (strcmp(d->facts[i].key, key) == 0)
            return d->facts[i].value;
    return NULL;
}

static void print_frame(const live_decoded *d, const live_name *frame, char *text, size_t size)
{
    const live_names *strings = &d->names[MV_LIVE_NAME_STRING];
    const live_name *string;
    uint64_t id = frame->number[0];
    bool has_text = true;

    if (frame->kind == MV_LIVE_NAME_PYTHON)
        id = d->names[MV_LIVE_NAME_CODE].rows[id].number[1];
    else if (frame->kind == MV_LIVE_NAME_NATIVE && id)
        id = d->names[MV_LIVE_NAME_MODULE].rows[id - 1].number[0];
    else
        has_text = frame->kind == MV_LIVE_NAME_WORDS;
    string = has_text ? &strings->rows[id] : NULL;
    snprintf(text, size, frame->kind == MV_LIVE_NAME_WORDS ? "%.*s" : "%.*s:%llu",
             string ? (int)string->text_bytes : 1, string ? string->text : "?",
             (unsigned long long)frame->number[1]);
}

void live_decode_stack(const live_decoded *d, uint64_t stack, char *text, size_t size)
{
    size_t used = 0;

    *text = 0;
    while (stack && used + 2 < size) {
        const live_name *row = &d->names[MV_LIVE_NAME_STACK].rows[stack - 1];
        if (used)
            text[used++] = ';';
        print_frame(d, &d->names[MV_LIVE_NAME_PYTHON].rows[row->number[1]], text + used,
                    size - used);
        used += strlen(text + used);
        stack = row->number[0];
    }
}
