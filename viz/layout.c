#include "viz/layout.h"

typedef struct {
    mv_arena scratch;
    const mv_lives *lives;
    const mv_layout_opts *opts;
    mv_layout *out;
    uint32_t *element_of;      /* [allocs] MV_NO_ROW: not in the window */
    uint32_t *ends_at;         /* [events] first allocation that ends there, + 1 */
    uint32_t *next_end;        /* [allocs] next allocation that ends at the same event, + 1 */
    uint64_t *live;            /* [elements] bytes alive */
    uint32_t *before, *behind; /* [elements] neighbours among the living, + 1 */
    uint32_t oldest, newest;   /* elements + 1; 0: none is alive */
    mv_sample *found;          /* by column */
    uint64_t capacity;
} sweep;

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
}

/* ---- columns ----------------------------------------------------------------------------- */

static bool cut_columns(mv_arena *arena, sweep *s, const uint64_t *allocated)
{
    mv_layout *l = s->out;
    uint32_t events = l->to - l->from;

    l->column_count = events < s->opts->columns ? events : s->opts->columns;
    if (l->column_count == 0)
        l->column_count = 1;
    l->start = mv_push_array(arena, uint32_t, (uint64_t)l->column_count + 1);
    l->instant = mv_push_array(arena, uint32_t, l->column_count);
    l->allocated = mv_push_array(arena, uint64_t, l->column_count);
    l->preexisting = mv_push_array(arena, uint64_t, l->column_count);
    if (!l->start || !l->instant || !l->allocated || !l->preexisting)
        return false;
    for (uint32_t c = 0; c <= l->column_count; c++)
        l->start[c] = l->from + (uint32_t)((uint64_t)events * c / l->column_count);
    for (uint32_t c = 0; c < l->column_count; c++) {
        uint32_t best = l->start[c];
        if (events == 0) {
            l->instant[c] = l->from > 0 ? l->from - 1 : MV_BEFORE;
            continue;
        }
        for (uint32_t e = best; e < l->start[c + 1]; e++)
            if (allocated[e] > allocated[best])
                best = e;
        l->instant[c] = best;
    }
    return true;
}

/* ---- elements ---------------------------------------------------------------------------- */

static uint32_t site_of(const sweep *s, uint32_t alloc)
{
    uint32_t stack = s->lives->allocs.stack[alloc].row;
    const uint32_t *sites = s->opts->site_of_stack;

    return stack == MV_NO_ROW ? sites[0] : sites[stack + 1];
}

static bool is_in_window(const sweep *s, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool begins = a->birth[alloc] == MV_BEFORE || a->birth[alloc] < s->out->to;

    return begins && a->block[alloc] > 0 && a->freed[alloc] >= s->out->from;
}

static bool continues_run(const sweep *s, const mv_element *e, uint64_t run_bytes, uint32_t alloc)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool is_small = a->block[alloc] < s->opts->least && a->block[e->first] < s->opts->least;

    return is_small && alloc != a->preexisting &&
           (run_bytes < s->opts->least || (!e->is_mixed && e->site == site_of(s, alloc)));
}

static bool make_elements(mv_arena *arena, sweep *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_layout *l = s->out;
    mv_element *e = NULL;
    uint64_t run_bytes = 0;

    l->elements = mv_push_array(arena, mv_element, (uint64_t)a->count + 1);
    s->element_of = mv_push_array(&s->scratch, uint32_t, a->count);
    if (!l->elements || !s->element_of)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        s->element_of[i] = MV_NO_ROW;
        if (!is_in_window(s, i))
            continue;
        if (e && continues_run(s, e, run_bytes, i)) {
            e->is_mixed = e->is_mixed || e->site != site_of(s, i);
            run_bytes += a->block[i];
        } else {
            e = &l->elements[l->element_count++];
            *e = (mv_element){.first = i, .site = site_of(s, i)};
            run_bytes = a->block[i];
        }
        e->count = i - e->first + 1;
        s->element_of[i] = l->element_count - 1;
    }
    return true;
}

/* ---- the sweep --------------------------------------------------------------------------- */

static bool prepare(sweep *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t events = s->lives->events.count;

    s->ends_at = mv_push_array(&s->scratch, uint32_t, (uint64_t)events + 1);
    s->next_end = mv_push_array(&s->scratch, uint32_t, a->count);
    s->live = mv_push_array(&s->scratch, uint64_t, s->out->element_count);
    s->before = mv_push_array(&s->scratch, uint32_t, s->out->element_count);
    s->behind = mv_push_array(&s->scratch, uint32_t, s->out->element_count);
    if (!s->ends_at || !s->next_end || !s->live || !s->before || !s->behind)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->freed[i] < events) {
            s->next_end[i] = s->ends_at[a->freed[i]];
            s->ends_at[a->freed[i]] = i + 1;
        }
    return true;
}

/* Elements are runs of births, so one that comes alive is always the newest. */
static void be_born(sweep *s, uint32_t alloc)
{
    uint32_t e = s->element_of[alloc];

    if (e == MV_NO_ROW)
        return;
    if (s->live[e] == 0) {
        s->before[e] = s->newest;
        s->behind[e] = 0;
        if (s->newest)
            s->behind[s->newest - 1] = e + 1;
        else
            s->oldest = e + 1;
        s->newest = e + 1;
    }
    s->live[e] += s->lives->allocs.block[alloc];
}

static void die(sweep *s, uint32_t alloc)
{
    uint32_t e = s->element_of[alloc];

    if (e == MV_NO_ROW)
        return;
    s->live[e] -= s->lives->allocs.block[alloc];
    if (s->live[e] > 0)
        return;
    if (s->before[e])
        s->behind[s->before[e] - 1] = s->behind[e];
    else
        s->oldest = s->behind[e];
    if (s->behind[e])
        s->before[s->behind[e] - 1] = s->before[e];
    else
        s->newest = s->before[e];
}

static bool add_sample(sweep *s, mv_sample sample)
{
    if (s->out->sample_count == s->capacity) {
        uint64_t more = s->capacity + s->capacity / 2 + 65536;
        mv_sample *grown =
            more < UINT32_MAX ? mv_arena_grow(&s->scratch, s->found, more * sizeof *grown) : NULL;
        if (!grown)
            return false;
        s->found = grown;
        s->capacity = more;
    }
    s->found[s->out->sample_count++] = sample;
    return true;
}

/* The living elements from the bottom up. */
static bool take_column(sweep *s, uint32_t column)
{
    mv_layout *l = s->out;
    uint64_t offset = 0;

    for (uint32_t at = s->oldest; at; at = s->behind[at - 1]) {
        mv_element *e = &l->elements[at - 1];
        uint64_t bytes = s->live[at - 1];
        if (bytes >= s->opts->visible) {
            if (!add_sample(s, (mv_sample){column, at - 1, offset, bytes}))
                return false;
            e->columns++;
            if (bytes > e->highest)
                e->highest = bytes;
        }
        offset += bytes;
        if (e->first < s->lives->allocs.preexisting)
            l->preexisting[column] = offset;
    }
    l->allocated[column] = offset;
    return true;
}

static bool run(sweep *s)
{
    const mv_lives *lives = s->lives;
    mv_layout *l = s->out;
    uint32_t event = 0;

    for (uint32_t i = 0; i < lives->allocs.preexisting; i++)
        be_born(s, i);
    for (uint32_t c = 0; c < l->column_count; c++) {
        uint32_t until = l->instant[c] == MV_BEFORE ? 0 : l->instant[c] + 1;
        for (; event < until; event++) {
            for (uint32_t end = s->ends_at[event]; end; end = s->next_end[end - 1])
                die(s, end - 1);
            if (lives->events.action[event] == MV_ACTION_ALLOC &&
                lives->alloc_of[event] != MV_NO_ROW)
                be_born(s, lives->alloc_of[event]);
        }
        if (!take_column(s, c))
            return false;
    }
    return true;
}

/* From column order to element order, by counting. */
static bool sort_samples(mv_arena *arena, sweep *s)
{
    mv_layout *l = s->out;
    uint32_t at = 0;

    l->samples = mv_push_array(arena, mv_sample, l->sample_count);
    if (!l->samples)
        return false;
    for (uint32_t e = 0; e < l->element_count; e++) {
        l->elements[e].samples = at;
        at += l->elements[e].columns;
        l->elements[e].columns = 0;
    }
    for (uint32_t i = 0; i < l->sample_count; i++) {
        mv_element *e = &l->elements[s->found[i].element];
        l->samples[e->samples + e->columns++] = s->found[i];
    }
    return true;
}

mv_code mv_layout_find(mv_arena *arena, const mv_lives *lives, const uint64_t *allocated,
                       const mv_layout_opts *opts, mv_layout *out, mv_err *err)
{
    sweep s = {.lives = lives, .opts = opts, .out = out};
    bool done;

    *out = (mv_layout){.from = opts->from, .to = opts->to};
    mv_arena_init(&s.scratch, arena->budget);
    done = cut_columns(arena, &s, allocated) && make_elements(arena, &s) && prepare(&s) &&
           run(&s) && sort_samples(arena, &s);
    mv_arena_release(&s.scratch);
    return done ? MV_OK : no_memory(err);
}
