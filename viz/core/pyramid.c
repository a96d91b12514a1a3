#include "viz/core/pyramid.h"

#include "analyze/totals/moment.h"
#include "base/search.h"

enum { KEPT_EVERY = MV_PYRAMID_CUT };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static mv_extent extent_of(const mv_levels *levels, uint32_t event)
{
    return (mv_extent){*levels, *levels, event, event};
}

/* Extends extent `a` to include `b`, which comes after `a` in time. */
static void unite(mv_extent *a, const mv_extent *b)
{
    if (b->most.allocated > a->most.allocated)
        a->allocated_event = b->allocated_event;
    if (b->most.reserved > a->most.reserved)
        a->reserved_event = b->reserved_event;
    a->least.allocated = smaller(a->least.allocated, b->least.allocated);
    a->least.active = smaller(a->least.active, b->least.active);
    a->least.requested = smaller(a->least.requested, b->least.requested);
    a->least.reserved = smaller(a->least.reserved, b->least.reserved);
    a->most.allocated = larger(a->most.allocated, b->most.allocated);
    a->most.active = larger(a->most.active, b->most.active);
    a->most.requested = larger(a->most.requested, b->most.requested);
    a->most.reserved = larger(a->most.reserved, b->most.reserved);
}

/* ---- building ---------------------------------------------------------------------------- */

static bool alloc_nodes(mv_arena *arena, mv_pyramid *p)
{
    uint64_t kept = (uint64_t)p->events / KEPT_EVERY + 2;
    uint64_t length = ((uint64_t)p->events + MV_PYRAMID_BUCKET - 1) / MV_PYRAMID_BUCKET;

    p->kept = mv_push_array(arena, mv_levels, kept);
    if (!p->kept)
        return false;
    while (length > 0) {
        p->length[p->levels] = (uint32_t)length;
        p->extent[p->levels] = mv_push_array(arena, mv_extent, length);
        if (!p->extent[p->levels++])
            return false;
        length = length > 1 ? (length + MV_PYRAMID_FAN - 1) / MV_PYRAMID_FAN : 0;
    }
    return true;
}

/* Adds the events [first, end), which are in one bucket. */
static void fill_bucket(mv_pyramid *p, uint32_t first, uint32_t end, mv_levels *last,
                        mv_level_steps *steps)
{
    mv_extent *out = &p->extent[0][first / MV_PYRAMID_BUCKET], bucket;
    mv_levels now = *last; /* local variables, because writing to memory is slower */

    if (first % MV_PYRAMID_BUCKET > 0) /* a new page that is read first takes two page faults */
        bucket = *out;
    for (uint32_t e = first; e < end; e++) {
        bool is_first = e % MV_PYRAMID_BUCKET == 0;
        bool is_brief = !is_first && mv_level_steps_are_brief(steps, e, end);
        mv_levels before = now;
        mv_extent here;
        if (is_brief)
            mv_levels_apply(&now, steps->lives,
                            &(mv_level_step){e, steps->lives->alloc_of[e], MV_STEP_ALLOC});
        else
            mv_levels_follow(&now, steps, e);
        here = extent_of(&now, e);
        if (is_first)
            bucket = here;
        else
            unite(&bucket, &here);
        if (is_brief) { /* two events later, the levels are as before */
            now = before;
            e += 2;
        }
    }
    *out = bucket;
    *last = now;
}

static void fill_buckets(mv_pyramid *p, uint32_t end)
{
    mv_level_steps steps = p->rest;
    mv_levels now = p->last;

    for (uint32_t e = p->filled, next; e < end; e = next) {
        next = e - e % MV_PYRAMID_BUCKET + MV_PYRAMID_BUCKET;
        next = next < end ? next : end;
        if (e % KEPT_EVERY == 0)
            p->kept[e / KEPT_EVERY] = now;
        fill_bucket(p, e, next, &now, &steps);
    }
    p->rest = steps;
    p->last = now;
    p->filled = end;
    /* The levels at the end of the last event are kept even in the middle of a pair of buckets,
     * because an odd bucket is replayed from its end. */
    if (end == p->events)
        p->kept[(p->events + KEPT_EVERY - 1) / KEPT_EVERY] = now;
}

static void fill_above(mv_pyramid *p)
{
    for (uint32_t level = 1; level < p->levels; level++)
        for (uint32_t i = 0; i < p->length[level - 1]; i++) {
            mv_extent *node = &p->extent[level][i / MV_PYRAMID_FAN];
            if (i % MV_PYRAMID_FAN == 0)
                *node = p->extent[level - 1][i];
            else
                unite(node, &p->extent[level - 1][i]);
        }
}

mv_code mv_pyramid_begin(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err)
{
    *out = (mv_pyramid){.lives = lives, .events = lives->events.count};
    if (!mv_level_steps_init(arena, lives, &out->steps) || !alloc_nodes(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the levels of %u events", out->events);
    for (uint32_t i = 0; i < lives->allocs.preexisting; i++)
        mv_levels_add_before(&out->before, lives, i);
    for (uint32_t i = 0; i < lives->segments.count; i++)
        if (lives->segments.birth[i] == MV_BEFORE)
            out->before.reserved += lives->segments.size[i];
    out->last = out->before;
    out->rest = out->steps;
    return MV_OK;
}

bool mv_pyramid_some(mv_pyramid *p, uint32_t events)
{
    if (events < p->events - p->filled) {
        fill_buckets(p, p->filled + events);
        return true;
    }
    if (p->events) {
        fill_buckets(p, p->events);
        fill_above(p);
    }
    return false;
}

mv_code mv_pyramid_find(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err)
{
    mv_code code = mv_pyramid_begin(arena, lives, out, err);

    if (code == MV_OK)
        mv_pyramid_some(out, out->events);
    return code;
}

/* ---- reading ----------------------------------------------------------------------------- */

void mv_pyramid_reader_init(mv_pyramid_reader *reader, const mv_pyramid *pyramid)
{
    reader->pyramid = pyramid;
    reader->bucket = MV_NO_ROW;
}

/* Returns steps that are prepared for `event`. */
static mv_level_steps steps_from(const mv_pyramid *p, uint32_t event)
{
    mv_level_steps steps = p->steps;
    mv_bisect b = mv_bisect_over(0, steps.prepared_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, steps.prepared[b.middle].event < event);
    steps.at = b.low;
    return steps;
}

static void add(mv_levels *levels, const mv_levels *more)
{
    levels->allocated += more->allocated;
    levels->active += more->active;
    levels->requested += more->requested;
    levels->reserved += more->reserved;
}

/* Finds the levels after each event of a bucket. Sums wrap around, so that adding can also
 * subtract. */
static void replay(mv_pyramid_reader *r, uint32_t bucket)
{
    const mv_pyramid *p = r->pyramid;
    uint32_t first = bucket * MV_PYRAMID_BUCKET, count = p->events - first;
    mv_level_steps steps = steps_from(p, first);
    mv_levels base = {0}, start;

    if (r->bucket == bucket)
        return;
    r->bucket = bucket;
    if (count > MV_PYRAMID_BUCKET)
        count = MV_PYRAMID_BUCKET;
    for (uint32_t i = 0; i < count; i++) {
        mv_levels_follow(&base, &steps, first + i);
        r->after[i] = base;
    }
    start = p->kept[(bucket + 1) / 2];
    if (bucket % 2) {
        start.allocated -= base.allocated;
        start.active -= base.active;
        start.requested -= base.requested;
        start.reserved -= base.reserved;
    }
    for (uint32_t i = 0; i < count; i++)
        add(&r->after[i], &start);
}

mv_levels mv_pyramid_at(mv_pyramid_reader *reader, uint32_t event)
{
    const mv_pyramid *p = reader->pyramid;

    if (event == MV_BEFORE || p->events == 0)
        return p->before;
    if (event >= p->events)
        event = p->events - 1;
    if ((event + 1) % KEPT_EVERY == 0 || event + 1 == p->events)
        return p->kept[event / KEPT_EVERY + 1];
    replay(reader, event / MV_PYRAMID_BUCKET);
    return reader->after[event % MV_PYRAMID_BUCKET];
}

/* Adds the events [first, end) of one bucket. */
static void add_part(mv_pyramid_reader *r, mv_extent *sum, uint32_t first, uint32_t end)
{
    replay(r, first / MV_PYRAMID_BUCKET);
    for (uint32_t e = first; e < end; e++) {
        mv_extent one = extent_of(&r->after[e % MV_PYRAMID_BUCKET], e);
        unite(sum, &one);
    }
}

/* Adds the buckets [first, end) in the largest nodes that fit, from left to right. */
static void add_nodes(const mv_pyramid *p, mv_extent *sum, uint32_t first, uint32_t end)
{
    while (first < end) {
        uint32_t level = 0, node = first, span = 1;
        while (level + 1 < p->levels && node % MV_PYRAMID_FAN == 0 &&
               (first + (uint64_t)span * MV_PYRAMID_FAN <= end || end == p->length[0])) {
            level++;
            node /= MV_PYRAMID_FAN;
            span *= MV_PYRAMID_FAN;
        }
        unite(sum, &p->extent[level][node]);
        if (end - first <= span)
            return;
        first += span;
    }
}

static mv_extent range(mv_pyramid_reader *reader, uint32_t first, uint32_t end)
{
    const mv_pyramid *p = reader->pyramid;
    mv_levels start = mv_pyramid_at(reader, first);
    mv_extent sum = extent_of(&start, first);
    uint32_t from, to;

    if (end > p->events)
        end = p->events;
    first++; /* MV_BEFORE wraps around to event 0 */
    if (first >= end)
        return sum;
    from = (first + MV_PYRAMID_BUCKET - 1) / MV_PYRAMID_BUCKET;
    to = end == p->events ? p->length[0] : end / MV_PYRAMID_BUCKET;
    if (from > to || (from == to && first % MV_PYRAMID_BUCKET)) {
        uint32_t cut = from * MV_PYRAMID_BUCKET < end ? from * MV_PYRAMID_BUCKET : end;
        add_part(reader, &sum, first, cut);
        if (cut < end)
            add_part(reader, &sum, cut, end);
        return sum;
    }
    if (first % MV_PYRAMID_BUCKET)
        add_part(reader, &sum, first, from * MV_PYRAMID_BUCKET);
    add_nodes(p, &sum, from, to);
    if (to * MV_PYRAMID_BUCKET < end)
        add_part(reader, &sum, to * MV_PYRAMID_BUCKET, end);
    return sum;
}

mv_extent mv_pyramid_range(mv_pyramid_reader *reader, uint32_t first, uint32_t end)
{
    const mv_pyramid *p = reader->pyramid;
    mv_extent out = range(reader, first, end);

    if (p->of_level)
        out.reserved_event = mv_moment_filled(p->lives, out.reserved_event, end);
    return out;
}
