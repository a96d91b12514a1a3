/* The forward sweep on several threads, each over a span of the events.
 *
 * The last alloc or free of each address before a span shows which blocks are in use at its start,
 * and the segment events show which segments are held. From there, the span is swept like a whole
 * trace. Effects on rows of other spans are recorded and applied afterwards, in order. These
 * effects are frees of their blocks, allocs directly above their blocks, and the kinds of their
 * segments. A lost block, whose bytes are used again without a free, would change the start of
 * later spans. If there is such a block, the results are dropped, and a single sweep over all
 * events replaces them. */
#include "analyze/lives/lives_sweep.h"
#include "base/grow.h"
#include "base/parallel_for.h"

#include <string.h>

enum {
    SPAN_EVENTS = 1 << 17, /* minimum number of events per span; with fewer, a thread costs more
                            * than it saves */
    MOST_SHARE = 8 /* the cost of a span depends on the number of addresses and segment events,
                    * which may be at most 1/8 of the span's events */
};

typedef struct {
    uint32_t first, end;         /* events */
    uint32_t allocs;             /* number of alloc events among them */
    mv_arena arena;              /* arena for the lists of the span */
    mv_lives_log last;           /* last event of each address; `row`: the number of later allocs in
                                  * the span */
    mv_lives_log segment_events; /* segment events, from last to first */
    mv_lives lives;              /* the lives of the span, with separate rows and doubts */
    mv_lives_sweep sweep;
    mv_lives_span span;
} span;

typedef struct {
    mv_lives_sweep *r;
    uint32_t count;
    span *all;           /* [count] */
    mv_rankset no_block; /* an empty set over all addresses */
    _Atomic bool has_conflict;
} spans;

uint32_t mv_lives_spans_for(const mv_lives_sweep *r)
{
    uint64_t cost = (uint64_t)r->ranks.count + r->ranks.segment_events;
    uint64_t most = 1 + r->ev.count / (cost * MOST_SHARE + SPAN_EVENTS);

    return mv_parallel_for_threads((uint32_t)most, 0);
}

/* ---- the effects of a span ----------------------------------------------------------------- */

static bool add(mv_lives_log *log, uint32_t row, uint32_t event)
{
    return mv_append(log->arena, log->rows, log->count, log->capacity,
                     (mv_lives_entry){row, event});
}

static void look_back(void *user, uint32_t nth)
{
    spans *s = user;
    const mv_lives_sweep *r = s->r;
    span *p = &s->all[nth];
    uint64_t *seen = mv_push_array(&p->arena, uint64_t, (uint64_t)r->ranks.count / 64 + 1);
    bool is_added = seen != NULL;

    for (uint32_t i = p->end; is_added && i-- > p->first;) {
        uint32_t rank = r->ranks.of_event[i], later = p->allocs;
        uint64_t bit = (uint64_t)1 << (rank & 63);
        uint8_t action = r->ev.action[i];

        p->allocs += action == MV_ACTION_ALLOC;
        if (rank == MV_NO_ROW)
            continue;
        if (mv_is_segment_action(action)) {
            is_added = add(&p->segment_events, 0, i);
        } else if (!(seen[rank >> 6] & bit) &&
                   (action == MV_ACTION_ALLOC || mv_lives_ends_use(r, rank, action))) {
            seen[rank >> 6] |= bit;
            is_added = add(&p->last, later, i);
        }
    }
    if (!is_added)
        atomic_store(&s->has_conflict, true);
}

/* ---- the start of a span ------------------------------------------------------------------- */

static bool copy_set(mv_arena *arena, const mv_rankset *from, mv_rankset *to)
{
    if (!mv_rankset_init(arena, from->count, to))
        return false;
    for (uint32_t i = 0; i < from->levels; i++)
        memcpy(to->level[i], from->level[i], from->words[i] * sizeof *to->level[i]);
    return true;
}

static void copy_segments(const mv_lives_sweep *from, mv_lives_sweep *to)
{
    to->lives->segments.count = from->lives->segments.count;
    for (uint32_t i = 0; i < from->lives->segments.count; i++)
        mv_segment_lives_copy(&from->lives->segments, i, &to->lives->segments, i);
    memcpy(to->kin, from->kin, from->lives->segments.count * sizeof *to->kin);
}

/* Copies a sweep with its segments, but without the blocks in use. */
static bool copy_sweep(const mv_lives_sweep *from, mv_lives *lives, mv_lives_sweep *to)
{
    uint64_t ranks = from->ranks.count;
    mv_arena *arena = from->scratch;

    *lives = *from->lives;
    memset(&lives->doubts, 0, sizeof lives->doubts);
    *to = *from;
    to->lives = lives;
    to->kin = mv_push_array(arena, uint32_t, from->segment_capacity);
    to->held.end = mv_push_array(arena, uint32_t, ranks);
    to->held.row = mv_push_array(arena, uint32_t, ranks);
    to->places = mv_push_array(arena, mv_lives_place, ranks);
    if (!mv_segment_lives_push(arena, from->segment_capacity, &lives->segments) || !to->kin ||
        !to->held.end || !to->held.row || !to->places ||
        !copy_set(arena, &from->held.starts, &to->held.starts) ||
        !copy_set(arena, &from->edges, &to->edges) ||
        !mv_rankset_init(arena, (uint32_t)ranks, &to->used))
        return false;
    copy_segments(from, to);
    memcpy(to->held.end, from->held.end, ranks * sizeof *to->held.end);
    memcpy(to->held.row, from->held.row, ranks * sizeof *to->held.row);
    return true;
}

static void apply_segment_event(mv_lives_sweep *r, uint32_t event)
{
    r->lives->alloc_of[event] = MV_NO_ROW;
    mv_lives_segment_event(r, event);
    r->layout++;
}

/* Assigns rows to each span, and finds the segments that are held at its first event. */
static bool begin_spans(spans *s)
{
    mv_lives_sweep walk;
    mv_lives lives;
    uint32_t row = s->r->lives->allocs.count;

    if (!copy_sweep(s->r, &lives, &walk))
        return false;
    s->no_block = walk.used;
    for (uint32_t i = 0; i < s->count; i++) {
        span *p = &s->all[i];
        if (!copy_sweep(&walk, &p->lives, &p->sweep))
            return false;
        p->sweep.first_row = p->lives.allocs.count = row;
        p->sweep.span = &p->span;
        row += p->allocs;
        for (uint32_t k = p->segment_events.count; i + 1 < s->count && k-- > 0;)
            apply_segment_event(&walk, p->segment_events.rows[k].event);
    }
    return true;
}

/* Changes the set of blocks in use from the start of a span to the state after the span's last
 * event. */
static void place_last(const span *p, mv_lives_sweep *to)
{
    for (uint32_t i = 0; i < p->last.count; i++) {
        mv_lives_entry entry = p->last.rows[i];
        uint32_t rank = to->ranks.of_event[entry.event];
        if (to->ev.action[entry.event] != MV_ACTION_ALLOC) {
            mv_rankset_drop(&to->used, rank);
            continue;
        }
        mv_rankset_add(&to->used, rank);
        to->places[rank].alloc = p->sweep.first_row + p->allocs - 1 - entry.row;
    }
}

static void sweep_span(void *user, uint32_t nth)
{
    enum { AT_ONCE = 1 << 14 };
    spans *s = user;
    span *p = &s->all[nth];
    mv_lives_sweep *to = &p->sweep;
    uint32_t at, end;

    for (at = mv_rankset_next(&s->r->used, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&s->r->used, at + 1)) {
        mv_rankset_add(&to->used, at);
        to->places[at].alloc = s->r->places[at].alloc;
    }
    for (uint32_t i = 0; i < nth; i++)
        place_last(&s->all[i], to);
    for (at = p->first; at < p->end; at = end) {
        end = p->end - at > AT_ONCE ? at + AT_ONCE : p->end;
        if (atomic_load_explicit(&s->has_conflict, memory_order_relaxed))
            return;
        mv_lives_apply_events(to, at, end);
    }
}

/* ---- joining the spans --------------------------------------------------------------------- */

/* Applies the logged effects of all spans to the first sweep, which at this point contains all
 * segments. */
static void join_spans(spans *s)
{
    mv_lives_sweep *all = &s->all[0].sweep;

    all->used = s->no_block;
    for (uint32_t i = 0; i < s->count; i++) {
        const span *p = &s->all[i];
        mv_lives_log kinds = p->span.kinds, others = p->span.others;
        uint32_t segment = i ? p->segment_events.count : 0, kind = i ? 0 : kinds.count;

        all->first_row = 0;
        while (segment > 0 || kind < kinds.count) {
            uint32_t event = segment > 0 ? p->segment_events.rows[segment - 1].event : MV_NO_ROW;
            if (kind < kinds.count && kinds.rows[kind].event < event) {
                mv_lives_find_kind(all, kinds.rows[kind].row, kinds.rows[kind].event);
                kind++;
            } else {
                apply_segment_event(all, event);
                segment--;
            }
        }
        for (uint32_t k = 0; k < others.count; k++)
            mv_lives_apply_other(all, others.rows[k]);
    }
}

static void take_result(spans *s)
{
    mv_lives_sweep *r = s->r, *all = &s->all[0].sweep;
    const span *last = &s->all[s->count - 1];
    mv_lives *out = r->lives;

    for (uint32_t i = 0; i < s->count; i++) {
        const mv_lives *by = &s->all[i].lives;
        out->allocs.count += s->all[i].allocs;
        out->doubts.lone_frees += by->doubts.lone_frees;
        out->doubts.unrequested += by->doubts.unrequested;
        out->doubts.uncompleted += by->doubts.uncompleted;
        out->doubts.misplaced += by->doubts.misplaced;
        out->doubts.outside += by->doubts.outside;
        out->doubts.resized_blocks += by->doubts.resized_blocks;
    }
    out->doubts.lone_segments += all->lives->doubts.lone_segments;
    copy_segments(all, r);
    r->held = all->held;
    r->edges = all->edges;
    r->used = last->sweep.used;
    r->places = last->sweep.places;
}

/* Copies the rows from before the first event, which do not belong to any span. */
static bool copy_before(const mv_alloc_lives *from, mv_arena *arena, mv_alloc_lives *to)
{
    if (!to->addr && !mv_alloc_lives_push(arena, from->count, to))
        return false;
    for (uint32_t i = 0; i < from->preexisting; i++)
        mv_alloc_lives_copy(from, i, to, i);
    return true;
}

static bool sweep_spans(spans *s)
{
    mv_alloc_lives *a = &s->r->lives->allocs, before = {0};

    mv_parallel_for(s->count, 0, look_back, s);
    if (atomic_load(&s->has_conflict) || !copy_before(a, s->r->scratch, &before) || !begin_spans(s))
        return false;
    mv_parallel_for(s->count, 0, sweep_span, s);
    if (!atomic_load(&s->has_conflict))
        join_spans(s);
    if (!atomic_load(&s->has_conflict)) {
        take_result(s);
        return true;
    }
    before.count = before.preexisting = a->preexisting;
    copy_before(&before, NULL, a);
    s->r->spans = 1;
    return true;
}

bool mv_lives_apply_spans(mv_lives_sweep *r)
{
    spans s = {.r = r, .count = r->spans, .all = mv_push_array(r->scratch, span, r->spans)};
    bool has_memory;

    if (!s.all)
        return false;
    for (uint32_t i = 0; i < s.count; i++) {
        span *p = &s.all[i];
        mv_arena_init(&p->arena, r->arena->budget);
        p->last.arena = p->segment_events.arena = &p->arena;
        p->span.others.arena = p->span.kinds.arena = &p->arena;
        p->span.has_conflict = &s.has_conflict;
        p->first = (uint32_t)((uint64_t)r->ev.count * i / s.count);
        p->end = (uint32_t)((uint64_t)r->ev.count * (i + 1) / s.count);
    }
    has_memory = sweep_spans(&s);
    for (uint32_t i = 0; i < s.count; i++)
        mv_arena_release(&s.all[i].arena);
    return has_memory;
}
