#include "parse/live/live_events.h"

#include "parse/live/varint.h"

/* A chunk that is being read: its next record, and the base of relative values. */
struct mv_live_stream {
    const mv_live_chunk *chunk;
    mv_cursor c;
    mv_live_record next;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count; /* addresses written in full so far */
    uint64_t last;         /* the newest of them */
    int64_t device_type, device;
    uint32_t thread; /* the chunk's, until a record names another */
};

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

/* A plain id as id + 1, so that 0 means none everywhere. */
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

static void note_damage(mv_live_stream *s, uint64_t at, mv_build *b)
{
    mv_build_note(
        b, MV_NOTE_DAMAGED, "event record at byte %llu",
        (unsigned long long)(s->chunk->at + sizeof(mv_wire_chunk) + sizeof(mv_live_head) + at));
}

/* Decodes the stream's next record other than DEVICE and THREAD; false at its end or at damage. `b`
 * may be NULL. */
static bool advance(mv_live_stream *s, mv_build *b)
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
            return false;
        }
        s->next = r;
        if (r.kind != MV_LIVE_EVENT_DEVICE && r.kind != MV_LIVE_EVENT_THREAD)
            return true;
    }
    return false;
}

/* ---- all chunks -------------------------------------------------------------------------- */

/* When numbers are equal, the earlier chunk comes first: TOTALS follows its event. */
static bool is_before(const mv_live_merge *m, uint32_t a, uint32_t b)
{
    uint64_t x = m->streams[a].next.sequence, y = m->streams[b].next.sequence;

    return x != y ? x < y : a < b;
}

static void sift_down(mv_live_merge *m, uint32_t at)
{
    for (;;) {
        uint32_t child = 2 * at + 1, least = at, swapped;
        for (uint32_t i = child; i < child + 2 && i < m->heap_count; i++)
            if (is_before(m, m->heap[i], m->heap[least]))
                least = i;
        if (least == at)
            return;
        swapped = m->heap[at];
        m->heap[at] = m->heap[least];
        m->heap[least] = swapped;
        at = least;
    }
}

static mv_live_stream begin_stream(const mv_live_chunk *chunk)
{
    return (mv_live_stream){.chunk = chunk,
                            .c = mv_cursor_over(chunk->records),
                            .next.sequence = chunk->first_sequence,
                            .next.time_us = chunk->first_time_us,
                            .device = -1,
                            .thread = chunk->thread};
}

static uint64_t last_seen(const mv_live_chunks *chunks)
{
    bool is_new = false;
    uint64_t last = 0;

    for (uint32_t i = 0; i < chunks->count; i++)
        is_new = is_new || (chunks->rows[i].kind == MV_LIVE_EVENTS &&
                            chunks->rows[i].records.length > chunks->rows[i].seen);
    for (uint32_t i = 0; i < chunks->count && is_new; i++) {
        mv_live_stream s = begin_stream(&chunks->rows[i]);
        if (chunks->rows[i].kind != MV_LIVE_EVENTS)
            continue;
        if (s.c.span.length > chunks->rows[i].seen)
            s.c.span.length = chunks->rows[i].seen;
        while (advance(&s, NULL))
            last = s.next.sequence > last ? s.next.sequence : last;
    }
    return is_new ? last : UINT64_MAX;
}

/* Whether the thread that fills the chunk may have taken a number without having written the
 * record. */
static bool may_continue(const mv_live_merge *m, const mv_live_stream *s)
{
    return !m->has_ended && !s->chunk->is_sealed;
}

bool mv_live_merge_init(mv_arena *arena, const mv_live_chunks *chunks, bool has_ended, mv_build *b,
                        mv_live_merge *out)
{
    /* The facts, which contain the end, were read before the events: all of these are there
     * then. */
    *out = (mv_live_merge){
        .build = b, .has_ended = has_ended, .last = has_ended ? UINT64_MAX : last_seen(chunks)};
    out->streams = mv_push_array(arena, mv_live_stream, chunks->count);
    out->heap = mv_push_array(arena, uint32_t, chunks->count);
    if (!out->streams || !out->heap)
        return false;
    for (uint32_t i = 0; i < chunks->count; i++) {
        const mv_live_chunk *chunk = &chunks->rows[i];
        mv_live_stream *s = &out->streams[i];
        if (chunk->kind != MV_LIVE_EVENTS)
            continue;
        *s = begin_stream(chunk);
        if (advance(s, b))
            out->heap[out->heap_count++] = i;
        else
            out->open += may_continue(out, s);
    }
    for (uint32_t i = out->heap_count / 2; i-- > 0;)
        sift_down(out, i);
    return true;
}

static void count_missing(mv_live_merge *m, uint64_t count)
{
    uint64_t left = m->open > m->under_way ? m->open - m->under_way : 0;
    uint64_t under_way = count < left ? count : left;

    m->under_way += under_way;
    if (count > under_way)
        m->lost_at = m->lost ? m->lost_at : m->next;
    m->lost += count - under_way;
}

/* Numbers begin with 0 or 1. */
static void count_number(mv_live_merge *m, const mv_live_record *r)
{
    if (mv_live_is_beside(r->kind))
        return;
    if (!m->started)
        m->next = r->sequence ? 1 : 0;
    m->started = true;
    if (r->sequence > m->next)
        count_missing(m, r->sequence - m->next);
    if (r->sequence >= m->next)
        m->next = r->sequence + 1;
}

bool mv_live_merge_next(mv_live_merge *m, mv_live_record *out)
{
    mv_live_stream *s;

    if (m->heap_count == 0)
        return false;
    s = &m->streams[m->heap[0]];
    if (s->next.sequence > m->last)
        return false;
    *out = s->next;
    count_number(m, out);
    if (!advance(s, m->build)) {
        m->open += may_continue(m, s);
        m->heap[0] = m->heap[--m->heap_count];
    }
    sift_down(m, 0);
    return true;
}
