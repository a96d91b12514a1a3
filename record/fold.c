#include "record/fold.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/grow.h"
#include "base/sort.h"
#include "capture/wire_leb128.h"

enum {
    HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head),
    MOST_RECORD = 192, /* maximum size of an event's records, each of which has at most 15 numbers
                        * and tags */
    PAGE_BITS = 9
};

typedef struct {
    mv_arena *arena;
    uint8_t *bytes; /* [count] */
    uint64_t count, capacity;
} writer;

/* The state of the decoder, as in parse/live/live_records.c. */
typedef struct {
    uint64_t sequence, time_us, addr, launches, waits;
    uint32_t thread;
    int64_t device_type, device;
} context;

/* ---- chunks ------------------------------------------------------------------------------ */

static uint64_t slots(uint64_t bytes)
{
    return (bytes + MV_LIVE_CHUNK_BYTES - 1) / MV_LIVE_CHUNK_BYTES * MV_LIVE_CHUNK_BYTES;
}

/* Makes room for the headers of a chunk, which its records follow. */
static bool begin_chunk(writer *w)
{
    w->count = slots(w->count);
    if (!mv_room_for(w->arena, w->bytes, w->count + HEADERS, w->capacity))
        return false;
    w->count += HEADERS;
    return true;
}

static bool end_chunk(writer *w, uint64_t at, mv_wire_chunk head, mv_live_head live)
{
    uint64_t end = slots(w->count);

    if (!mv_room_for(w->arena, w->bytes, end, w->capacity))
        return false;
    live.committed = w->count - at - HEADERS;
    live.seal = XXH3_64bits(w->bytes + at + HEADERS, live.committed);
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.codec = MV_WIRE_CODEC_NONE;
    head.flags = MV_WIRE_UNSEALED;
    head.raw_bytes = head.stored_bytes = end - at - sizeof head;
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    memcpy(w->bytes + at, &head, sizeof head);
    memcpy(w->bytes + at + sizeof head, &live, sizeof live);
    w->count = end;
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

static uint8_t *put_signed(uint8_t *at, int64_t value)
{
    return mv_leb128_put(at, mv_leb128_zigzag(value));
}

static uint8_t *put_tag(uint8_t *at, context *c, mv_live_event kind, const mv_live_record *r)
{
    uint64_t time_us = r->time_us > c->time_us ? r->time_us : c->time_us;

    *at++ = (uint8_t)(kind | MV_LIVE_NOT_RECENT << 4);
    at = mv_leb128_put(at, r->sequence - c->sequence);
    at = mv_leb128_put(at, time_us - c->time_us);
    c->sequence = r->sequence;
    c->time_us = time_us;
    return at;
}

static uint8_t *put_tag_beside(uint8_t *at, mv_live_event kind)
{
    *at++ = (uint8_t)(kind | MV_LIVE_NOT_RECENT << 4);
    *at++ = 0;
    *at++ = 0;
    return at;
}

static uint8_t *put_addr(uint8_t *at, context *c, uint64_t addr)
{
    int64_t step = (int64_t)(addr - c->addr);

    c->addr = addr;
    if (step & ((1 << PAGE_BITS) - 1))
        return mv_leb128_put(at, mv_leb128_zigzag(step) << 1);
    return mv_leb128_put(at, mv_leb128_zigzag(step >> PAGE_BITS) << 1 | 1);
}

static uint8_t *put_size(uint8_t *at, uint64_t size)
{
    return mv_leb128_put(at,
                         size & ((1 << PAGE_BITS) - 1) ? size << 1 | 1 : size >> PAGE_BITS << 1);
}

/* Writes the thread and the device of the record, if they differ from those of the previous
 * record. */
static uint8_t *put_context(uint8_t *at, context *c, const mv_live_record *r)
{
    bool is_call = r->kind == MV_LIVE_EVENT_CALL;
    bool has_device = is_call || r->kind == MV_LIVE_EVENT_BLOCK || r->kind == MV_LIVE_EVENT_OOM;
    int64_t device = is_call ? r->current : r->device;
    int64_t type = is_call && r->current < 0 ? 0 : r->device_type;

    if (r->thread != c->thread) {
        at = mv_leb128_put(put_tag_beside(at, MV_LIVE_EVENT_THREAD), r->thread);
        c->thread = r->thread;
        c->device_type = 0;
        c->device = -1;
    }
    if (has_device && (c->device_type != type || c->device != device)) {
        at = put_signed(put_tag_beside(at, MV_LIVE_EVENT_DEVICE), type);
        at = put_signed(at, device);
        c->device_type = type;
        c->device = device;
    }
    return at;
}

static uint8_t *put_call(uint8_t *at, context *c, const mv_live_alive_row *row)
{
    const mv_live_record *r = &row->record;

    at = mv_leb128_put(put_addr(at, c, r->addr), r->action);
    at = mv_leb128_put(put_size(at, r->size), r->number);
    at = mv_leb128_put(mv_leb128_put(at, r->text), r->library);
    at = put_signed(put_signed(at, r->device), r->result);
    at = mv_leb128_put(at, r->stack);
    if (row->launches > c->launches)
        at = mv_leb128_put(put_tag_beside(at, MV_LIVE_EVENT_LAUNCHES), row->launches);
    if (row->waits > c->waits)
        at = mv_leb128_put(
            mv_leb128_put(put_tag_beside(at, MV_LIVE_EVENT_COUNT), MV_LIVE_COUNT_WAITS),
            row->waits);
    c->launches = row->launches > c->launches ? row->launches : c->launches;
    c->waits = row->waits > c->waits ? row->waits : c->waits;
    return at;
}

static uint8_t *put_record(uint8_t *at, context *c, const mv_live_alive_row *row)
{
    const mv_live_record *r = &row->record;

    at = put_tag(put_context(at, c, r), c, r->kind, r);
    switch (r->kind) {
    case MV_LIVE_EVENT_BLOCK:
        return mv_leb128_put(put_size(put_addr(at, c, r->addr), r->size), r->stack);
    case MV_LIVE_EVENT_OOM:
        at = mv_leb128_put(put_size(at, r->size), r->allocated);
        return mv_leb128_put(mv_leb128_put(at, r->reserved), r->stack);
    case MV_LIVE_EVENT_CALL:
        return put_call(at, c, row);
    case MV_LIVE_EVENT_HEAP:
        at = mv_leb128_put(put_addr(at, c, r->addr), r->action);
        at = mv_leb128_put(put_size(at, r->size), r->text);
        return mv_leb128_put(put_signed(mv_leb128_put(at, r->library), r->device), r->stack);
    case MV_LIVE_EVENT_BEGIN:
        return mv_leb128_put(mv_leb128_put(at, r->number), r->text - 1);
    default: /* nothing else of PUSH and MARK is kept */
        return mv_leb128_put(at, r->text - 1);
    }
}

static bool put_records(writer *w, const mv_live_alive *alive)
{
    context c = {.device = -1};
    mv_live_alive_row *rows = mv_push_array(w->arena, mv_live_alive_row, alive->kept + 1);
    uint64_t count = 0;

    for (uint32_t i = 0; rows && i < alive->count; i++)
        if (alive->rows[i].is_used)
            rows[count++] = alive->rows[i];
    if (!rows)
        return false;
    mv_sort_rows(w->arena, rows, count, MV_RISING(mv_live_alive_row, sequence));
    for (uint64_t i = 0; i < count; i++) {
        if (!mv_room_for(w->arena, w->bytes, w->count + MOST_RECORD, w->capacity))
            return false;
        w->count = (uint64_t)(put_record(w->bytes + w->count, &c, &rows[i]) - w->bytes);
    }
    return true;
}

/* ---- the file ---------------------------------------------------------------------------- */

static bool put_text(writer *w, const char *text)
{
    size_t length = strlen(text);

    if (!mv_room_for(w->arena, w->bytes, w->count + length + MV_LEB128_BYTES, w->capacity))
        return false;
    w->count = (uint64_t)(mv_leb128_put(w->bytes + w->count, length) - w->bytes);
    memcpy(w->bytes + w->count, text, length);
    w->count += length;
    return true;
}

static bool put_facts(writer *w, const mv_fold *f)
{
    uint64_t at = w->count;

    if (!begin_chunk(w))
        return false;
    for (uint32_t i = 0; i < f->fact_count; i++)
        if (!put_text(w, f->facts[i].key) || !put_text(w, f->facts[i].value))
            return false;
    return end_chunk(w, at, (mv_wire_chunk){.kind = MV_LIVE_FACTS}, (mv_live_head){0});
}

static bool put_alive(writer *w, const mv_fold *f)
{
    mv_wire_chunk head = {.kind = MV_LIVE_FOLDED, .first_row = f->through, .table_rows = f->start};
    uint64_t at = w->count;

    return begin_chunk(w) && put_records(w, f->alive) && end_chunk(w, at, head, (mv_live_head){0});
}

static bool put_places(writer *w, const mv_fold *f)
{
    uint64_t at = w->count, bytes = f->place_count * sizeof *f->places;

    if (!begin_chunk(w) || !mv_room_for(w->arena, w->bytes, w->count + bytes, w->capacity))
        return false;
    if (bytes)
        memcpy(w->bytes + w->count, f->places, bytes);
    w->count += bytes;
    return end_chunk(w, at, (mv_wire_chunk){.kind = MV_LIVE_PLACES}, (mv_live_head){0});
}

bool mv_fold_bytes(mv_arena *arena, const mv_fold *fold, mv_span *out)
{
    writer w = {.arena = arena};
    mv_wire_header header = {.magic = MV_WIRE_MAGIC, .version = MV_WIRE_VERSION};

    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    if (!mv_room_for(arena, w.bytes, MV_LIVE_CHUNK_BYTES, w.capacity))
        return false;
    memcpy(w.bytes, &header, sizeof header);
    w.count = MV_LIVE_CHUNK_BYTES;
    if (!put_facts(&w, fold) || !put_alive(&w, fold) || !put_places(&w, fold))
        return false;
    *out = (mv_span){w.bytes, w.count};
    return true;
}
