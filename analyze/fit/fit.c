#include "analyze/fit/fit.h"

#include <stdio.h>

#include "analyze/fit/sum_buffers.h"
#include "analyze/totals/moment.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

/* Figures are given only if the bounds differ by at most this fraction, which is the error allowed
 * for predictions of memory (docs/fit.md). */
#define MOST_DOUBT 0.01

/* The search for `largest` ends at this multiple of the largest recorded size. */
#define MOST_TIMES 1024

/* A recording on which predictions are based. It is prepared when it is first needed. */
typedef struct {
    bool is_built;
    const char *refused; /* why the recording cannot be used as a base; NULL: it can */
    mv_trials trials;
    mv_size_functions functions;
    mv_sum_buffers sums;
    mv_steps steps;
    uint32_t end; /* events [0, end) are replayed; 0: all */
} fit_base;

typedef struct {
    mv_arena *arena;
    mv_sized_run *runs; /* [count] recordings sorted by size, smallest first */
    uint32_t count;
    bool has_steps;  /* there is one recording, whose steps have these sizes, and only bases[0]
                      * is used */
    fit_base *bases; /* [count] */
    uint64_t *sizes; /* [most rows of any recording] for find_sizes */
    uint64_t capacity;
    mv_fit *out;
    mv_err *err;
} fit_state;

/* Between the bounds of the sizes, reserved memory may rise and fall by a segment at a time, so
 * replays also use sizes in between. The distance between the bounds is divided into this many
 * parts. */
#define PARTS 8

static bool no_memory(fit_state *f)
{
    mv_fail(f->err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return false;
}

/* ---- unusable recordings ----------------------------------------------------------------- */

static uint64_t bytes_before(const mv_lives *lives)
{
    return mv_moment_levels(lives, MV_BEFORE).requested;
}

/* Returns why a recording cannot be used, as a sentence without a full stop, or NULL. */
static const char *refuse_run(fit_state *f, const mv_sized_run *run)
{
    const mv_lives *lives = run->lives;
    char first[MV_INPUT_TEXT], size[MV_INPUT_TEXT];

    mv_input_text(size, run->size);
    if (lives->events.count == 0 || lives->is_missing_allocs)
        return mv_arena_printf(f->arena,
                               "the recording at %s has no allocations: record from the start of "
                               "the program",
                               size);
    for (uint32_t i = 0; i < lives->events.count; i++)
        if (lives->events.action[i] == MV_ACTION_OOM)
            return mv_arena_printf(f->arena,
                                   "a request failed in the recording at %s, so it does not show "
                                   "what the program needs: record a smaller size",
                                   size);
    if (bytes_before(lives) != bytes_before(f->runs[0].lives))
        return mv_arena_printf(f->arena,
                               "the recordings begin with different bytes in use at %s and %s: "
                               "record from the start of the program",
                               mv_input_text(first, f->runs[0].size), size);
    return NULL;
}

/* Whether at least two recordings differ only along this axis. */
static bool shows(const fit_state *f, bool of_length)
{
    for (uint32_t i = 0; i < f->count; i++)
        for (uint32_t k = 0; k < i; k++) {
            mv_input a = f->runs[i].size, b = f->runs[k].size;
            if (of_length ? a.batch == b.batch && a.length != b.length
                          : a.length == b.length && a.batch != b.batch)
                return true;
        }
    return false;
}

/* Returns the reason if the recordings do not show how bytes depend on the numbers that vary. */
static const char *refuse_sizes(fit_state *f, const mv_input *at, uint32_t count)
{
    bool varies[2] = {false, false};
    char one[MV_INPUT_TEXT], other[MV_INPUT_TEXT];
    mv_input first = f->runs[0].size, end;

    for (uint32_t i = 0; i < f->count + count; i++) {
        mv_input size = i < f->count ? f->runs[i].size : at[i - f->count];
        varies[0] = varies[0] || size.batch != first.batch;
        varies[1] = varies[1] || size.length != first.length;
    }
    for (int axis = 0; axis < 2; axis++) {
        if (!varies[axis] || shows(f, axis))
            continue;
        end = first;
        *(axis ? &end.length : &end.batch) *= 2;
        return mv_arena_printf(
            f->arena,
            "no two recordings differ in the %s alone, such as %s and %s: record "
            "such a pair",
            axis ? "length" : "batch", mv_input_text(one, first), mv_input_text(other, end));
    }
    return NULL;
}

/* ---- replays ----------------------------------------------------------------------------- */

/* Replays a recording with the bytes in f->sizes. If `switch_at` is not NULL, the buffers that sums
 * may or may not need at that size are switched. */
static bool replay(fit_state *f, const fit_base *b, const mv_input *switch_at, uint64_t limit,
                   mv_replay_result *out)
{
    const mv_edit edit = {.kind = MV_EDIT_RESIZE, .sizes = f->sizes};
    mv_replay_script changed;
    mv_arena own;
    mv_code code;

    mv_arena_init(&own, f->arena->budget);
    code = mv_edit_apply(&own, &b->trials.script, &edit, 1, &changed, f->err);
    if (code == MV_OK && switch_at && !mv_sum_buffers_switch(&own, &b->sums, *switch_at, &changed))
        code = mv_fail(f->err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (code == MV_OK)
        code = mv_replay_run(
            &own, b->trials.trace, b->trials.lives,
            (mv_replay_opts){
                .conf = b->trials.recorded, .limit = limit, .end = b->end, .script = &changed},
            out, f->err);
    mv_arena_release(&own);
    return code == MV_OK;
}

/* Fills f->sizes for an input size, at `part`/PARTS of the distance from the lower to the upper
 * bounds. Returns whether all bounds are exact at this input size. */
static bool find_sizes(fit_state *f, const fit_base *b, mv_input at, uint32_t part)
{
    const mv_lives *lives = b->trials.lives;
    bool is_exact = true;

    for (uint32_t i = 0; i < lives->allocs.count; i++) {
        mv_size_bounds s = mv_size_at(&b->functions, i, at);
        uint64_t bytes = s.least + (s.most - s.least) / PARTS * part;
        is_exact = is_exact && s.least == s.most;
        bytes = part == PARTS ? s.most : bytes;
        f->sizes[i] = bytes ? bytes : 1;
    }
    return is_exact;
}

/* Ends the replay at the first row without a counterpart, because one recording may have more steps
 * than another. This is allowed only if the peak comes before this row. */
static bool cut(fit_state *f, fit_base *b)
{
    const mv_alloc_lives *a = &b->trials.lives->allocs;
    mv_replay_result whole, part;

    if (b->functions.end == a->count)
        return true;
    find_sizes(f, b, b->functions.runs[b->functions.base].size, 0);
    if (!replay(f, b, NULL, 0, &whole))
        return false;
    b->end = a->birth[b->functions.end];
    if (b->end == 0 || b->end == MV_BEFORE || !replay(f, b, NULL, 0, &part))
        return f->err->code == MV_OK;
    if (part.peak.allocated < whole.peak.allocated)
        b->end = 0;
    return true;
}

/* Returns the reason if the recordings are of different programs, so that most bytes have no
 * counterpart. */
static const char *refuse_match(fit_state *f, const fit_base *b)
{
    const mv_alloc_lives *a = &b->trials.lives->allocs;
    double all = 0, alone = 0;
    uint32_t count = 0;
    char size[MV_INPUT_TEXT];

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        bool is_alone = b->functions.kind[i] == MV_SIZE_ALONE;
        all += (double)a->requested[i];
        alone += is_alone ? (double)a->requested[i] : 0;
        count += is_alone;
    }
    if (alone <= all / 2)
        return NULL;
    return mv_arena_printf(f->arena,
                           "the %s differ too much: %u of the %u allocations%s%s, with most of the "
                           "bytes, have no counterpart at the other sizes",
                           f->has_steps ? "steps" : "recordings", count, a->count - a->preexisting,
                           f->has_steps ? "" : " at ",
                           f->has_steps ? ""
                                        : mv_input_text(size, f->runs[b->functions.base].size));
}

static bool find_functions(fit_state *f, uint32_t base)
{
    fit_base *b = &f->bases[base];
    mv_size_steps steps;

    if (!f->has_steps)
        return mv_size_functions_find(f->arena, f->runs, f->count, base, &b->functions, f->err) ==
               MV_OK;
    if (mv_size_steps_find(f->arena, f->runs, f->count, &b->steps, &steps, f->err) != MV_OK)
        return false;
    b->refused = steps.refused;
    return b->refused || mv_size_functions_find_in_steps(f->arena, f->runs, f->count, &steps,
                                                         &b->functions, f->err) == MV_OK;
}

static bool build(fit_state *f, uint32_t base)
{
    fit_base *b = &f->bases[base];
    const mv_sized_run *run = &f->runs[base];
    char size[MV_INPUT_TEXT];

    if (b->is_built)
        return true;
    b->is_built = true;
    if (mv_trials_open(f->arena, run->trace, run->lives, (mv_trials_opts){0}, &b->trials, f->err) !=
            MV_OK ||
        mv_steps_find(f->arena, run->trace, run->lives, &b->steps, f->err) != MV_OK ||
        !find_functions(f, base))
        return false;
    if (b->refused)
        return true;
    if (!mv_sum_buffers_find(f->arena, &b->functions, &b->sums))
        return no_memory(f);
    if (!mv_trials_are_conclusive(&b->trials))
        b->refused = mv_arena_printf(f->arena, "the replay of the recording at %s is not exact: %s",
                                     mv_input_text(size, run->size), b->trials.trust_why);
    else
        b->refused = refuse_match(f, b);
    return cut(f, b);
}

static double factor(uint64_t a, uint64_t b)
{
    return a > b ? (double)a / (double)b : (double)b / (double)a;
}

static bool is_at_most(mv_input a, mv_input b)
{
    return a.batch <= b.batch && a.length <= b.length;
}

typedef enum { ANY, BELOW, ABOVE } side;

/* Returns the recording whose size has the smallest ratio to `at`, of those on one side of `at` in
 * both numbers. If two recordings are equally near, the larger one is returned. MV_NO_ROW if there
 * is no such recording. */
static uint32_t nearest_on(const fit_state *f, mv_input at, side on)
{
    uint32_t best = MV_NO_ROW;
    double least = 0;

    for (uint32_t i = 0; i < f->count && !f->has_steps; i++) {
        mv_input size = f->runs[i].size;
        double far = factor(at.batch, size.batch) * factor(at.length, size.length);
        if ((on == BELOW && !is_at_most(size, at)) || (on == ABOVE && !is_at_most(at, size)))
            continue;
        if (best == MV_NO_ROW || far <= least) {
            least = far;
            best = i;
        }
    }
    return best;
}

static uint32_t nearest(const fit_state *f, mv_input at)
{
    uint32_t best = nearest_on(f, at, ANY);

    return best == MV_NO_ROW ? 0 : best;
}

/* Whether some allocation of `base` has no counterpart in `other`. */
static bool has_alone(const fit_state *f, uint32_t base, uint32_t other)
{
    const mv_size_functions *s = &f->bases[base].functions;

    for (uint32_t i = f->runs[base].first; i < s->end; i++)
        if (s->partner[other][i] == MV_NO_ROW)
            return true;
    return false;
}

/* Finds the recordings to replay for a size: the nearest and, if the size lies between it and
 * another recording, and one of the two has allocations that the other does not have, both. Returns
 * false on failure. */
static bool find_bases(fit_state *f, mv_input at, uint32_t base[2], uint32_t *count)
{
    uint32_t other = MV_NO_ROW;

    base[0] = nearest(f, at);
    *count = 1;
    if (!build(f, base[0]))
        return false;
    if (!is_at_most(f->runs[base[0]].size, at))
        other = nearest_on(f, at, BELOW);
    else if (!is_at_most(at, f->runs[base[0]].size))
        other = nearest_on(f, at, ABOVE);
    if (f->bases[base[0]].refused || other == MV_NO_ROW)
        return true;
    if (!build(f, other))
        return false;
    base[1] = other;
    *count +=
        !f->bases[other].refused && (has_alone(f, base[0], other) || has_alone(f, other, base[0]));
    return true;
}

/* ---- a point ----------------------------------------------------------------------------- */

static void take(mv_fit_peak *p, uint64_t bytes)
{
    p->least = bytes < p->least ? bytes : p->least;
    p->most = bytes > p->most ? bytes : p->most;
    p->bytes = p->least + (p->most - p->least) / 2;
    p->is_known = (double)(p->most - p->bytes) <= MOST_DOUBT * (double)p->bytes;
}

static const char *describe_failure(fit_state *f, const fit_base *b, uint32_t event)
{
    const mv_lives *lives = b->trials.lives;
    uint32_t row = event < lives->events.count ? lives->alloc_of[event] : MV_NO_ROW;
    char label[256], step[48] = "";

    if (row >= lives->allocs.count)
        return "";
    if (b->steps.count)
        snprintf(step, sizeof step, ", in step %u", mv_steps_bin(&b->steps, event) + 1);
    return mv_arena_printf(
        f->arena, "%s%s",
        mv_culprit_label(b->trials.trace, NULL, lives->allocs.stack[row], label, sizeof label),
        step);
}

/* Results of the replays between the bounds of the sizes. */
typedef struct {
    uint32_t count;
    mv_replay_result result[4 * (PARTS + 1)];
} fit_results;

/* Replays the recordings for a size, at every `stride` of the PARTS between the bounds, with and
 * without the buffers that sums may need. */
static bool replay_all(fit_state *f, mv_input at, uint64_t limit, uint32_t stride, fit_results *out)
{
    uint32_t base[2], count;

    *out = (fit_results){0};
    if (!find_bases(f, at, base, &count))
        return false;
    for (uint32_t i = 0; i < 2 * count; i++) {
        const fit_base *b = &f->bases[base[i / 2]];
        const mv_input *switch_at = i % 2 ? &at : NULL;
        bool is_exact = switch_at && !mv_sum_buffers_doubt(&b->sums, at);
        for (uint32_t part = 0; part <= PARTS && !is_exact; part += stride) {
            is_exact = find_sizes(f, b, at, part);
            if (!replay(f, b, switch_at, limit, &out->result[out->count++]))
                return false;
        }
    }
    return true;
}

/* Finds whether all requests are served within the capacity. The answer is YES or NO if all replays
 * agree, and UNKNOWN otherwise. `failed` is the first failure of the nearest recording. */
static bool find_answer(fit_state *f, mv_input at, mv_fit_answer *answer, uint32_t *failed)
{
    fit_results all;

    if (!replay_all(f, at, f->capacity, PARTS / 2, &all))
        return false;
    *failed = all.result[0].first_oom;
    for (uint32_t i = 0; i < all.count; i++) {
        const mv_replay_result *r = &all.result[i];
        mv_fit_answer one = r->gave_up ? MV_FIT_UNKNOWN : r->counts.ooms ? MV_FIT_NO : MV_FIT_YES;
        *answer = i == 0 || one == *answer ? one : MV_FIT_UNKNOWN;
    }
    return true;
}

static bool find_point(fit_state *f, mv_input at, mv_fit_point *p)
{
    uint32_t base = nearest(f, at), failed;
    const fit_base *b = &f->bases[base];
    fit_results all;

    *p = (mv_fit_point){.at = at,
                        .allocated.least = UINT64_MAX,
                        .reserved.least = UINT64_MAX,
                        .fits = MV_FIT_UNKNOWN,
                        .fails = "",
                        .base = f->has_steps ? (mv_input){0} : f->runs[base].size};
    if (!build(f, base))
        return false;
    if (b->refused) {
        p->allocated.most = p->reserved.most = MV_NO_BYTES;
        return true;
    }
    p->is_recorded = at.batch == p->base.batch && at.length == p->base.length;
    if (!replay_all(f, at, 0, 1, &all))
        return false;
    for (uint32_t i = 0; i < all.count; i++) {
        take(&p->allocated, all.result[i].peak.allocated);
        take(&p->reserved, all.result[i].peak.reserved);
    }
    if (!f->capacity)
        return true;
    if (!find_answer(f, at, &p->fits, &failed))
        return false;
    if (p->fits == MV_FIT_NO)
        p->fails = describe_failure(f, b, failed);
    return p->fails || no_memory(f);
}

/* ---- the largest that fits --------------------------------------------------------------- */

static bool fits(fit_state *f, mv_input at, mv_fit_answer *answer)
{
    uint32_t base = nearest(f, at), failed;

    *answer = MV_FIT_UNKNOWN;
    if (!build(f, base))
        return false;
    return f->bases[base].refused || find_answer(f, at, answer, &failed);
}

/* Searches by bisection, because if a batch fits, all smaller batches fit, too. */
static bool find_largest(fit_state *f, uint64_t length)
{
    uint64_t low = 0, high = f->runs[f->count - 1].size.batch, most = high * MOST_TIMES;
    mv_fit_answer answer = MV_FIT_YES;

    while (high <= most) {
        if (!fits(f, (mv_input){high, length}, &answer))
            return false;
        if (answer != MV_FIT_YES)
            break;
        low = high;
        high *= 2;
    }
    if (answer == MV_FIT_YES)
        return true; /* memory does not grow with the batch */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (!fits(f, (mv_input){middle, length}, &answer))
            return false;
        if (answer == MV_FIT_YES)
            low = middle;
        else
            high = middle;
    }
    if (low == 0 && (!fits(f, (mv_input){1, length}, &answer) || answer != MV_FIT_NO))
        return f->err->code == MV_OK;
    f->out->largest = (mv_input){low, length};
    return true;
}

/* Finds the largest batch of the length that all points have or, without points, of the length that
 * all recordings have. */
static bool find_largest_of_length(fit_state *f, const mv_fit_opts *opts)
{
    uint64_t length = opts->at_count ? opts->at[0].length : f->runs[0].size.length;

    for (uint32_t i = 0; i < opts->at_count; i++)
        if (opts->at[i].length != length)
            return true;
    for (uint32_t i = 0; i < f->count && !opts->at_count; i++)
        if (f->runs[i].size.length != length)
            return true;
    return !f->capacity || !shows(f, false) || find_largest(f, length);
}

/* ---- notes on sizes ---------------------------------------------------------------------- */

/* Returns the row whose bounds at a size are the widest, or MV_NO_ROW. */
static uint32_t widest(const fit_base *b, mv_input at)
{
    uint32_t row = MV_NO_ROW;
    uint64_t most = 0;

    for (uint32_t i = 0; i < b->trials.lives->allocs.count; i++) {
        mv_size_bounds s = mv_size_at(&b->functions, i, at);
        if (s.most - s.least > most) {
            most = s.most - s.least;
            row = i;
        }
    }
    return row;
}

static const char *why_odd(fit_state *f, const fit_base *b, mv_size_kind kind)
{
    if (kind == MV_SIZE_ALONE)
        return f->has_steps   ? "which the steps of another size do not have"
               : f->count > 2 ? "which is missing from some recordings"
                              : "which only one recording has";
    if (b->functions.has_choices)
        return "a library chose another algorithm for some size";
    if (kind == MV_SIZE_CEILING)
        return "a workspace, which may be smaller for smaller sizes";
    return kind == MV_SIZE_UNCONFIRMED
               ? "a workspace, which may have a limit: a third size would show it"
               : "which no linear or quadratic function fits";
}

static const char sums_in_doubt[] =
    "PyTorch adds up bias gradients of about 1021 rows or more with a buffer, and of fewer rows "
    "without: the size and the recording differ in this, so the result covers both";

/* Whether a buffer that a sum may or may not need is larger than the doubt about a row. */
static bool is_widest_a_sum(const fit_base *b, uint32_t row, mv_input at)
{
    mv_size_bounds s = {0, 0};

    if (row != MV_NO_ROW)
        s = mv_size_at(&b->functions, row, at);
    return mv_sum_buffers_doubt(&b->sums, at) > s.most - s.least;
}

static const char *describe_odd(fit_state *f, const fit_base *b, mv_input at)
{
    mv_input n[MV_MOST_FIT_RUNS];
    uint64_t s[MV_MOST_FIT_RUNS];
    uint32_t row = widest(b, at), count, odd = 0;
    char label[256], list[MV_MOST_FIT_RUNS * 80] = "", size[MV_SIZE_TEXT], input[MV_INPUT_TEXT];
    int used = 0;

    if (is_widest_a_sum(b, row, at))
        return sums_in_doubt;
    if (row == MV_NO_ROW)
        return "the replay has no steps left";
    for (uint32_t i = 0; i < b->trials.lives->allocs.count; i++)
        odd += !mv_size_is_exact(b->functions.kind[i]);
    count = mv_size_known(&b->functions, row, n, s);
    for (uint32_t i = 0; i < count; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s at %s", i ? ", " : "",
                         mv_size_text(size, s[i]), mv_input_text(input, n[i]));
    return mv_arena_printf(
        f->arena,
        "the bytes of %u allocation%s are not an exact function of the size, such as %s: %s (%s)",
        odd, mv_plural(odd),
        mv_culprit_label(b->trials.trace, NULL, b->trials.lives->allocs.stack[row], label,
                         sizeof label),
        list, why_odd(f, b, b->functions.kind[row]));
}

/* Adds a note if the results of some point include buffers that the recording does not have, or
 * exclude buffers that it has. */
static bool note_sums(fit_state *f)
{
    mv_fit *out = f->out;
    bool is_in_doubt = false;

    for (uint32_t i = 0; i < out->point_count; i++) {
        const fit_base *b = &f->bases[nearest(f, out->points[i].at)];
        is_in_doubt |= !b->refused && mv_sum_buffers_doubt(&b->sums, out->points[i].at) > 0;
    }
    if (is_in_doubt && out->refused != sums_in_doubt)
        out->note = *out->note ? mv_arena_printf(f->arena, "%s; %s", out->note, sums_in_doubt)
                               : sums_in_doubt;
    return out->note || no_memory(f);
}

static bool describe_refusal(fit_state *f)
{
    for (uint32_t i = 0; i < f->out->point_count && !f->out->refused; i++) {
        const mv_fit_point *p = &f->out->points[i];
        const fit_base *b = &f->bases[nearest(f, p->at)];
        if (p->allocated.is_known && p->reserved.is_known)
            continue;
        f->out->refused = b->refused ? b->refused : describe_odd(f, b, p->at);
        if (!f->out->refused)
            return no_memory(f);
    }
    return true;
}

typedef struct {
    uint64_t code;
    bool is_odd;
} coded_row;

static bool count_sites(fit_state *f)
{
    uint32_t base = f->has_steps ? 0 : f->count - 1;
    const mv_sized_run *run = &f->runs[base];
    const mv_alloc_lives *a = &run->lives->allocs;
    const fit_base *b = &f->bases[base];
    coded_row *rows = mv_push_array(f->arena, coded_row, a->count);
    mv_fit *out = f->out;

    if (!rows)
        return no_memory(f);
    if (!build(f, base))
        return false;
    if (!b->functions.kind)
        return true; /* the steps do not have these sizes */
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        bool is_exact = mv_size_is_exact(b->functions.kind[i]);
        rows[out->allocs++] = (coded_row){run->code[i], !is_exact};
        out->exact += is_exact;
    }
    mv_sort_rows(f->arena, rows, out->allocs, MV_RISING(coded_row, code),
                 MV_FALLING(coded_row, is_odd));
    for (uint32_t i = 0; i < out->allocs; i++)
        if (i == 0 || rows[i].code != rows[i - 1].code) {
            out->sites++;
            out->exact_sites += !rows[i].is_odd;
        }
    out->note = a->preexisting ? "the trace begins with blocks in use: memory cached before it is "
                                 "as large as at the recorded size"
                               : "";
    return true;
}

/* ---- all runs ---------------------------------------------------------------------------- */

static bool open_runs(fit_state *f, const mv_fit_run *runs, uint32_t count)
{
    uint64_t rows = 1;

    f->runs = mv_push_array(f->arena, mv_sized_run, count);
    f->bases = mv_push_array(f->arena, fit_base, count);
    f->count = count;
    f->has_steps = count > 1 && runs[0].lives == runs[1].lives;
    if (!f->runs || !f->bases)
        return no_memory(f);
    for (uint32_t i = 0; i < count; i++) {
        const mv_alloc_lives *a = &runs[i].lives->allocs;
        f->runs[i] = (mv_sized_run){
            .trace = runs[i].trace,
            .lives = runs[i].lives,
            .size = runs[i].size,
            .code = i > 0 && f->has_steps ? f->runs[0].code
                                          : mv_size_codes(f->arena, runs[i].trace, runs[i].lives),
            .first = a->preexisting,
            .end = a->count};
        if (!f->runs[i].code)
            return no_memory(f);
        rows = a->count > rows ? a->count : rows;
    }
    f->sizes = mv_push_array(f->arena, uint64_t, rows);
    if (!f->sizes)
        return no_memory(f);
    mv_sort_rows(f->arena, f->runs, count, MV_RISING(mv_sized_run, size.batch),
                 MV_RISING(mv_sized_run, size.length));
    return true;
}

static bool find_all(fit_state *f, const mv_fit_opts *opts)
{
    mv_fit *out = f->out;

    for (uint32_t i = 0; i < f->count && !out->refused; i++)
        out->refused = refuse_run(f, &f->runs[i]);
    if (!out->refused)
        out->refused = refuse_sizes(f, opts->at, opts->at_count);
    for (uint32_t i = 0; i < opts->at_count && out->refused; i++)
        out->points[i] = (mv_fit_point){.at = opts->at[i],
                                        .fits = MV_FIT_UNKNOWN,
                                        .fails = "",
                                        .allocated.most = MV_NO_BYTES,
                                        .reserved.most = MV_NO_BYTES};
    if (out->refused)
        return true;
    for (uint32_t i = 0; i < opts->at_count; i++)
        if (!find_point(f, opts->at[i], &out->points[i]))
            return false;
    return count_sites(f) && describe_refusal(f) && note_sums(f) && find_largest_of_length(f, opts);
}

mv_code mv_fit_find(mv_arena *arena, const mv_fit_run *runs, uint32_t count, mv_fit_opts opts,
                    mv_fit *out, mv_err *err)
{
    fit_state f = {.arena = arena, .capacity = opts.capacity, .out = out, .err = err};

    *out = (mv_fit){.point_count = opts.at_count,
                    .points = mv_push_array(arena, mv_fit_point, opts.at_count),
                    .note = "",
                    .largest.batch = MV_NO_BYTES};
    if (!out->points)
        no_memory(&f);
    else if (open_runs(&f, runs, count))
        find_all(&f, &opts);
    return err->code;
}
