/* Finds the bytes of each pool over time, as numbers. */
#include "viz/pictures/envelopes.h"

#include "analyze/totals/level_steps.h"
#include "base/sort.h"

typedef struct {
    uint64_t held, allocated, active;
    uint64_t most_held, most_allocated, most_active;
    uint32_t held_at;
    bool is_seen;
} level;

typedef struct {
    mv_arena scratch;
    const mv_trace *trace;
    const mv_lives *lives;
    uint32_t from, to;
    uint32_t pools;        /* number of pools in the trace, plus one for unknown pools */
    const uint32_t *group; /* [pools] the level that each pool adds to */
    level *levels;
} sums;

static uint32_t pool_of_segment(const sums *s, uint32_t segment)
{
    uint32_t pool = s->lives->segments.pool[segment].row;

    return pool < s->pools - 1 ? pool : s->pools - 1;
}

static uint32_t pool_of_alloc(const sums *s, uint32_t alloc)
{
    uint32_t segment = s->lives->allocs.segment[alloc];

    return segment < s->lives->segments.count ? pool_of_segment(s, segment) : s->pools - 1;
}

/* ---- levels ------------------------------------------------------------------------------ */

static level *level_of_alloc(const sums *s, uint32_t alloc)
{
    return &s->levels[s->group[pool_of_alloc(s, alloc)]];
}

static level *level_of_segment(const sums *s, uint32_t segment)
{
    return &s->levels[s->group[pool_of_segment(s, segment)]];
}

static void begin(const sums *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    const mv_segment_lives *g = &s->lives->segments;

    for (uint32_t i = 0; i < g->count; i++)
        if (g->birth[i] == MV_BEFORE)
            level_of_segment(s, i)->held += g->size[i];
    for (uint32_t i = 0; i < a->preexisting; i++) {
        level_of_alloc(s, i)->active += a->block[i];
        if (!mv_alloc_was_pending(s->lives, i))
            level_of_alloc(s, i)->allocated += a->block[i];
    }
}

/* Applies one change. Returns the level that rose, or NULL. */
static level *apply(const sums *s, const mv_level_step *step)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    const mv_segment_lives *g = &s->lives->segments;

    switch ((mv_step_kind)step->kind) {
    case MV_STEP_FREED:
        level_of_alloc(s, step->row)->allocated -= a->block[step->row];
        return NULL;
    case MV_STEP_COMPLETED:
        level_of_alloc(s, step->row)->active -= a->block[step->row];
        return NULL;
    case MV_STEP_UNHOLD:
        level_of_segment(s, step->row)->held -= g->size[step->row];
        return NULL;
    case MV_STEP_HOLD:
        level_of_segment(s, step->row)->held += g->size[step->row];
        return level_of_segment(s, step->row);
    case MV_STEP_ALLOC:
        level_of_alloc(s, step->row)->allocated += a->block[step->row];
        level_of_alloc(s, step->row)->active += a->block[step->row];
        return level_of_alloc(s, step->row);
    }
    return NULL;
}

static void note(level *l, uint32_t event)
{
    if (!l->is_seen || l->held > l->most_held) {
        l->most_held = l->held;
        l->held_at = event;
    }
    if (l->allocated > l->most_allocated)
        l->most_allocated = l->allocated;
    if (l->active > l->most_active)
        l->most_active = l->active;
    l->is_seen = true;
}

static void note_all(const sums *s, uint32_t event)
{
    for (uint32_t i = 0; i < s->pools; i++)
        note(&s->levels[i], event);
}

/* Applies the changes of an event. Ends are applied before beginnings, and only beginnings raise a
 * level, so a raised level never exceeds its value at the end of the event. */
static void pass(const sums *s, mv_level_steps *steps, uint32_t event)
{
    mv_level_step step;

    while (mv_level_steps_next(steps, event, &step)) {
        level *raised = apply(s, &step);
        if (raised && event >= s->from)
            note(raised, event);
    }
}

/* Finds the highest value of each level after an event of the window. The moment before the first
 * event counts if the trace itself begins there, or if the window has no events. `group` maps pools
 * to levels. */
static bool sweep(sums *s, const uint32_t *group, level *levels)
{
    mv_level_steps steps;

    s->group = group;
    s->levels = levels;
    if (!mv_level_steps_init(&s->scratch, s->lives, &steps))
        return false;
    begin(s);
    for (uint32_t e = 0; e < s->from; e++)
        pass(s, &steps, e);
    if (s->from == 0 || s->from == s->to)
        note_all(s, s->from - 1);
    for (uint32_t e = s->from; e < s->to; e++) {
        pass(s, &steps, e);
        if (e == s->from)
            note_all(s, e);
    }
    return true;
}

/* ---- envelopes --------------------------------------------------------------------------- */

typedef struct {
    uint32_t pool;
    uint64_t high;
    uint64_t a, b; /* id of the pool */
    bool is_private;
} candidate;

/* Assigns each pool an envelope in `group`. The pools at index `own` and later in `list` share the
 * last envelope. */
static void group_pools(const sums *s, const candidate *list, uint32_t count, uint32_t own,
                        uint32_t *group, mv_envelopes *out)
{
    for (uint32_t i = 0; i < s->pools; i++)
        group[i] = s->pools;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i < own ? i : own;
        mv_pool_envelope *e = &out->envelopes[at];
        group[list[i].pool] = at;
        e->pool = list[i].pool < s->pools - 1 ? (mv_pool_id){list[i].pool} : MV_NO_POOL;
        e->pools++;
    }
    out->count = count > own ? own + 1 : own;
}

static uint64_t high_of(const level *l)
{
    uint64_t high = l->most_active > l->most_allocated ? l->most_active : l->most_allocated;

    return l->most_held > high ? l->most_held : high;
}

static uint32_t list_candidates(const sums *s, const level *levels, candidate *list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->pools; i++) {
        const level *l = &levels[i];
        bool is_known = i < s->pools - 1;
        if (high_of(l) == 0)
            continue;
        list[count++] =
            (candidate){i, high_of(l), is_known ? s->trace->pools.a[i] : UINT64_MAX,
                        is_known ? s->trace->pools.b[i] : UINT64_MAX, i != MV_DEFAULT_POOL.row};
    }
    return count;
}

static void set_envelopes(const level *levels, mv_envelopes *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        mv_pool_envelope *e = &out->envelopes[i];
        e->held = levels[i].most_held;
        e->held_at = levels[i].held_at;
        e->allocated = levels[i].most_allocated;
        e->high = high_of(&levels[i]);
    }
}

static bool place_segments(mv_arena *arena, const sums *s, const uint32_t *group, mv_envelopes *out)
{
    uint32_t segments = s->lives->segments.count;

    out->of_segment = mv_push_array(arena, uint32_t, (uint64_t)segments + 1);
    if (!out->of_segment)
        return false;
    for (uint32_t i = 0; i <= segments; i++) {
        uint32_t at = group[i < segments ? pool_of_segment(s, i) : s->pools - 1];
        out->of_segment[i] = at < out->count ? at : MV_NO_ROW;
    }
    return true;
}

static bool lay(mv_arena *arena, sums *s, uint32_t most, mv_envelopes *out)
{
    uint32_t *group = mv_push_array(&s->scratch, uint32_t, s->pools);
    level *levels = mv_push_array(&s->scratch, level, (uint64_t)s->pools + 1);
    level *grouped = mv_push_array(&s->scratch, level, (uint64_t)s->pools + 1);
    candidate *list = mv_push_array(&s->scratch, candidate, s->pools);
    uint32_t count, own;

    out->envelopes = mv_push_array(arena, mv_pool_envelope, s->pools);
    if (!group || !levels || !grouped || !list || !out->envelopes)
        return false;
    for (uint32_t i = 0; i < s->pools; i++)
        group[i] = i;
    if (!sweep(s, group, levels))
        return false;
    count = list_candidates(s, levels, list);
    own = count <= most ? count : most - 1;
    mv_sort_rows(NULL, list, count, MV_RISING(candidate, is_private), MV_FALLING(candidate, high),
                 MV_RISING(candidate, pool));
    mv_sort_rows(
        NULL, list, own, MV_RISING(candidate, a), MV_RISING(candidate, b),
        MV_RISING(candidate, pool)); /* the default pool is (0, 0), and unknown pools come last */
    group_pools(s, list, count, own, group, out);
    for (uint32_t i = 0; i < own; i++)
        grouped[i] = levels[list[i].pool];
    if (count > own) { /* the merged levels peak at a different moment */
        memset(grouped, 0, (s->pools + 1) * sizeof *grouped);
        if (!sweep(s, group, grouped))
            return false;
    }
    set_envelopes(grouped, out);
    return place_segments(arena, s, group, out);
}

mv_code mv_envelopes_lay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t from, uint32_t to, uint32_t most, mv_envelopes *out, mv_err *err)
{
    sums s = {.trace = trace, .lives = lives, .from = from, .to = to};
    bool is_done;

    *out = (mv_envelopes){0};
    s.pools = trace->pools.count + 1;
    mv_arena_init(&s.scratch, arena->budget);
    is_done = lay(arena, &s, most > 0 ? most : 1, out);
    mv_arena_release(&s.scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
}
