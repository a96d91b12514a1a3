#include "parse/live/live_records.h"

#include "parse/live/varint.h"

/* ---- one record -------------------------------------------------------------------------- */

static uint64_t spell_address(mv_live_stream *s)
{
    uint64_t n = mv_take_varint(&s->c);
    int64_t by = n & 1 ? (int64_t)((uint64_t)mv_unzigzag(n >> 1) << 9) : mv_unzigzag(n >> 1);

    s->last += (uint64_t)by;
    s->recent[s->recent_count++ % MV_LIVE_RECENT] = s->last;
    return s->last;
}

static uint64_t take_address(mv_live_stream *s, uint32_t slot)
{
    if (slot == MV_LIVE_NOT_RECENT)
        return spell_address(s);
    if (slot >= s->recent_count)
        s->c.overrun = true;
    return s->recent[slot];
}

static uint64_t take_size(mv_cursor *c)
{
    uint64_t n = mv_take_varint(c);

    return n & 1 ? n >> 1 : (n >> 1) * 512;
}

/* Converts an id to id + 1, so that 0 means none everywhere. */
static uint64_t take_id(mv_cursor *c)
{
    uint64_t id = mv_take_varint(c);

    return id == UINT64_MAX ? 0 : id + 1;
}

static void take_call(mv_live_stream *s, uint32_t slot, mv_live_record *r)
{
    uint64_t action;

    r->addr = take_address(s, slot);
    action = mv_take_varint(&s->c);
    r->action = action < MV_API_ACTION_COUNT ? (uint8_t)action : 0;
    r->size = take_size(&s->c);
    r->number = mv_take_varint(&s->c);
    r->text = mv_take_varint(&s->c);
    r->library = mv_take_varint(&s->c);
    r->device = mv_take_signed(&s->c);
    r->result = mv_take_signed(&s->c);
    r->stack = mv_take_varint(&s->c);
    r->current = s->device_type == 0 ? -1 : s->device;
}

static void take_heap(mv_live_stream *s, uint32_t slot, mv_live_record *r)
{
    uint64_t action;

    r->addr = take_address(s, slot);
    action = mv_take_varint(&s->c);
    r->action = action < MV_HEAP_ACTION_COUNT ? (uint8_t)action : 0;
    r->size = take_size(&s->c);
    r->text = mv_take_varint(&s->c);
    r->library = mv_take_varint(&s->c);
    r->device = mv_take_signed(&s->c);
    r->stack = mv_take_varint(&s->c);
}

static void take_fields(mv_live_stream *s, uint32_t slot, mv_live_record *r)
{
    mv_cursor *c = &s->c;
    uint64_t which;

    switch (r->kind) {
    case MV_LIVE_EVENT_DEVICE:
        s->device_type = mv_take_signed(c);
        s->device = mv_take_signed(c);
        break;
    case MV_LIVE_EVENT_THREAD:
        s->thread = (uint32_t)mv_take_varint(c);
        s->device_type = 0;
        s->device = -1;
        break;
    case MV_LIVE_EVENT_BLOCK:
    case MV_LIVE_EVENT_FREE:
        r->addr = take_address(s, slot);
        r->size = take_size(c);
        r->stack = r->kind == MV_LIVE_EVENT_BLOCK ? mv_take_varint(c) : 0;
        break;
    case MV_LIVE_EVENT_OOM:
        r->size = take_size(c);
        r->allocated = mv_take_varint(c);
        r->reserved = mv_take_varint(c);
        r->stack = mv_take_varint(c);
        break;
    case MV_LIVE_EVENT_TOTALS:
        r->allocated = mv_take_varint(c);
        r->reserved = mv_take_varint(c);
        break;
    case MV_LIVE_EVENT_LAUNCHES:
        r->number = mv_take_varint(c);
        break;
    case MV_LIVE_EVENT_COUNT:
        which = mv_take_varint(c);
        r->action = which <= UINT8_MAX ? (uint8_t)which : 0;
        r->number = mv_take_varint(c);
        break;
    case MV_LIVE_EVENT_CALL:
        take_call(s, slot, r);
        break;
    case MV_LIVE_EVENT_HEAP:
        take_heap(s, slot, r);
        break;
    case MV_LIVE_EVENT_BEGIN:
        r->number = mv_take_varint(c);
        r->text = take_id(c);
        break;
    case MV_LIVE_EVENT_END:
        r->number = mv_take_varint(c);
        break;
    case MV_LIVE_EVENT_MARK:
    case MV_LIVE_EVENT_PUSH:
        r->text = take_id(c);
        break;
    case MV_LIVE_EVENT_POP:
        break;
    default:
        c->overrun = true;
    }
}

mv_live_stream mv_live_stream_begin(const mv_live_chunk *chunk)
{
    return (mv_live_stream){.at = chunk->at,
                            .c = mv_cursor_over(chunk->records),
                            .next.sequence = chunk->first_sequence,
                            .next.time_us = chunk->first_time_us,
                            .device = -1,
                            .thread = chunk->thread};
}

static void note_damage(mv_live_stream *s, uint64_t at, mv_build *b)
{
    mv_build_note(b, MV_NOTE_DAMAGED, "event record at byte %llu",
                  (unsigned long long)(s->at + sizeof(mv_wire_chunk) + sizeof(mv_live_head) + at));
}

bool mv_live_stream_next(mv_live_stream *s, mv_build *b)
{
    while (s->c.at < s->c.span.length) {
        uint64_t at = s->c.at;
        uint8_t tag = mv_take_u8(&s->c);
        mv_live_record r = {.kind = tag & 15,
                            .thread = s->thread,
                            .sequence = s->next.sequence,
                            .time_us = s->next.time_us,
                            .device_type = s->device_type,
                            .device = s->device};

        r.sequence += mv_take_varint(&s->c);
        r.time_us += mv_take_varint(&s->c);
        take_fields(s, tag >> 4, &r);
        if (s->c.overrun || r.sequence < s->next.sequence) {
            if (b)
                note_damage(s, at, b);
            s->c.overrun = true;
            return false;
        }
        s->next = r;
        if (r.kind != MV_LIVE_EVENT_DEVICE && r.kind != MV_LIVE_EVENT_THREAD)
            return true;
    }
    return false;
}
