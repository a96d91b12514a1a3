#include "viz/pictures/pool_levels.h"

#include "analyze/totals/level_steps.h"

/* The current state of an envelope. */
typedef struct {
    uint64_t held, allocated, requested;
    uint64_t group[MV_POOL_GROUPS];
    bool is_top; /* the allocated bytes are the highest in the column so far, and have not been
                    stacked yet */
} level;

typedef struct {
    const mv_lives *lives;
    const mv_pool_levels_opts *opts;
    mv_pool_levels *out;
    level *levels;   /* [envelopes] */
    uint32_t column; /* the column that is being filled */
} sweep;

/* Returns the level that a segment adds to; NULL: it is in no envelope. */
static level *level_of_segment(const sweep *s, uint32_t segment)
{
    uint32_t at = s->opts->envelopes ? s->opts->envelopes->of_segment[segment] : 0;

    return at < s->out->envelopes ? &s->levels[at] : NULL;
}

static level *level_of_alloc(const sweep *s, uint32_t alloc, uint8_t *group)
{
    uint32_t segments = s->lives->segments.count, segment = s->lives->allocs.segment[alloc];

    *group = s->opts->group_of ? s->opts->group_of[alloc] : 0;
    if (*group == MV_POOL_HIDDEN)
        return NULL;
    return level_of_segment(s, segment < segments ? segment : segments);
}

/* ---- a column ---------------------------------------------------------------------------- */

static mv_pool_level *most_of(const sweep *s, const level *l)
{
    return &s->out->levels[(uint64_t)(l - s->levels) * s->out->columns + s->column];
}

static void stack_up(const sweep *s, level *l)
{
    uint64_t at = (uint64_t)(l - s->levels) * s->out->columns + s->column;

    if (l->is_top)
        memcpy(s->out->stacked + at * s->out->groups, l->group, s->out->groups * sizeof *l->group);
    l->is_top = false;
}

static void begin_column(const sweep *s)
{
    for (uint32_t e = 0; e < s->out->envelopes; e++) {
        level *l = &s->levels[e];
        *most_of(s, l) = (mv_pool_level){l->held, l->allocated, l->requested};
        l->is_top = true;
    }
}

static void end_column(const sweep *s)
{
    for (uint32_t e = 0; e < s->out->envelopes; e++)
        stack_up(s, &s->levels[e]);
}

/* ---- changes ----------------------------------------------------------------------------- */

static void add_alloc(const sweep *s, uint32_t alloc, bool is_allocated)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint8_t group;
    level *l = level_of_alloc(s, alloc, &group);

    if (!l)
        return;
    l->requested += a->requested[alloc];
    if (!is_allocated)
        return;
    l->allocated += a->block[alloc];
    l->group[group] += a->block[alloc];
}

/* Adds the rows from before the first event. */
static void begin(const sweep *s)
{
    const mv_segment_lives *g = &s->lives->segments;

    for (uint32_t i = 0; i < g->count; i++)
        if (g->birth[i] == MV_BEFORE && level_of_segment(s, i))
            level_of_segment(s, i)->held += g->size[i];
    for (uint32_t i = 0; i < s->lives->allocs.preexisting; i++)
        add_alloc(s, i, !mv_alloc_was_pending(s->lives, i));
}

static void note(const sweep *s, level *l)
{
    mv_pool_level *most = most_of(s, l);

    most->held = l->held > most->held ? l->held : most->held;
    most->requested = l->requested > most->requested ? l->requested : most->requested;
    if (l->allocated > most->allocated) {
        most->allocated = l->allocated;
        l->is_top = true;
    }
}

/* Applies a change. Only beginnings raise levels, and they come after the ends of the same event,
 * so a raised level never exceeds its value at the end of the event. */
static void apply(const sweep *s, const mv_level_step *step, bool is_in_column)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool is_segment = step->kind == MV_STEP_HOLD || step->kind == MV_STEP_UNHOLD;
    uint8_t group = 0;
    level *l = is_segment ? level_of_segment(s, step->row) : level_of_alloc(s, step->row, &group);

    if (!l)
        return;
    switch ((mv_step_kind)step->kind) {
    case MV_STEP_FREED:
        if (is_in_column)
            stack_up(s, l);
        l->allocated -= a->block[step->row];
        l->group[group] -= a->block[step->row];
        return;
    case MV_STEP_COMPLETED:
        l->requested -= a->requested[step->row];
        return;
    case MV_STEP_UNHOLD:
        l->held -= s->lives->segments.size[step->row];
        return;
    case MV_STEP_HOLD:
        l->held += s->lives->segments.size[step->row];
        break;
    case MV_STEP_ALLOC:
        add_alloc(s, step->row, true);
        break;
    }
    if (is_in_column)
        note(s, l);
}

static void pass(const sweep *s, mv_level_steps *steps, uint32_t event, bool is_in_column)
{
    mv_level_step step;

    while (mv_level_steps_next(steps, event, &step))
        apply(s, &step, is_in_column);
}

static void run(sweep *s, mv_level_steps *steps)
{
    uint32_t next = 0 /* event */, events = s->lives->events.count;

    begin(s);
    for (s->column = 0; s->column < s->out->columns; s->column++) {
        mv_window of = s->opts->columns[s->column];
        for (; next < of.first + 1 && next < events; next++) /* MV_BEFORE + 1 is 0 */
            pass(s, steps, next, false);
        begin_column(s);
        for (; next < of.end && next < events; next++)
            pass(s, steps, next, true);
        end_column(s);
    }
}

mv_code mv_pool_levels_find(mv_arena *arena, const mv_lives *lives, const mv_pool_levels_opts *opts,
                            mv_pool_levels *out, mv_err *err)
{
    sweep s = {.lives = lives, .opts = opts, .out = out};
    mv_level_steps steps;
    mv_arena scratch;
    uint64_t cells;
    bool is_ready;

    *out = (mv_pool_levels){.envelopes = opts->envelopes ? opts->envelopes->count : 1,
                            .columns = opts->column_count,
                            .groups = opts->groups};
    cells = (uint64_t)out->envelopes * out->columns;
    out->levels = mv_push_array(arena, mv_pool_level, cells);
    out->stacked = mv_push_array(arena, uint64_t, cells * out->groups);
    mv_arena_init(&scratch, arena->budget);
    s.levels = mv_push_array(&scratch, level, out->envelopes);
    is_ready =
        out->levels && out->stacked && s.levels && mv_level_steps_init(&scratch, lives, &steps);
    if (is_ready)
        run(&s, &steps);
    mv_arena_release(&scratch);
    return is_ready ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
}
