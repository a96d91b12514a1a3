#include "analyze/heap/reserved_parts.h"

#include "analyze/heap/heap.h"

const mv_reserved_words mv_reserved_part_words[MV_RESERVED_PARTS] = {
#define MV_RESERVED_PART_ROW(id, name, text) {name, text},
    MV_RESERVED_PART_LIST(MV_RESERVED_PART_ROW)
#undef MV_RESERVED_PART_ROW
};

typedef struct {
    mv_heap heap;
    mv_heap_sums need; /* sums over all domains at the moment of the highest need */
    uint64_t *most;    /* [domains] largest number of bytes in use in each domain */
    uint64_t *whole;   /* [domains] bytes in unused segments in each domain */
} parts_search;

static uint64_t in_use(const mv_heap_sums *sums)
{
    return sums->allocated + sums->pending;
}

static void raise(parts_search *s, uint32_t domain)
{
    uint64_t use = in_use(&s->heap.of[domain]);

    if (use > s->most[domain])
        s->most[domain] = use;
}

/* Returns the domain of an event's allocation, or MV_NO_ROW. */
static uint32_t domain_of(const parts_search *s, uint32_t event)
{
    const mv_lives *lives = s->heap.lives;
    uint32_t row =
        lives->events.action[event] == MV_ACTION_ALLOC ? lives->alloc_of[event] : MV_NO_ROW;
    uint32_t segment = row == MV_NO_ROW ? MV_NO_ROW : lives->allocs.segment[row];

    return segment == MV_NO_ROW ? MV_NO_ROW : s->heap.domains.of_segment[segment];
}

/* Moves the heap from the window's start past `event`, and keeps the sums of the highest need. */
static void find_need(parts_search *s, uint32_t first, uint32_t event)
{
    if (first > 0)
        mv_heap_advance(&s->heap, first - 1);
    s->need = mv_heap_total(&s->heap);
    for (uint32_t i = 0; i < s->heap.domains.count; i++)
        raise(s, i);
    while (event != MV_BEFORE && (s->heap.event == MV_BEFORE || s->heap.event < event) &&
           mv_heap_next(&s->heap)) {
        mv_heap_sums now = mv_heap_total(&s->heap);
        uint32_t domain = domain_of(s, s->heap.event);
        if (in_use(&now) > in_use(&s->need))
            s->need = now;
        if (domain != MV_NO_ROW)
            raise(s, domain);
    }
}

static mv_code find_whole(mv_arena *arena, parts_search *s, mv_err *err)
{
    mv_heap_map map;

    if (mv_heap_map_make(arena, &s->heap, &map, err) != MV_OK)
        return err->code;
    for (uint32_t i = 0; i < map.count; i++)
        s->whole[s->heap.domains.of_segment[map.segment[i]]] += map.whole[i];
    return MV_OK;
}

/* Divides the reserved bytes of each domain: first the domain's highest need, then unused segments,
 * then holes. */
static void divide(const parts_search *s, mv_reserved *out)
{
    int64_t apart = 0, rest = (int64_t)out->reserved;
    int64_t *part = out->part;

    for (uint32_t i = 0; i < s->heap.domains.count; i++) {
        uint64_t held = mv_heap_domain(&s->heap, i).reserved;
        uint64_t needed = s->most[i] < held ? s->most[i] : held, beyond = held - needed;
        uint64_t unused = s->whole[i] < beyond ? s->whole[i] : beyond;
        apart += (int64_t)needed;
        part[MV_RESERVED_UNUSED] += (int64_t)unused;
        part[MV_RESERVED_HOLES] += (int64_t)(beyond - unused);
    }
    part[MV_RESERVED_PENDING] = (int64_t)s->need.pending;
    part[MV_RESERVED_ROUNDING] = (int64_t)s->need.rounding;
    part[MV_RESERVED_ALLOCATED] = (int64_t)(s->need.allocated - s->need.rounding);
    part[MV_RESERVED_APART] = apart - (int64_t)in_use(&s->need);
    for (uint32_t i = 0; i < MV_RESERVED_UNEXPLAINED; i++)
        rest -= part[i];
    part[MV_RESERVED_UNEXPLAINED] = rest;
}

/* Returns the event after which to measure. If a segment is added for a request, this is the
 * request, because the segment is in use only after it. */
static uint32_t after_request(const mv_lives *lives, uint32_t event, uint32_t end)
{
    uint32_t next = event + 1;

    return next < end && next < lives->events.count && event != MV_BEFORE &&
                   lives->events.action[next] == MV_ACTION_ALLOC
               ? next
               : event;
}

static mv_code sort_out(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                        mv_moment_query ask, mv_reserved *out, mv_err *err)
{
    parts_search s;
    mv_moment at;

    if (mv_moment_find(scratch, lives, ask, &at, err) != MV_OK ||
        mv_heap_init(scratch, trace, lives, &s.heap, err) != MV_OK)
        return err->code;
    s.most = mv_push_array(scratch, uint64_t, s.heap.domains.count);
    s.whole = mv_push_array(scratch, uint64_t, s.heap.domains.count);
    if (!s.most || !s.whole)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "parts of reserved memory");
    if (ask.kind == MV_MOMENT_RESERVED_PEAK) {
        find_need(&s, ask.window.first, after_request(lives, at.event, ask.window.end));
    } else {
        mv_heap_advance(&s.heap, at.event);
        s.need = mv_heap_total(&s.heap);
        for (uint32_t i = 0; i < s.heap.domains.count; i++)
            raise(&s, i);
    }
    out->reserved = at.bytes.reserved;
    if (find_whole(scratch, &s, err) != MV_OK)
        return err->code;
    divide(&s, out);
    return MV_OK;
}

mv_code mv_reserved_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         mv_moment_query ask, mv_reserved *out, mv_err *err)
{
    mv_arena scratch;
    mv_code code;

    *out = (mv_reserved){0};
    mv_arena_init(&scratch, arena->budget);
    code = sort_out(&scratch, trace, lives, ask, out, err);
    mv_arena_release(&scratch);
    return code;
}
