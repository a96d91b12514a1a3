#include "analyze/peak/curve.h"

#include "analyze/totals/level_steps.h"
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

/* Adds the bytes that each part holds at the window's first moment. */
static bool start_parts(mv_arena *scratch, const mv_lives *lives, uint32_t event,
                        const uint32_t *part_of, mv_curve *out)
{
    int64_t *bytes = mv_push_array(scratch, int64_t, out->parts);

    for (uint32_t i = 0; bytes && i < lives->allocs.count; i++)
        if (mv_alloc_is_allocated(lives, i, event))
            bytes[part_of[i]] = plus(bytes[part_of[i]], (int64_t)lives->allocs.block[i]);
    for (uint32_t p = 0; bytes && p < out->parts; p++)
        if (bytes[p] != 0)
            out->steps[out->count++] = (mv_curve_step){MV_BEFORE, p, bytes[p]};
    return bytes != NULL;
}

static void add_step(mv_curve *out, const mv_lives *lives, const uint32_t *part_of,
                     const mv_level_step *step)
{
    int64_t bytes;

    /* the rows of other steps may be rows of segments */
    if (step->kind != MV_STEP_ALLOC && step->kind != MV_STEP_FREED)
        return;
    bytes = (int64_t)lives->allocs.block[step->row];
    out->steps[out->count++] = (mv_curve_step){
        step->event, part_of[step->row], step->kind == MV_STEP_ALLOC ? bytes : minus(0, bytes)};
}

static bool fill(mv_arena *scratch, const mv_lives *lives, mv_window window,
                 const uint32_t *part_of, mv_curve *out)
{
    mv_level_steps steps;
    mv_level_step step;

    if (!mv_level_steps_init(scratch, lives, &steps) ||
        !start_parts(scratch, lives, window.first - 1, part_of, out))
        return false;
    for (uint32_t i = 0; i < window.end; i++) {
        if (mv_level_steps_prepared(&steps, i)) {
            while (mv_level_steps_next(&steps, i, &step))
                if (i >= window.first)
                    add_step(out, lives, part_of, &step);
        } else if (i >= window.first && mv_level_own_change(lives, i, &step)) {
            add_step(out, lives, part_of, &step);
        }
    }
    return true;
}

mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err)
{
    /* an allocation has at most two steps, and an event of the window has few others */
    uint64_t most = (uint64_t)parts + 2 * (uint64_t)lives->allocs.count;
    mv_arena scratch;
    bool is_done;

    *out = (mv_curve){.parts = parts, .steps = mv_push_array(arena, mv_curve_step, most)};
    mv_arena_init(&scratch, arena->budget);
    is_done = out->steps && fill(&scratch, lives, window, part_of, out);
    mv_arena_release(&scratch);
    return is_done ? MV_OK
                   : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the curve of %u events",
                             lives->events.count);
}

/* ---- peaks without parts ----------------------------------------------------------------- */

static bool is_gone(const uint8_t *gone, uint32_t part)
{
    return gone && gone[part];
}

uint64_t mv_curve_peak(const mv_curve *curve, const uint8_t *gone, uint32_t *event)
{
    int64_t level = 0, peak = 0;

    *event = MV_BEFORE;
    for (uint64_t i = 0; i < curve->count;) {
        uint32_t now = curve->steps[i].event;
        for (; i < curve->count && curve->steps[i].event == now; i++)
            if (!is_gone(gone, curve->steps[i].part))
                level = plus(level, curve->steps[i].bytes);
        if (level > peak) {
            peak = level;
            *event = now;
        }
    }
    return (uint64_t)peak;
}

void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes)
{
    for (uint64_t i = 0; i < curve->count && curve->steps[i].event + 1 <= event + 1; i++)
        bytes[curve->steps[i].part] += (uint64_t)curve->steps[i].bytes;
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
 * known yet. */
static void close_part(sweep *s, uint32_t part, uint32_t now)
{
    int64_t level;

    if (s->since[part] >= now)
        return;
    level = minus(highest_since(s, s->since[part]), s->bytes[part]);
    if (level > s->best[part])
        s->best[part] = level;
    s->since[part] = now;
}

static void sweep_all(sweep *s, const uint8_t *gone)
{
    const mv_curve *c = s->curve;
    uint32_t moment = 0;
    int64_t level = 0;

    if (c->count == 0 || c->steps[0].event != MV_BEFORE)
        push_level(s, moment++, 0);
    for (uint64_t i = 0; i < c->count; moment++) {
        uint32_t now = c->steps[i].event;
        for (; i < c->count && c->steps[i].event == now; i++) {
            uint32_t part = c->steps[i].part;
            if (is_gone(gone, part))
                continue;
            close_part(s, part, moment);
            s->bytes[part] = plus(s->bytes[part], c->steps[i].bytes);
            level = plus(level, c->steps[i].bytes);
        }
        push_level(s, moment, level);
    }
    for (uint32_t p = 0; p < c->parts; p++)
        close_part(s, p, moment);
}

uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone)
{
    uint64_t *out = mv_push_array(arena, uint64_t, curve->parts);
    mv_arena scratch;
    sweep s = {.curve = curve};
    bool is_ready;

    mv_arena_init(&scratch, arena->budget);
    s.maxima = mv_push_array(&scratch, maximum, curve->count + 1);
    s.bytes = mv_push_array(&scratch, int64_t, curve->parts);
    s.since = mv_push_array(&scratch, uint32_t, curve->parts);
    s.best = mv_push_array(&scratch, int64_t, curve->parts);
    is_ready = out && s.maxima && s.bytes && s.since && s.best;
    if (is_ready)
        sweep_all(&s, gone);
    for (uint32_t p = 0; is_ready && p < curve->parts; p++)
        out[p] = (uint64_t)s.best[p];
    mv_arena_release(&scratch);
    return is_ready ? out : NULL;
}
