#include "analyze/peak/curve.h"

#include "base/search.h"

/* Adds two numbers. The sizes in a damaged file may add up to more than 64 bits, so sums wrap. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* ---- making ------------------------------------------------------------------------------ */

/* Adds up the bytes that each part holds at the window's first moment. */
static bool start_parts(mv_arena *arena, mv_curve *out)
{
    const mv_lives *lives = &out->lives;
    uint32_t event = out->window.first - 1;

    out->before = mv_push_array(arena, int64_t, out->parts);
    for (uint32_t i = 0; out->before && i < lives->allocs.count; i++)
        if (mv_alloc_is_allocated(lives, i, event))
            out->before[out->part_of[i]] =
                plus(out->before[out->part_of[i]], (int64_t)lives->allocs.block[i]);
    return out->before != NULL;
}

mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err)
{
    *out = (mv_curve){.parts = parts, .lives = *lives, .window = window, .part_of = part_of};
    if (!mv_level_steps_init(arena, lives, &out->steps) || !start_parts(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the curve of %u events", lives->events.count);
    mv_level_steps_seek(&out->steps, window.first);
    return MV_OK;
}

/* ---- walking along the curve ------------------------------------------------------------- */

/* A number of bytes that a part gains or loses at one event. */
typedef struct {
    uint32_t event;
    uint32_t part;
    int64_t bytes;
} change;

typedef struct {
    const mv_curve *curve;
    mv_level_steps steps;
    uint32_t event;   /* event of the next change, or an earlier one */
    bool is_prepared; /* the event has prepared changes, some of which may be done */
} walk;

static walk walk_along(const mv_curve *curve)
{
    walk w = {.curve = curve, .steps = curve->steps, .event = curve->window.first};

    w.steps.lives = &curve->lives;
    return w;
}

/* Returns false if the step does not change the allocated bytes. The rows of such steps may be rows
 * of segments. */
static bool take(const mv_curve *curve, const mv_level_step *step, change *out)
{
    bool begins = step->kind == MV_STEP_ALLOC;
    int64_t bytes;

    if (!begins && step->kind != MV_STEP_FREED)
        return false;
    bytes = (int64_t)curve->lives.allocs.block[step->row];
    *out = (change){step->event, curve->part_of[step->row], begins ? bytes : minus(0, bytes)};
    return true;
}

/* Finds the next change; false after the last one. */
static inline bool next_change(walk *w, change *out)
{
    const mv_curve *c = w->curve;
    mv_level_step step;

    for (; w->event < c->window.end; w->event++, w->is_prepared = false) {
        w->is_prepared = w->is_prepared || mv_level_steps_prepared(&w->steps, w->event);
        if (!w->is_prepared && mv_level_own_change(&c->lives, w->event, &step)) {
            w->event++;
            return take(c, &step, out);
        }
        while (w->is_prepared && mv_level_steps_next(&w->steps, w->event, &step))
            if (take(c, &step, out))
                return true;
    }
    return false;
}

/* ---- peaks without parts ----------------------------------------------------------------- */

static bool is_gone(const uint8_t *gone, uint32_t part)
{
    return gone && gone[part];
}

/* Returns the level at the window's first moment. */
static int64_t first_level(const mv_curve *curve, const uint8_t *gone)
{
    int64_t level = 0;

    for (uint32_t p = 0; p < curve->parts; p++)
        if (!is_gone(gone, p))
            level = plus(level, curve->before[p]);
    return level;
}

static void raise(mv_curve_top *top, int64_t level, uint32_t event)
{
    if (level > (int64_t)top->bytes)
        *top = (mv_curve_top){(uint64_t)level, event};
}

mv_curve_top mv_curve_peak(const mv_curve *curve, const uint8_t *gone)
{
    mv_curve_top top = {0, MV_BEFORE};
    int64_t level = first_level(curve, gone);
    walk w = walk_along(curve);
    change at;

    raise(&top, level, MV_BEFORE);
    for (bool is_left = next_change(&w, &at); is_left;) {
        uint32_t now = at.event;
        for (; is_left && at.event == now; is_left = next_change(&w, &at))
            if (!is_gone(gone, at.part))
                level = plus(level, at.bytes);
        raise(&top, level, now);
    }
    return top;
}

void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes)
{
    walk w = walk_along(curve);
    change at;

    for (uint32_t p = 0; p < curve->parts; p++)
        bytes[p] += (uint64_t)curve->before[p];
    while (event != MV_BEFORE && next_change(&w, &at) && at.event <= event)
        bytes[at.part] += (uint64_t)at.bytes;
}

/* The highest levels of the curve, which are needed to find the peaks without a part. A part's
 * bytes change only at its own steps, so between two of these steps, the level without the part is
 * highest where the whole curve is highest. The highest levels since each past moment are stored as
 * a descending list of maxima, which are the levels that no later level reaches. */
typedef struct {
    uint32_t moment; /* number of the event in the curve, counted from 0 */
    int64_t level;
} maximum;

typedef struct {
    const mv_curve *curve;
    maximum *maxima; /* maxima with strictly descending levels and ascending moments */
    uint32_t count;
    int64_t *bytes;  /* [parts] bytes that each part holds now */
    uint32_t *since; /* [parts] moment at which each part last changed */
    int64_t *best;   /* [parts] highest level so far without each part */
} sweep;

static void push_level(sweep *s, uint32_t moment, int64_t level)
{
    while (s->count > 0 && s->maxima[s->count - 1].level <= level)
        s->count--;
    s->maxima[s->count++] = (maximum){moment, level};
}

/* Returns the highest level at or after a moment, which is usually near the end of the list. */
static int64_t highest_since(const sweep *s, uint32_t moment)
{
    uint32_t high = s->count - 1, step = 1;
    mv_bisect b;

    for (; step <= high && s->maxima[high - step].moment >= moment; step *= 2)
        high -= step;
    b = mv_bisect_over(step <= high ? high - step : 0, high);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, s->maxima[b.middle].moment < moment);
    return s->maxima[b.low].level;
}

/* Updates a part's highest level with the time since its last change. The level at `now` is not
 * known yet. Usually, even the highest level of all would change nothing. */
static void close_part(sweep *s, uint32_t part, uint32_t now)
{
    int64_t level;

    if (s->since[part] >= now)
        return;
    if (minus(s->maxima[0].level, s->bytes[part]) > s->best[part]) {
        level = minus(highest_since(s, s->since[part]), s->bytes[part]);
        if (level > s->best[part])
            s->best[part] = level;
    }
    s->since[part] = now;
}

static void sweep_all(sweep *s, const uint8_t *gone, mv_curve_top *top)
{
    const mv_curve *c = s->curve;
    walk w = walk_along(c);
    uint32_t moment = 1;
    int64_t level = first_level(c, gone);
    change at;

    for (uint32_t p = 0; p < c->parts; p++)
        s->bytes[p] = is_gone(gone, p) ? 0 : c->before[p];
    push_level(s, 0, level);
    raise(top, level, MV_BEFORE);
    for (bool is_left = next_change(&w, &at); is_left; moment++) {
        uint32_t now = at.event;
        for (; is_left && at.event == now; is_left = next_change(&w, &at)) {
            if (is_gone(gone, at.part))
                continue;
            close_part(s, at.part, moment);
            s->bytes[at.part] = plus(s->bytes[at.part], at.bytes);
            level = plus(level, at.bytes);
        }
        push_level(s, moment, level);
        raise(top, level, now);
    }
    for (uint32_t p = 0; p < c->parts; p++)
        close_part(s, p, moment);
}

uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone,
                                 mv_curve_top *top)
{
    uint64_t *out = mv_push_array(arena, uint64_t, curve->parts);
    /* an allocation changes the level at most twice */
    uint64_t events = (uint64_t)curve->window.end - curve->window.first;
    uint64_t changes = 2 * (uint64_t)curve->lives.allocs.count;
    mv_arena scratch;
    sweep s = {.curve = curve};
    bool is_ready;

    *top = (mv_curve_top){0, MV_BEFORE};
    mv_arena_init(&scratch, arena->budget);
    s.maxima = mv_push_array(&scratch, maximum, (events < changes ? events : changes) + 1);
    s.bytes = mv_push_array(&scratch, int64_t, curve->parts);
    s.since = mv_push_array(&scratch, uint32_t, curve->parts);
    s.best = mv_push_array(&scratch, int64_t, curve->parts);
    is_ready = out && s.maxima && s.bytes && s.since && s.best;
    if (is_ready)
        sweep_all(&s, gone, top);
    for (uint32_t p = 0; is_ready && p < curve->parts; p++)
        out[p] = (uint64_t)s.best[p];
    mv_arena_release(&scratch);
    return is_ready ? out : NULL;
}
