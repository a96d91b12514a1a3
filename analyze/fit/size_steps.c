#include "analyze/fit/size_steps.h"

#include "analyze/totals/moment.h"
#include "base/sort.h"
#include "base/text.h"

typedef struct {
    mv_arena *arena;
    const mv_sized_run *runs;
    uint32_t count;
    const mv_lives *lives;
} finder;

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* ---- starts of steps --------------------------------------------------------------------- */

/* Moves each mark forward to the first row that was born at the lowest memory before the next
 * mark. */
static void move_to_lows(const mv_lives *lives, uint32_t count, uint32_t *at)
{
    uint64_t in_use = mv_moment_levels(lives, MV_BEFORE).requested, least = UINT64_MAX;
    uint32_t bin = 0;

    for (uint32_t event = 0; event < lives->events.count; event++) {
        uint32_t row = lives->alloc_of[event];
        if (row == MV_NO_ROW || row >= lives->allocs.count)
            continue;
        if (lives->events.action[event] == MV_ACTION_ALLOC) {
            for (; bin < count && row >= at[bin]; bin++)
                least = UINT64_MAX;
            if (bin > 0 && in_use < least) {
                least = in_use;
                at[bin - 1] = row;
            }
            in_use += lives->allocs.requested[row];
        } else if (lives->allocs.completed[row] == event) {
            in_use -= lives->allocs.requested[row];
        }
    }
}

typedef struct {
    uint64_t code;
    uint32_t step; /* number of the step + 1; 0: before the first step */
    uint32_t row;
} coded_row;

/* Sorts the allocations that have stacks by stack and step. Returns [*count] rows; NULL when out of
 * memory. */
static coded_row *sort_rows(const finder *f, mv_arena *own, const mv_size_steps *steps,
                            uint32_t *count)
{
    coded_row *rows = mv_push_array(own, coded_row, f->lives->allocs.count);
    uint32_t step = 0;

    *count = 0;
    for (uint32_t i = f->lives->allocs.preexisting; rows && i < f->lives->allocs.count; i++) {
        while (step < steps->count && i >= steps->at[step].first)
            step++;
        if (f->lives->allocs.stack[i].row != MV_NO_ROW)
            rows[(*count)++] = (coded_row){f->runs[0].code[i], step, i};
    }
    mv_sort_rows(own, rows, *count, MV_RISING(coded_row, code), MV_RISING(coded_row, step));
    return rows;
}

/* Finds the stack that recurs least often. If several stacks recur equally often, takes the first
 * of them. Fills `at` [allocs.count] with the stack's rows. */
static bool find_rare(const finder *f, uint32_t *at, uint32_t *count)
{
    mv_arena own;
    uint32_t rows_count, best = 0;
    coded_row *rows;

    *count = 0;
    mv_arena_init(&own, f->arena->budget);
    rows = sort_rows(f, &own, &(mv_size_steps){0}, &rows_count);
    for (uint32_t i = 0, end; rows && i < rows_count; i = end) {
        for (end = i + 1; end < rows_count && rows[end].code == rows[i].code;)
            end++;
        if (end - i < 2 || (*count && end - i > *count) ||
            (end - i == *count && rows[i].row > rows[best].row))
            continue;
        best = i;
        *count = end - i;
    }
    for (uint32_t i = 0; i < *count; i++)
        at[i] = rows[best + i].row;
    mv_arena_release(&own);
    return rows;
}

/* Finds a step before the first mark. The step begins at the first row whose stack occurs in all
 * steps except perhaps the last step, which may end early. MV_NO_ROW: there is no such step. */
static bool find_earlier(const finder *f, const mv_size_steps *steps, uint32_t *first)
{
    mv_arena own;
    uint32_t count, distinct = 0, earliest = MV_NO_ROW;
    coded_row *rows;

    *first = MV_NO_ROW;
    mv_arena_init(&own, f->arena->budget);
    rows = sort_rows(f, &own, steps, &count);
    for (uint32_t i = 0; rows && i < count; i++) {
        bool is_new = i == 0 || rows[i].code != rows[i - 1].code;
        if (is_new)
            earliest = rows[i].step ? MV_NO_ROW : rows[i].row;
        distinct = is_new ? 0 : distinct;
        if (rows[i].step && rows[i].step < steps->count)
            distinct += is_new || rows[i].step != rows[i - 1].step;
        if (distinct + 1 == steps->count && earliest < *first)
            *first = earliest;
    }
    mv_arena_release(&own);
    return rows;
}

/* Fills steps, each of which reaches from one row of `at` to the next. */
static bool open_steps(const finder *f, const uint32_t *at, uint32_t count, mv_size_steps *out)
{
    uint32_t earlier;

    *out = (mv_size_steps){.count = count,
                           .at = mv_push_array(f->arena, mv_sized_run, (uint64_t)count + 1),
                           .kind = mv_push_array(f->arena, uint8_t, (uint64_t)count + 1)};
    if (!out->at || !out->kind)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        out->at[i] = f->runs[0];
        out->at[i].first = at[i];
        out->at[i].end = i + 1 < count ? at[i + 1] : f->lives->allocs.count;
    }
    if (!find_earlier(f, out, &earlier))
        return false;
    if (earlier == MV_NO_ROW)
        return true;
    for (uint32_t i = out->count++; i > 0; i--)
        out->at[i] = out->at[i - 1];
    out->at[0].end = out->at[0].first;
    out->at[0].first = earlier;
    return true;
}

/* ---- sizes of steps ---------------------------------------------------------------------- */

/* Counts the allocations of a step that are similar to allocations of another step, assuming the
 * given sizes for both steps. */
static uint64_t count_alike(const finder *f, const mv_sized_run *of, uint32_t size,
                            const mv_sized_run *to, uint32_t other, uint32_t *partner)
{
    mv_sized_run a = *of, b = *to;
    uint64_t count = 0;

    a.size = f->runs[size].size;
    b.size = f->runs[other].size;
    mv_sizes_match(&a, &b, partner);
    for (uint32_t i = a.first; i < a.end; i++)
        count += partner[i] != MV_NO_ROW &&
                 mv_sizes_are_alike(a.size, f->lives->allocs.requested[i], b.size,
                                    f->lives->allocs.requested[partner[i]]);
    return count;
}

/* Sets the sizes of all steps, assuming `size` for the middle step: each step is given the size at
 * which as many of its allocations as possible are similar to those of the middle step. Returns the
 * number of allocations that are alike. */
static uint64_t find_kinds(const finder *f, const mv_size_steps *steps, uint32_t size,
                           uint32_t *partner, uint8_t *kind)
{
    const mv_sized_run *middle = &steps->at[steps->count / 2];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < steps->count; i++) {
        uint64_t most = 0;
        for (uint32_t k = 0; k < f->count; k++) {
            uint32_t other = (size + k) % f->count; /* `size` itself is tried first, so that it
                                                     * wins a tie */
            uint64_t count = count_alike(f, &steps->at[i], other, middle, size, partner);
            kind[i] = k == 0 || count > most ? (uint8_t)other : kind[i];
            most = count > most ? count : most;
        }
        sum += most;
    }
    return sum;
}

/* Sets the sizes of the steps. *alike is set to the number of allocations that these sizes
 * explain. */
static bool explain(const finder *f, mv_size_steps *steps, uint64_t *alike)
{
    uint32_t *partner = mv_push_array(f->arena, uint32_t, f->lives->allocs.count);
    uint8_t *kind = mv_push_array(f->arena, uint8_t, steps->count);

    *alike = 0;
    if (!partner || !kind)
        return false;
    for (uint32_t size = 0; size < f->count; size++) {
        uint64_t count = find_kinds(f, steps, size, partner, kind);
        if (count <= *alike)
            continue;
        *alike = count;
        for (uint32_t i = 0; i < steps->count; i++)
            steps->kind[i] = kind[i];
    }
    for (uint32_t i = 0; i < steps->count; i++)
        steps->at[i].size = f->runs[steps->kind[i]].size;
    return true;
}

/* Returns a given size that no step has, or MV_NO_ROW. */
static uint32_t find_missing(const mv_size_steps *steps, uint32_t count)
{
    for (uint32_t size = 0; size < count; size++) {
        uint32_t i = 0;
        while (i < steps->count && steps->kind[i] != size)
            i++;
        if (i == steps->count)
            return size;
    }
    return MV_NO_ROW;
}

/* Tries steps that reach from one row of `at` to the next, and then steps between the low points.
 * Keeps them if they explain more allocations than the best steps so far. */
static bool try_rows(const finder *f, uint32_t *at, uint32_t count, mv_size_steps *best,
                     uint64_t *most)
{
    for (int i = 0; i < 2 && count > 1; i++) {
        mv_size_steps steps;
        uint64_t alike;
        if (!open_steps(f, at, count, &steps) || !explain(f, &steps, &alike))
            return false;
        if (alike > *most) {
            *most = alike;
            *best = steps;
        }
        move_to_lows(f->lives, count, at);
    }
    return true;
}

mv_code mv_size_steps_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                           const mv_steps *marks, mv_size_steps *out, mv_err *err)
{
    finder f = {arena, runs, count, runs[0].lives};
    uint32_t *at = mv_push_array(arena, uint32_t, f.lives->allocs.count + (uint64_t)marks->count);
    uint32_t missing, rare;
    uint64_t most = 0;
    char size[MV_INPUT_TEXT];

    *out = (mv_size_steps){0};
    if (!at)
        return no_memory(err);
    for (uint32_t i = 0; i < marks->count; i++)
        at[i] = mv_first_born_from(&f.lives->allocs, marks->at[i]);
    if (!try_rows(&f, at, marks->count, out, &most))
        return no_memory(err);
    if (marks->source == MV_STEPS_INFERRED || marks->source == MV_STEPS_NONE)
        if (!find_rare(&f, at, &rare) || !try_rows(&f, at, rare, out, &most))
            return no_memory(err);
    if (!out->count) {
        out->refused = "the recording has no steps: name them with record_function(\"step\"), or "
                       "record each size alone";
        return MV_OK;
    }
    missing = find_missing(out, count);
    if (missing != MV_NO_ROW)
        out->refused = mv_arena_printf(
            arena,
            "none of the %u steps has size %s: their bytes are not in the ratios of the sizes",
            out->count, mv_input_text(size, runs[missing].size));
    return missing == MV_NO_ROW || out->refused ? MV_OK : no_memory(err);
}
