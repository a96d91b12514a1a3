#include "analyze/oom/forecast.h"

#include <math.h>

#include "analyze/ranks/batch_factor.h"
#include "base/intern.h"

/* Two sizes count as having changed by the same factor if their ratios differ by less than this. */
#define SAME 0.002
/* A factor applies to the whole step if at least this fraction of the step's bytes changed by
 * it. */
#define CHANGED 0.05
/* Sizes that cannot be predicted may add up to at most this fraction of the allocated bytes. */
#define GUESSED 0.05
/* Once the allocations that differ between steps reach this fraction of the allocated bytes, the
 * current step has shown how it differs. */
#define SHOWN 0.02
/* An earlier step is of the same kind only if at least this fraction of the current step's
 * allocations so far has a counterpart there. This must be true of both the number of blocks and
 * the bytes. */
#define ALIKE 0.5
/* A step that is larger by at least this factor is of a different kind, for example one with a
 * thousand samples instead of one. */
#define MOST_FACTOR 1000
/* Maximum number of distinct sizes to compare in the current step, and size of the result cache. */
#define MOST_SIZES 1024
#define ANSWERS    1024

/* An allocation and its counterparts in all repetitions, with the bytes in each repetition, or 0
 * where there is no counterpart. */
typedef struct {
    uint64_t bytes[MV_MOST_REPETITIONS];
    uint64_t now; /* bytes in the current step; these are predicted if the current step has not made
                   * the allocation yet */
    uint32_t times;
    bool is_guess; /* the size was predicted only from the common factor */
} sizes;

typedef struct {
    mv_arena *scratch;
    const mv_lives *lives;
    const mv_recurrence *found;
    const mv_block_rules *rules;
    mv_recurrence_query ask;
    uint64_t allocated;
    uint32_t base; /* the repetition whose remaining operations make up the forecast */
    uint32_t known_count;
    sizes *known;    /* [known_count] distinct sizes of the current step */
    bool any_varied; /* at least one of these sizes differs in another repetition */
    uint64_t shown;  /* bytes of the current step's allocations whose sizes differ between
                      * repetitions */
    double common;   /* the factor by which most sizes changed; 1: most sizes did not change */
    double factor;   /* the same factor, but 0 if there is no single factor */
    uint32_t matched;
    uint64_t matched_bytes;
    uint64_t current_bytes;               /* bytes of all allocations in the current step */
    uint32_t *after[MV_MOST_REPETITIONS]; /* for each repetition, the counterparts of the base's
                                           * rows after the base's point */
    sizes *answer;                        /* [ANSWERS] cached predictions, by hash */
    uint32_t *current; /* [base.row - low] the current rows that correspond to the base's rows */
    uint32_t low;
    uint32_t end; /* row of the base at which the forecast ends */
    /* [end - base.row] predicted bytes of the base's rows; 0: the row will not be allocated
     * again */
    uint64_t *bytes;
    uint64_t *sure; /* [end - base.row] predicted bytes without guesses */
    uint32_t next_count;
    mv_replay_next *next; /* [next_count] */
} prediction;

static uint64_t requested_of(const prediction *t, uint32_t row)
{
    uint64_t bytes = t->lives->allocs.requested[row];
    return bytes ? bytes : 1;
}

static uint32_t peer_of(const prediction *t, uint32_t repetition, uint32_t row)
{
    return t->found->at[repetition].peer[row - t->found->first];
}

/* ---- this step ---------------------------------------------------------- */

static uint32_t slot_of(const sizes *s, uint32_t count, uint32_t slots)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < count; i++)
        hash = mv_mix(hash, s->bytes[i]);
    return (uint32_t)((hash >> 32) % slots);
}

static bool is_same(const sizes *a, const sizes *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a->bytes[i] != b->bytes[i])
            return false;
    return true;
}

static bool is_other(double predicted, uint64_t asked)
{
    return fabs(predicted / (double)asked - 1) > SAME;
}

/* Whether this size differs between repetitions. */
static bool has_varied(const prediction *t, const sizes *s)
{
    for (uint32_t i = 0; i < t->found->count; i++)
        if (s->bytes[i] && is_other((double)s->bytes[i], s->bytes[t->base]))
            return true;
    return false;
}

static void add_known(prediction *t, uint32_t *slots, sizes s)
{
    uint32_t count = t->found->count, slot = slot_of(&s, count, 2 * MOST_SIZES);
    sizes *known;

    for (; slots[slot]; slot = (slot + 1) % (2 * MOST_SIZES)) {
        known = &t->known[slots[slot] - 1];
        if (known->now == s.now && is_same(known, &s, count)) {
            known->times++;
            return;
        }
    }
    if (t->known_count == MOST_SIZES)
        return;
    s.times = 1;
    t->known[t->known_count++] = s;
    slots[slot] = t->known_count;
    t->any_varied = t->any_varied || has_varied(t, &s);
}

/* Lists the sizes of the current step, then the sizes of blocks that are held throughout, because
 * their gradients and copies have the same size in every step. */
static bool list_known(prediction *t)
{
    const mv_recurrence *r = t->found;
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t *slots = mv_push_array(t->scratch, uint32_t, 2 * MOST_SIZES);

    t->known = mv_push_array(t->scratch, sizes, MOST_SIZES);
    if (!slots || !t->known)
        return false;
    for (uint32_t row = r->now; row-- > r->current;) {
        sizes s = {.now = requested_of(t, row)};
        for (uint32_t i = 0; i < r->count; i++)
            s.bytes[i] = peer_of(t, i, row) == MV_NO_ROW ? 0 : requested_of(t, peer_of(t, i, row));
        if (!s.bytes[t->base])
            continue;
        add_known(t, slots, s);
        t->shown += has_varied(t, &s) ? s.now : 0;
    }
    for (uint32_t row = r->at[t->base].row; row-- > 0;)
        if (a->freed[row] >= t->ask.event) {
            sizes s = {.now = requested_of(t, row)};
            s.bytes[t->base] = s.now;
            add_known(t, slots, s);
        }
    return true;
}

static bool find_factor(prediction *t)
{
    const mv_recurrence *r = t->found;
    mv_scaled_size *changed =
        mv_push_array(t->scratch, mv_scaled_size, (uint64_t)r->now - r->current + 1);
    uint32_t count = 0;
    double all = 0, weight;

    if (!changed)
        return false;
    for (uint32_t row = r->current; row < r->now; row++) {
        uint32_t peer = peer_of(t, t->base, row);
        t->current_bytes += requested_of(t, row);
        if (peer == MV_NO_ROW)
            continue;
        t->matched++;
        t->matched_bytes += requested_of(t, row);
        all += (double)requested_of(t, peer);
        mv_scaled_size_add(changed, &count, requested_of(t, peer), requested_of(t, row), 1);
    }
    t->common = t->factor = 1;
    weight = mv_scaled_sizes_weight(changed, count);
    if (count == 0 || weight < CHANGED * all)
        return true;
    t->common = mv_scaled_sizes_median(changed, count);
    t->factor = mv_scaled_sizes_agreeing(changed, count, t->common) >= MV_FACTOR_AGREEING * weight
                    ? t->common
                    : 0;
    return true;
}

/* Whether the current step shows so far that the base is an earlier step of the same kind. The base
 * may instead be another part of the program in which a few of the same sites occur. */
static bool is_of_this_kind(const prediction *t)
{
    uint32_t allocated = t->found->now - t->found->current;

    return t->matched >= ALIKE * allocated &&
           (double)t->matched_bytes >= ALIKE * (double)t->current_bytes && t->common <= MOST_FACTOR;
}

/* ---- the remaining operations --------------------------------------------------------------- */

/* Returns the number of other repetitions in which `a` and `b` changed by the same factor relative
 * to the base, or -1 if the factors differ in too many repetitions (a few counterparts may be
 * wrong). Sets *varied if the sizes differ from those in the base. */
static int changed_alike(const prediction *t, const sizes *a, const sizes *b, bool *varied)
{
    double base = (double)a->bytes[t->base] / (double)b->bytes[t->base];
    int agree = 0, differ = 0;

    for (uint32_t i = 0; i < t->found->count; i++) {
        if (i == t->base || !a->bytes[i] || !b->bytes[i])
            continue;
        if (fabs((double)a->bytes[i] / (double)b->bytes[i] / base - 1) > SAME) {
            differ++;
        } else {
            agree++;
            *varied = *varied || a->bytes[i] != a->bytes[t->base];
        }
    }
    return 3 * differ > agree ? -1 : agree;
}

/* Whether the size stayed the same in nearly all repetitions although other sizes changed. */
static bool is_constant(const prediction *t, const sizes *s)
{
    uint32_t same = 0, other = 0;

    for (uint32_t i = 0; i < t->found->count; i++) {
        if (i == t->base || !s->bytes[i])
            continue;
        if (s->bytes[i] == s->bytes[t->base])
            same++;
        else
            other++;
    }
    return same && t->any_varied && 3 * other <= same;
}

/* Returns the predicted size; MV_NO_BYTES if the size differs from step to step and the current
 * step has not yet shown how. */
static uint64_t predict_size(const prediction *t, sizes *s)
{
    const sizes *along = NULL, *equal = NULL;
    uint64_t bytes = s->bytes[t->base];
    int most = 0;

    for (uint32_t k = 0; k < t->known_count; k++) {
        const sizes *known = &t->known[k];
        bool varied = false;
        int count = changed_alike(t, s, known, &varied);
        if (known->bytes[t->base] == bytes && count >= 0 && (!equal || known->times > equal->times))
            equal = known;
        if (varied && (count > most || (along && count == most && known->times > along->times))) {
            most = count;
            along = known;
        }
    }
    if (along)
        return (uint64_t)((double)bytes * ((double)along->now / (double)along->bytes[t->base]) +
                          0.5);
    if (is_constant(t, s))
        return bytes;
    if ((double)t->shown < SHOWN * (double)t->allocated && has_varied(t, s))
        return MV_NO_BYTES;
    s->is_guess = !equal;
    return equal ? equal->now : (uint64_t)((double)bytes * t->common + 0.5);
}

static const sizes *predict_row(prediction *t, uint32_t row)
{
    const mv_recurrence *r = t->found;
    const mv_repetition *base = &r->at[t->base];
    sizes s = {.now = 0}, *kept;

    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t peer = i == t->base ? row : t->after[i][row - base->row - 1];
        s.bytes[i] = peer == MV_NO_ROW ? 0 : requested_of(t, peer);
    }
    kept = &t->answer[slot_of(&s, r->count, ANSWERS)];
    if (kept->now == 0 || !is_same(kept, &s, r->count)) {
        s.now = predict_size(t, &s);
        *kept = s;
    }
    return kept;
}

static bool is_kept(const prediction *t, uint32_t row)
{
    return t->lives->allocs.freed[row] >= t->ask.event;
}

/* Finds, for the rows after the base's point, the counterparts in the other repetitions. */
static bool follow_peers(prediction *t)
{
    const mv_recurrence *r = t->found;
    const mv_repetition *base = &r->at[t->base];
    uint32_t count = base->end - base->row;

    t->answer = mv_push_array(t->scratch, sizes, ANSWERS);
    t->bytes = mv_push_array(t->scratch, uint64_t, count);
    t->sure = mv_push_array(t->scratch, uint64_t, count);
    if (!t->answer || !t->bytes || !t->sure)
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        t->after[i] = mv_push_array(t->scratch, uint32_t, count);
        if (!t->after[i])
            return false;
        for (uint32_t k = 0; k < count; k++)
            t->after[i][k] = MV_NO_ROW;
        if (i != t->base)
            mv_recurrence_follow(r, base->row, base->end, r->at[i].row, r->at[i].end, t->after[i]);
    }
    return true;
}

/* Predicts the sizes of the rows. The forecast ends where unpredictable sizes add up to too many
 * bytes. After the end of the base's step, sizes belong to yet another step, so only sizes that are
 * the same in every step (those of the optimizer) apply to the current step. Blocks of the first
 * step that are still alive (optimizer state) are not allocated again. */
static void predict_rows(prediction *t)
{
    const mv_repetition *base = &t->found->at[t->base];
    uint64_t guessed = 0;

    t->bytes[0] = t->sure[0] = t->ask.bytes;
    t->end = base->row + 1;
    for (uint32_t row = t->end; row < base->end; row++) {
        const sizes *predicted = predict_row(t, row);
        uint64_t bytes = predicted->now, least;
        if (row >= base->step_end && is_other((double)bytes, requested_of(t, row)))
            break;
        if (bytes == MV_NO_BYTES) {
            bytes = (uint64_t)((double)requested_of(t, row) * t->common);
            guessed += bytes;
        }
        if ((predicted->is_guess || predicted->now == MV_NO_BYTES) && bytes > requested_of(t, row))
            least = requested_of(t, row);
        else
            least = bytes;
        if ((double)guessed > GUESSED * (double)t->allocated)
            break;
        t->bytes[row - base->row] = base->step == 1 && is_kept(t, row) ? 0 : bytes;
        t->sure[row - base->row] = t->bytes[row - base->row] ? least : 0;
        t->end = row + 1;
    }
}

/* ---- the level --------------------------------------------------------------------------- */

/* Finds the rows of the current step that correspond to the base's rows before its point. */
static bool invert_peers(prediction *t)
{
    const mv_recurrence *r = t->found;
    const mv_repetition *base = &r->at[t->base];

    t->low = base->row;
    for (uint32_t row = r->first; row < r->now; row++)
        if (peer_of(t, t->base, row) < t->low)
            t->low = peer_of(t, t->base, row);
    t->current = mv_push_array(t->scratch, uint32_t, (uint64_t)base->row - t->low);
    if (!t->current)
        return false;
    for (uint32_t i = 0; i < base->row - t->low; i++)
        t->current[i] = MV_NO_ROW;
    for (uint32_t row = r->first; row < r->now; row++)
        if (peer_of(t, t->base, row) != MV_NO_ROW)
            t->current[peer_of(t, t->base, row) - t->low] = row;
    return true;
}

/* Returns the row to free at the point where the base frees `row`: a new allocation, or the live
 * counterpart of the base's row. MV_NO_ROW: there is nothing to free. */
static uint32_t freed_with(prediction *t, uint32_t row)
{
    const mv_repetition *base = &t->found->at[t->base];
    const mv_alloc_lives *a = &t->lives->allocs;
    uint32_t now;

    if (row >= t->end)
        return MV_NO_ROW;
    if (row >= base->row)
        return t->bytes[row - base->row] ? row : MV_NO_ROW;
    if (row < t->low || (now = t->current[row - t->low]) == MV_NO_ROW)
        return MV_NO_ROW;
    t->current[row - t->low] = MV_NO_ROW;
    return a->birth[now] + 1 < t->ask.event + 1 && a->freed[now] >= t->ask.event ? now : MV_NO_ROW;
}

/* Lists the remaining operations of the step, beginning with the request. Returns false when out of
 * memory. */
static bool list_next(prediction *t, mv_arena *arena)
{
    const mv_lives *l = t->lives;
    const mv_repetition *base = &t->found->at[t->base];
    uint32_t first = l->allocs.birth[base->row] + 1;
    uint32_t last = t->end < t->found->now ? l->allocs.birth[t->end] : t->ask.event;

    t->next = mv_push_array(arena, mv_replay_next, last > first ? (uint64_t)last - first + 1 : 1);
    if (!t->next)
        return false;
    t->next[t->next_count++] = (mv_replay_next){base->row, true, t->ask.bytes};
    for (uint32_t e = first; e < last; e++) {
        uint32_t row = l->alloc_of[e], gone;
        if (row == MV_NO_ROW)
            continue;
        if (l->events.action[e] == MV_ACTION_ALLOC && row < t->end) {
            if (t->bytes[row - base->row])
                t->next[t->next_count++] = (mv_replay_next){row, true, t->bytes[row - base->row]};
        } else if ((l->events.action[e] == MV_ACTION_FREE_REQUESTED ||
                    l->events.action[e] == MV_ACTION_FREE_COMPLETED) &&
                   l->allocs.freed[row] == e && (gone = freed_with(t, row)) != MV_NO_ROW) {
            t->next[t->next_count++] = (mv_replay_next){gone, gone == row, 0};
        }
    }
    return true;
}

/* Returns the peak of these operations if the new allocations have the sizes `bytes`. */
static uint64_t find_peak(const prediction *t, const uint64_t *bytes)
{
    uint32_t first = t->found->at[t->base].row;
    uint64_t level = t->allocated, peak = level;

    for (uint32_t i = 0; i < t->next_count; i++) {
        const mv_replay_next *d = &t->next[i];
        uint64_t size = d->is_new ? mv_round_request(t->rules, bytes[d->row - first])
                                  : t->lives->allocs.block[d->row];
        if (d->bytes)
            level += size;
        else
            level -= size < level ? size : level;
        peak = level > peak ? level : peak;
    }
    return peak;
}

/* ---- the whole forecast ------------------------------------------------------------------ */

/* Returns the repetition that is most like the current step, which is the one with the most bytes
 * in counterparts of the same size. */
static uint32_t most_alike(const mv_lives *lives, const mv_recurrence *r)
{
    double most = -1;
    uint32_t best = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        double alike = 0;
        for (uint32_t row = r->current; row < r->now; row++) {
            uint32_t peer = r->at[i].peer[row - r->first];
            double mine = (double)lives->allocs.requested[row], other;
            if (peer == MV_NO_ROW)
                continue;
            other = (double)lives->allocs.requested[peer];
            alike += mine < other ? mine : other;
        }
        if (alike > most) {
            most = alike;
            best = i;
        }
    }
    return best;
}

/* Makes the forecast. Returns false when out of memory. */
static bool predict(prediction *t, mv_arena *arena, mv_forecast *out)
{
    const mv_recurrence *r = t->found;

    if (!find_factor(t))
        return false;
    if (!is_of_this_kind(t))
        return true;
    if (!list_known(t) || !follow_peers(t) || !invert_peers(t))
        return false;
    predict_rows(t);
    if (!list_next(t, arena))
        return false;
    *out = (mv_forecast){.peak = find_peak(t, t->bytes),
                         .least = find_peak(t, t->sure),
                         .is_least = !r->is_marked || t->end < r->at[t->base].step_end,
                         .step = r->at[t->base].step,
                         .steps = r->steps,
                         .matched = t->matched,
                         .factor = t->factor,
                         .next_count = t->next_count,
                         .next = t->next,
                         .first = r->at[t->base].row,
                         .count = t->end - r->at[t->base].row};
    return true;
}

mv_code mv_forecast_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                         const mv_steps *steps, const mv_block_rules *rules,
                         mv_recurrence_query ask, uint64_t allocated, mv_forecast *out, mv_err *err)
{
    mv_arena scratch;
    mv_recurrence found;
    prediction t = {.scratch = &scratch,
                    .lives = lives,
                    .found = &found,
                    .rules = rules,
                    .ask = ask,
                    .allocated = allocated};
    mv_code code;

    *out = (mv_forecast){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_recurrence_find(&scratch, lives, sites, steps, ask, &found, err);
    if (code == MV_OK && found.count) {
        t.base = most_alike(lives, &found);
        if (!predict(&t, arena, out))
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the step's forecast");
    }
    mv_arena_release(&scratch);
    return code;
}
