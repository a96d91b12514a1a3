#include "analyze/peak/curve.h"

#include "analyze/lives/lasting.h"
#include "base/parallel_for.h"
#include "base/search.h"

enum { PIECE_EVENTS = 1 << 16 }; /* with fewer events, a thread costs more than it saves */

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

/* Divides the window into pieces, unless they would be small compared with the number of parts. */
static void divide(mv_curve *out)
{
    uint32_t events = out->window.end - out->window.first;
    uint32_t least = out->parts > PIECE_EVENTS ? out->parts : PIECE_EVENTS;

    out->pieces = events / least < MV_CURVE_PIECES ? 1 + events / least : MV_CURVE_PIECES;
    for (uint32_t k = 0; k <= out->pieces; k++)
        out->first[k] = out->window.first + (uint32_t)((uint64_t)events * k / out->pieces);
}

/* Adds a row to the changes from the first moment of one piece to that of the next. */
static void add_row(mv_curve *out, uint32_t row)
{
    const mv_alloc_lives *a = &out->lives.allocs;
    uint64_t from =
        a->birth[row] == MV_BEFORE ? 0 : mv_upper_bound_u32(out->first, out->pieces, a->birth[row]);
    uint64_t to = mv_upper_bound_u32(out->first, out->pieces, a->freed[row]);
    int64_t *before = out->before + out->part_of[row], bytes = (int64_t)a->block[row];

    if (from >= to)
        return;
    before[from * out->parts] = plus(before[from * out->parts], bytes);
    if (to < out->pieces)
        before[to * out->parts] = minus(before[to * out->parts], bytes);
}

/* Adds up the bytes that each part holds at the first moment of each piece. */
static bool start_pieces(mv_arena *arena, mv_curve *out)
{
    const mv_alloc_lives *a = &out->lives.allocs;
    mv_lasting lasting;
    mv_arena scratch;
    bool has_memory;

    divide(out);
    mv_arena_init(&scratch, arena->budget);
    out->before = mv_push_array(arena, int64_t, (uint64_t)out->pieces * out->parts);
    has_memory = out->before && mv_lasting_find(&scratch, a, out->first, out->pieces, &lasting);
    for (uint32_t i = 0; has_memory && i < lasting.count; i++) {
        uint32_t row = lasting.row[i];
        if (!mv_alloc_was_pending(&out->lives, row))
            add_row(out, row);
    }
    for (uint64_t i = out->parts; has_memory && i < (uint64_t)out->pieces * out->parts; i++)
        out->before[i] = plus(out->before[i], out->before[i - out->parts]);
    mv_arena_release(&scratch);
    return has_memory;
}

mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err)
{
    *out = (mv_curve){.parts = parts, .lives = *lives, .window = window, .part_of = part_of};
    if (!mv_level_steps_init(arena, lives, &out->steps) || !start_pieces(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the curve of %u events", lives->events.count);
    return MV_OK;
}

/* ---- walking along the curve ------------------------------------------------------------- */

/* A number of bytes that a part gains or loses at one event. */
typedef struct {
    uint32_t part;
    int64_t bytes;
} change;

typedef struct {
    const mv_curve *curve;
    mv_level_steps steps;
    uint32_t event;   /* event of the next change, or an earlier one */
    uint32_t end;     /* the walk ends before this event */
    bool is_prepared; /* the event has prepared changes, some of which may be done */
    bool is_done;     /* the event has no prepared changes, and its own change is done */
} walk;

static walk walk_along(const mv_curve *curve, uint32_t first, uint32_t end)
{
    walk w = {.curve = curve, .steps = curve->steps, .event = first, .end = end};

    w.steps.lives = &curve->lives;
    mv_level_steps_seek(&w.steps, first);
    return w;
}

static walk walk_along_all(const mv_curve *curve)
{
    return walk_along(curve, curve->window.first, curve->window.end);
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
    *out = (change){curve->part_of[step->row], begins ? bytes : minus(0, bytes)};
    return true;
}

/* Finds the next change at the walk's event; false after the last one, when the walk moves to the
 * next event. */
static inline bool next_change(walk *w, change *out)
{
    const mv_curve *c = w->curve;
    mv_level_step step;

    w->is_prepared = w->is_prepared || mv_level_steps_prepared(&w->steps, w->event);
    while (w->is_prepared && mv_level_steps_next(&w->steps, w->event, &step))
        if (take(c, &step, out))
            return true;
    if (!w->is_prepared && !w->is_done && mv_level_own_change(&c->lives, w->event, &step)) {
        w->is_done = true;
        return take(c, &step, out);
    }
    w->event++;
    w->is_prepared = w->is_done = false;
    return false;
}

/* ---- peaks without parts ----------------------------------------------------------------- */

static bool is_gone(const uint8_t *gone, uint32_t part)
{
    return gone && gone[part];
}

/* Returns the level at the first moment of a piece, given the bytes of the parts at that moment. */
static int64_t level_of(const mv_curve *curve, const int64_t *bytes, const uint8_t *gone)
{
    int64_t level = 0;

    for (uint32_t p = 0; p < curve->parts; p++)
        if (!is_gone(gone, p))
            level = plus(level, bytes[p]);
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
    int64_t level = level_of(curve, curve->before, gone);
    walk w = walk_along_all(curve);
    change at;

    raise(&top, level, MV_BEFORE);
    while (w.event < w.end) {
        uint32_t now = w.event;
        while (next_change(&w, &at))
            if (!is_gone(gone, at.part))
                level = plus(level, at.bytes);
        raise(&top, level, now);
    }
    return top;
}

void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes)
{
    walk w = walk_along_all(curve);
    change at;

    for (uint32_t p = 0; p < curve->parts; p++)
        bytes[p] += (uint64_t)curve->before[p];
    while (event != MV_BEFORE && w.event <= event && w.event < w.end)
        while (next_change(&w, &at))
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
    mv_curve_top top;
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

static void raise_best(sweep *s, uint32_t part)
{
    int64_t level = minus(highest_since(s, s->since[part]), s->bytes[part]);

    if (level > s->best[part])
        s->best[part] = level;
}

/* Updates a part's highest level with the time since its last change. The level at `now` is not
 * known yet. Usually, even the highest level of all would change nothing. */
static inline void close_part(sweep *s, uint32_t part, uint32_t now)
{
    if (s->since[part] >= now)
        return;
    if (minus(s->maxima[0].level, s->bytes[part]) > s->best[part])
        raise_best(s, part);
    s->since[part] = now;
}

/* The sweeps along the pieces of a curve. */
typedef struct {
    const uint8_t *gone;
    sweep pieces[MV_CURVE_PIECES];
} sweeps;

/* Sweeps along the three events of a block that is freed at once. After its free, its part has the
 * same bytes as before, so the highest level without the part cannot have risen. */
static inline void sweep_briefly(sweep *s, const uint8_t *gone, uint32_t event, uint32_t *moment,
                                 int64_t level)
{
    const mv_curve *c = s->curve;
    uint32_t row = c->lives.alloc_of[event], part = c->part_of[row];
    int64_t with = plus(level, (int64_t)c->lives.allocs.block[row]);

    if (is_gone(gone, part))
        return;
    close_part(s, part, *moment);
    push_level(s, (*moment)++, with);
    push_level(s, *moment, level);
    s->since[part] = (*moment)++;
    raise(&s->top, with, event);
}

enum { STRETCH = 1024 };

/* Passes the next events if no level of theirs reaches `least`, so that only the bytes of the parts
 * matter. A block that is freed at once leaves them unchanged. Returns false if there is a higher
 * level, or a change that does not follow from the event alone. */
static bool pass_low(sweep *s, walk *w, uint32_t moment, int64_t *level)
{
    const mv_curve *c = s->curve;
    uint32_t end = w->end - w->event > STRETCH ? w->event + STRETCH : w->end, count = 0, i;
    int64_t now = *level, highest = now, least = (int64_t)c->least;
    change changes[STRETCH];

    if (!mv_level_steps_are_own(&w->steps, end - 1))
        return false;
    for (i = w->event; i < end && highest < least; i++) {
        mv_level_step step;
        if (mv_level_steps_are_brief(&w->steps, i, end)) {
            int64_t with = plus(now, (int64_t)c->lives.allocs.block[c->lives.alloc_of[i]]);
            highest = with > highest ? with : highest;
            i += 2;
        } else if (mv_level_own_change(&c->lives, i, &step) && take(c, &step, &changes[count])) {
            now = plus(now, changes[count++].bytes);
            highest = now > highest ? now : highest;
        }
    }
    if (highest >= least)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        close_part(s, changes[k].part, moment);
        s->bytes[changes[k].part] = plus(s->bytes[changes[k].part], changes[k].bytes);
    }
    w->event = end;
    *level = now;
    return true;
}

static void sweep_piece(void *user, uint32_t piece)
{
    const uint8_t *gone = ((sweeps *)user)->gone;
    sweep *s = &((sweeps *)user)->pieces[piece];
    const mv_curve *c = s->curve;
    const int64_t *before = c->before + (uint64_t)piece * c->parts;
    walk w = walk_along(c, c->first[piece], c->first[piece + 1]);
    uint32_t moment = 1, look = gone ? MV_NEVER : w.event; /* event of the next pass_low */
    int64_t level = level_of(c, before, gone);
    change at;

    for (uint32_t p = 0; p < c->parts; p++)
        s->bytes[p] = is_gone(gone, p) ? 0 : before[p];
    s->top = (mv_curve_top){0, MV_BEFORE};
    push_level(s, 0, level);
    if (piece == 0)
        raise(&s->top, level, MV_BEFORE);
    while (w.event < w.end) {
        uint32_t now = w.event;
        bool changes = false;
        if (now >= look) {
            look = now + STRETCH;
            if (pass_low(s, &w, moment, &level))
                continue;
        }
        if (mv_level_steps_are_brief(&w.steps, now, w.end)) {
            sweep_briefly(s, gone, now, &moment, level);
            w.event += 3;
            continue;
        }
        for (; next_change(&w, &at); changes = true) {
            if (is_gone(gone, at.part))
                continue;
            close_part(s, at.part, moment);
            s->bytes[at.part] = plus(s->bytes[at.part], at.bytes);
            level = plus(level, at.bytes);
        }
        if (!changes)
            continue;
        push_level(s, moment++, level);
        raise(&s->top, level, now);
    }
    for (uint32_t p = 0; p < c->parts; p++)
        close_part(s, p, moment);
}

/* Allocates the arrays of all sweeps. Returns false when out of memory. */
static bool begin_sweeps(mv_arena *scratch, const mv_curve *curve, sweeps *all)
{
    for (uint32_t k = 0; k < curve->pieces; k++) {
        /* an allocation changes the level at most twice */
        uint64_t events = curve->first[k + 1] - curve->first[k];
        uint64_t changes = 2 * (uint64_t)curve->lives.allocs.count;
        sweep *s = &all->pieces[k];

        s->curve = curve;
        s->maxima = mv_push_array(scratch, maximum, (events < changes ? events : changes) + 1);
        s->bytes = mv_push_array(scratch, int64_t, curve->parts);
        s->since = mv_push_array(scratch, uint32_t, curve->parts);
        s->best = mv_push_array(scratch, int64_t, curve->parts);
        if (!s->maxima || !s->bytes || !s->since || !s->best)
            return false;
    }
    return true;
}

uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone,
                                 mv_curve_top *top)
{
    uint64_t *out = mv_push_array(arena, uint64_t, curve->parts);
    sweeps all = {.gone = gone};
    mv_arena scratch;
    bool is_ready;

    *top = (mv_curve_top){0, MV_BEFORE};
    mv_arena_init(&scratch, arena->budget);
    is_ready = out && begin_sweeps(&scratch, curve, &all);
    if (is_ready)
        mv_parallel_for(curve->pieces, 0, sweep_piece, &all);
    for (uint32_t k = 0; is_ready && k < curve->pieces; k++) {
        const sweep *s = &all.pieces[k];
        raise(top, (int64_t)s->top.bytes, s->top.event);
        for (uint32_t p = 0; p < curve->parts; p++)
            out[p] = (uint64_t)s->best[p] > out[p] ? (uint64_t)s->best[p] : out[p];
    }
    mv_arena_release(&scratch);
    return is_ready ? out : NULL;
}
