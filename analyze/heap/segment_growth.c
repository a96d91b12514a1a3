#include "analyze/heap/segment_growth.h"

#include "analyze/lives/block_size.h"
#include "analyze/replay/replay_script.h"
#include "base/names.h"
#include "base/parallel_for.h"

#define LARGE_BUFFER   ((uint64_t)20 << 20) /* kLargeBuffer: segment for smaller large requests */
#define LEAST_OWN_SIZE ((uint64_t)10 << 20) /* kMinLargeAlloc: smaller requests share segments */
#define LARGE_ROUNDING ((uint64_t)2 << 20)  /* kRoundLarge: unit of larger segments */

MV_NAMES(mv_growth_reason_name, mv_growth_reason, MV_GROWTH_REASON_LIST, MV_SECOND, "")

uint64_t mv_segment_size_for(uint64_t rounded)
{
    if (rounded <= MV_SMALL_REQUEST)
        return MV_SMALL_SEGMENT;
    if (rounded < LEAST_OWN_SIZE)
        return LARGE_BUFFER;
    return (rounded + LARGE_ROUNDING - 1) / LARGE_ROUNDING * LARGE_ROUNDING;
}

struct mv_growth_search {
    mv_arena *arena;
    mv_arena scratch;
    const mv_lives *lives;
    mv_window window;
    mv_block_rules rules;
    mv_heap heap;         /* the heap before the last added segment */
    mv_level_steps steps; /* the steps that `now` follows */
    mv_levels now;        /* levels after each event */
    uint32_t event, end;  /* the next events to examine */
    uint32_t request;     /* the next alloc or oom event at or after the current one */
    mv_segment_growths *out;
};

/* ---- one segment ------------------------------------------------------------------------- */

/* Returns the request that a segment event serves. This is the device's next request, because the
 * allocator holds its lock until then. Returns events.count if there is none. */
static uint32_t next_request(mv_growth_search *s, uint32_t event)
{
    const mv_events *ev = &s->lives->events;

    if (s->request < event)
        s->request = event;
    while (s->request < ev->count && ev->action[s->request] != MV_ACTION_ALLOC &&
           ev->action[s->request] != MV_ACTION_OOM)
        s->request++;
    return s->request;
}

static mv_growth_reason reason_of(const mv_growth_search *s, const mv_segment_growth *g)
{
    const mv_heap *h = &s->heap;
    const mv_domains *d = &h->domains;
    uint64_t pending = h->of[g->domain].pending;
    mv_domain_span own = {g->domain, g->domain + 1};

    if (g->largest >= g->request)
        return s->rules.max_split == UINT64_MAX ? MV_REASON_UNKNOWN : MV_REASON_SPLIT_LIMIT;
    if (pending && mv_holes_largest(mv_heap_settled(h), own) >= g->request)
        return MV_REASON_PENDING;
    if (g->usable >= g->request)
        return MV_REASON_NO_HOLE;
    if (mv_holes_largest(&h->now, d->same_pool[g->domain]) >= g->request)
        return MV_REASON_STREAM;
    if (mv_holes_largest(&h->now, d->same_kind[g->domain]) >= g->request)
        return MV_REASON_POOL;
    if (mv_holes_largest(&h->now, (mv_domain_span){0, d->count}) >= g->request)
        return d->kind[g->domain] == MV_SEGMENT_SMALL ? MV_REASON_SMALL : MV_REASON_LARGE;
    return MV_REASON_SCATTERED;
}

/* Adds a row. `heap` must be at the moment before the event. */
static void add_growth(mv_growth_search *s, uint32_t event)
{
    const mv_events *ev = &s->lives->events;
    mv_segment_growths *out = s->out;
    uint32_t request = next_request(s, event), row = s->lives->alloc_of[event];
    mv_segment_growth g = {.event = event, .segment_bytes = ev->size[event]};

    if (request == ev->count || row == MV_NO_ROW)
        return;
    g.domain = s->heap.domains.of_segment[row];
    g.request = mv_round_request(&s->rules, ev->action[request] == MV_ACTION_OOM
                                                ? mv_request_of(&s->rules, ev->size[request])
                                                : ev->size[request]);
    g.free = mv_heap_total(&s->heap).free;
    g.usable = mv_heap_domain(&s->heap, g.domain).free;
    g.largest = mv_holes_largest(&s->heap.now, (mv_domain_span){g.domain, g.domain + 1});
    g.stack = ev->stack[request];
    if (g.free + s->heap.of[g.domain].pending < g.request)
        return;
    g.reason = reason_of(s, &g);
    out->bytes[g.reason] += g.segment_bytes;
    out->segments[g.reason]++;
    out->rows[out->count++] = g;
}

/* ---- demand ------------------------------------------------------------------------------ */

/* Raises the peak of the needed memory. `request` is the number of bytes of a failed request,
 * otherwise 0. */
static void raise_needed(mv_demand *d, const mv_levels *now, uint64_t request)
{
    uint64_t used = now->active + request;

    if (used > d->needed)
        d->needed = used;
    if (now->allocated + request > d->allocated)
        d->allocated = now->allocated + request;
}

static void raise_taken(mv_demand *d, uint64_t taken, uint64_t failed, uint32_t event)
{
    if (taken > d->taken) {
        d->taken = taken;
        d->failed = failed;
        d->taken_event = event;
    }
}

/* Updates the demand after an event. The peak of the reserved memory is measured after whole calls,
 * when the segment contains the block of its request. */
static void follow_demand(mv_growth_search *s, uint32_t event)
{
    const mv_events *ev = &s->lives->events;
    uint64_t failed = 0, request = 0;
    uint8_t action = ev->action[event];

    mv_levels_follow(&s->now, &s->steps, event);
    if (action == MV_ACTION_OOM) {
        failed = mv_segment_size_for(ev->size[event]);
        request = ev->size[event];
    }
    raise_needed(&s->out->demand, &s->now, request);
    if (s->now.reserved > s->out->demand.reserved)
        s->out->demand.reserved = s->now.reserved;
    if (event >= s->window.first && event < s->window.end && !mv_is_growth_action(action))
        raise_taken(&s->out->demand, s->now.reserved + failed, failed, event);
}

/* Follows the demand of an alloc and the two events after it, if these free the block and change
 * nothing else. Returns the number of events; 0: it is another event. */
static uint32_t follow_brief(mv_growth_search *s, uint32_t event)
{
    mv_levels with = s->now;
    uint64_t bytes;

    if (event < s->window.first || (uint64_t)event + 3 > s->window.end ||
        !mv_level_steps_are_brief(&s->steps, event, s->end))
        return 0;
    bytes = s->lives->allocs.block[s->lives->alloc_of[event]];
    with.allocated += bytes;
    with.active += bytes;
    raise_needed(&s->out->demand, &with, 0);
    raise_taken(&s->out->demand, s->now.reserved, 0, event);
    return 3;
}

/* Sets the demand before the first event. */
static void begin_demand(mv_growth_search *s)
{
    mv_demand *d = &s->out->demand;
    mv_heap_sums before = mv_heap_total(&s->heap);

    s->now = (mv_levels){.reserved = before.reserved,
                         .allocated = before.allocated,
                         .active = before.allocated + before.pending};
    d->before = d->reserved = before.reserved;
    raise_needed(d, &s->now, 0);
    d->taken_event = MV_BEFORE;
    if (s->window.first == 0)
        d->taken = before.reserved;
}

static bool make_rows(mv_growth_search *s)
{
    uint64_t count = 0;

    for (uint32_t i = s->window.first; i < s->window.end && i < s->lives->events.count; i++)
        count += mv_is_growth_action(s->lives->events.action[i]);
    s->out->rows = mv_push_array(s->arena, mv_segment_growth, count);
    return s->out->rows != NULL;
}

mv_growth_search *mv_growth_search_begin(mv_arena *arena, const mv_trace *trace,
                                         const mv_lives *lives, mv_window window,
                                         mv_segment_growths *out, mv_err *err)
{
    mv_growth_search *s = mv_push_struct(arena, mv_growth_search);

    *out = (mv_segment_growths){0};
    if (s)
        *s = (mv_growth_search){.arena = arena, .lives = lives, .window = window, .out = out};
    if (!s || !make_rows(s)) {
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "segments that were added");
        return NULL;
    }
    s->rules = mv_block_rules_of(trace);
    mv_arena_init(&s->scratch, arena->budget);
    if (mv_heap_init(&s->scratch, trace, lives, &s->heap, err) != MV_OK) {
        mv_growth_search_end(s);
        return NULL;
    }
    s->steps = s->heap.steps; /* these are the steps of the heap, which has not moved yet */
    begin_demand(s);
    return s;
}

/* Part 0 adds the rows of the next events, and part 1 their demand. */
static void search_part(void *user, uint32_t part)
{
    mv_growth_search *s = user;
    const uint8_t *action = s->lives->events.action;

    for (uint32_t i = s->event; part == 0 && i < s->end; i++)
        if (mv_is_growth_action(action[i]) && i >= s->window.first && i < s->window.end) {
            mv_heap_advance(&s->heap, i - 1); /* i - 1 is MV_BEFORE for the first event */
            add_growth(s, i);
        }
    for (uint32_t i = s->event, events; part == 1 && i < s->end; i += events) {
        events = follow_brief(s, i);
        if (events == 0) {
            follow_demand(s, i);
            events = 1;
        }
    }
}

bool mv_growth_search_some(mv_growth_search *s, uint32_t events)
{
    enum { THREAD_EVENTS = 1 << 17 }; /* with fewer events, a thread costs more than it saves */
    uint32_t left = s->lives->events.count - s->event;

    s->end = s->event + (events < left ? events : left);
    mv_parallel_for(2, s->end - s->event < THREAD_EVENTS ? 1 : 0, search_part, s);
    s->event = s->end;
    s->out->demand.end_reserved = s->now.reserved;
    s->out->demand.end_active = s->now.active;
    return events < left;
}

mv_heap *mv_growth_search_heap(mv_growth_search *s, uint32_t event)
{
    uint32_t done = s->heap.event + 1, wanted = event + 1; /* MV_BEFORE + 1 is 0 */

    if (done > wanted)
        return NULL;
    mv_heap_advance(&s->heap, event);
    return &s->heap;
}

void mv_growth_search_end(mv_growth_search *s)
{
    if (s)
        mv_arena_release(&s->scratch);
}
