#include "parse/live/live_events.h"

/* Returns true if chunk `a` comes before chunk `b`. If their numbers are equal, the earlier chunk
 * comes first, so that TOTALS follows its event. */
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

static uint64_t last_seen(const mv_live_chunks *chunks)
{
    bool is_new = false;
    uint64_t last = 0;

    for (uint32_t i = 0; i < chunks->count; i++)
        is_new = is_new || (chunks->rows[i].kind == MV_LIVE_EVENTS &&
                            chunks->rows[i].records.length > chunks->rows[i].seen);
    for (uint32_t i = 0; i < chunks->count && is_new; i++) {
        mv_live_stream s = mv_live_stream_begin(&chunks->rows[i]);
        if (chunks->rows[i].kind != MV_LIVE_EVENTS)
            continue;
        if (s.c.span.length > chunks->rows[i].seen)
            s.c.span.length = chunks->rows[i].seen;
        while (mv_live_stream_next(&s, NULL))
            last = s.next.sequence > last ? s.next.sequence : last;
    }
    return is_new ? last : UINT64_MAX;
}

/* Returns true if the thread that fills the chunk may have taken a number without having written
 * the record. */
static bool may_continue(const mv_live_merge *m, const mv_live_chunk *chunk)
{
    return !m->has_ended && !chunk->is_sealed;
}

/* Finds the first record of a chunk that is used. If the chunk is not folded, records that were
 * folded are skipped. */
static bool begin_records(mv_live_stream *s, const mv_live_chunk *chunk, uint64_t through,
                          mv_build *b)
{
    *s = mv_live_stream_begin(chunk);
    while (mv_live_stream_next(s, b))
        if (chunk->is_folded || through == 0 || s->next.sequence > through)
            return true;
    return false;
}

bool mv_live_merge_init(mv_arena *arena, const mv_live_chunks *chunks, bool has_ended, mv_build *b,
                        mv_live_merge *out)
{
    /* The facts were read before the events, so if the facts contain the end, all events have been
     * read. */
    *out = (mv_live_merge){.build = b,
                           .through = chunks->through,
                           .chunks = chunks->rows,
                           .has_ended = has_ended,
                           .last = has_ended ? UINT64_MAX : last_seen(chunks)};
    out->streams = mv_push_array(arena, mv_live_stream, chunks->count);
    out->heap = mv_push_array(arena, uint32_t, chunks->count);
    if (!out->streams || !out->heap)
        return false;
    for (uint32_t i = 0; i < chunks->count; i++) {
        const mv_live_chunk *chunk = &chunks->rows[i];
        mv_live_stream *s = &out->streams[i];
        if (chunk->kind != MV_LIVE_EVENTS)
            continue;
        if (begin_records(s, chunk, chunks->through, b))
            out->heap[out->heap_count++] = i;
        else
            out->open += may_continue(out, chunk);
    }
    for (uint32_t i = out->heap_count / 2; i-- > 0;)
        sift_down(out, i);
    return true;
}

void mv_live_missing_add(mv_live_missing *m, uint64_t first, uint64_t count, uint64_t open)
{
    uint64_t left = open > m->under_way ? open - m->under_way : 0;
    uint64_t under_way = count < left ? count : left;

    m->under_way += under_way;
    if (count > under_way)
        m->lost_at = m->lost ? m->lost_at : first;
    m->lost += count - under_way;
}

/* Counts missing numbers before a record. The first number is 0 or 1. */
static void count_number(mv_live_merge *m, const mv_live_record *r)
{
    if (mv_live_is_beside(r->kind) || (m->through && r->sequence <= m->through))
        return;
    if (!m->started)
        m->next = m->through ? m->through + 1 : r->sequence ? 1 : 0;
    m->started = true;
    if (r->sequence > m->next)
        mv_live_missing_add(&m->missing, m->next, r->sequence - m->next, m->open);
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
    if (!mv_live_stream_next(s, m->build)) {
        m->open += may_continue(m, &m->chunks[m->heap[0]]);
        m->heap[0] = m->heap[--m->heap_count];
    }
    sift_down(m, 0);
    return true;
}
