#include "analyze/steps/recurrence.h"

#include "base/search.h"
#include "base/sort.h"

/* Where two sequences differ, up to MOST_GAP rows of both sequences together may be skipped,
 * provided that AGREEMENT rows agree after the gap. */
#define MOST_GAP  48
#define AGREEMENT 4
/* Maximum number of gaps in one comparison. */
#define MOST_GAPS 64
/* Maximum number of equally good points in one step. */
#define MOST_EQUAL 16

typedef struct {
    const mv_lives *lives;
    const mv_sites *sites;
    const mv_steps *steps;
    mv_recurrence *out;
    const uint32_t *cuts; /* events at which steps begin */
    uint32_t bin;         /* bin of the current step */
    bool by_size;         /* the trace has no stacks, so sizes are compared */
    uint64_t *held;       /* [held_count] sizes of held blocks, ascending */
    uint32_t held_count;
    uint32_t *same; /* [now + 1] length of the longest common suffix of two sequences: the rows up
                     * to this row, and the whole sequence with the request */
} search;

/* ---- sequences --------------------------------------------------------------------------- */

/* Lists the sizes of blocks that have been held since before the current step, which are mostly
 * parameters. */
static bool list_held(search *s, mv_arena *scratch, uint32_t event)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t end = s->out->current > a->preexisting ? s->out->current : a->preexisting;

    s->held = mv_push_array(scratch, uint64_t, end);
    if (!s->held)
        return false;
    for (uint32_t row = 0; row < end; row++)
        if (a->freed[row] >= event)
            s->held[s->held_count++] = a->requested[row];
    mv_sort_rows(scratch, s->held, s->held_count, MV_RISING_VALUES(uint64_t));
    return true;
}

static bool is_held(const search *s, uint64_t bytes)
{
    uint64_t at = mv_lower_bound_u64(s->held, s->held_count, bytes);

    return at < s->held_count && s->held[at] == bytes;
}

/* Returns the symbol that is compared, which identifies the site. Threads of the backward pass have
 * a single site, so their points are distinguished by the sizes of gradients, which equal the sizes
 * of held blocks. */
static uint32_t symbol_of(const search *s, mv_stack_id stack, uint64_t bytes)
{
    bool is_bare = stack.row == MV_EMPTY_STACK.row || stack.row == MV_NO_STACK.row;

    if (s->by_size)
        return (uint32_t)((bytes - 1) >> 9);
    if (is_bare && is_held(s, bytes))
        return s->sites->count + (uint32_t)((bytes - 1) >> 9);
    return mv_site_of(s->sites, stack);
}

static bool list_symbols(search *s, mv_arena *arena, mv_arena *scratch, mv_recurrence_query ask)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_recurrence *r = s->out;

    r->symbol = mv_push_array(arena, uint32_t, (uint64_t)r->now + 1);
    if (!r->symbol || !list_held(s, scratch, ask.event))
        return false;
    s->by_size = true;
    for (uint32_t row = a->preexisting + 1; row < r->now && s->by_size; row++)
        s->by_size = mv_site_of(s->sites, a->stack[row]) == mv_site_of(s->sites, a->stack[row - 1]);
    for (uint32_t row = a->preexisting; row < r->now; row++)
        r->symbol[row] = symbol_of(s, a->stack[row], a->requested[row]);
    r->symbol[r->now] = symbol_of(s, ask.stack, ask.bytes);
    return true;
}

/* Fills `same` with the Z algorithm, working backwards from the end: same[now - k] is the length of
 * the longest common suffix of the whole sequence and the rows up to now - k. O(n). */
static void measure_contexts(search *s)
{
    const uint32_t *symbol = s->out->symbol;
    uint32_t now = s->out->now, count = now - s->lives->allocs.preexisting + 1;
    uint32_t left = 0, right = 0;

    s->same[now] = count;
    for (uint32_t k = 1; k < count; k++) {
        uint32_t z = 0;
        if (k < right) {
            z = s->same[now - (k - left)];
            if (z > right - k)
                z = right - k;
        }
        while (k + z < count && symbol[now - z] == symbol[now - k - z])
            z++;
        if (k + z > right) {
            left = k;
            right = k + z;
        }
        s->same[now - k] = z;
    }
}

/* ---- pairs ------------------------------------------------------------------------------- */

/* Two sequences that are compared row by row, upwards (way 1) or downwards (way -1). Each sequence
 * stops before its `end`. */
typedef struct {
    const uint32_t *symbol;
    int64_t a, a_end, b, b_end;
    int way;
    uint32_t gaps;
} walk;

static bool is_inside(int64_t at, int64_t end, int way)
{
    return way > 0 ? at < end : at > end;
}

static bool agree(const walk *w, int64_t a, int64_t b)
{
    for (int i = 0; i < AGREEMENT; i++, a += w->way, b += w->way)
        if (!is_inside(a, w->a_end, w->way) || !is_inside(b, w->b_end, w->way) ||
            w->symbol[a] != w->symbol[b])
            return false;
    return true;
}

/* Moves to the next point at which both sequences agree; returns false if this point is too far
 * away. */
static bool step_over(walk *w)
{
    if (w->gaps++ == MOST_GAPS)
        return false;
    for (int gap = 1; gap <= MOST_GAP; gap++)
        for (int of_a = 0; of_a <= gap; of_a++) {
            int64_t a = w->a + (int64_t)w->way * of_a, b = w->b + (int64_t)w->way * (gap - of_a);
            if (agree(w, a, b)) {
                w->a = a;
                w->b = b;
                return true;
            }
        }
    return false;
}

/* Sets w->a and w->b to the next pair; returns false at the end. The caller must then move both
 * past this pair. */
static bool next_pair(walk *w)
{
    if (!is_inside(w->a, w->a_end, w->way) || !is_inside(w->b, w->b_end, w->way))
        return false;
    return w->symbol[w->a] == w->symbol[w->b] || step_over(w);
}

void mv_recurrence_follow(const mv_recurrence *found, uint32_t a, uint32_t a_end, uint32_t b,
                          uint32_t b_end, uint32_t *peer)
{
    walk w = {found->symbol, (int64_t)a + 1, a_end, (int64_t)b + 1, b_end, 1, 0};

    for (; next_pair(&w); w.a++, w.b++)
        peer[w.a - a - 1] = (uint32_t)w.b;
}

/* Pairs the rows of the window with the rows before `row`. Returns the number of pairs. */
static uint32_t pair_before(const search *s, uint32_t row, uint32_t *peer)
{
    const mv_recurrence *r = s->out;
    walk w = {r->symbol, (int64_t)r->now - 1, (int64_t)r->first - 1, (int64_t)row - 1, 0, -1, 0};
    uint32_t pairs = 0;

    w.b_end = (int64_t)s->lives->allocs.preexisting - 1;
    for (; next_pair(&w); w.a--, w.b--) {
        if (peer)
            peer[w.a - r->first] = (uint32_t)w.b;
        pairs++;
    }
    return pairs;
}

static bool add(search *s, mv_arena *arena, uint32_t row, uint32_t step_end, uint32_t end)
{
    mv_recurrence *r = s->out;
    mv_repetition *at = &r->at[r->count];
    uint32_t size = r->now - r->first;

    *at = (mv_repetition){row, step_end, end, 0, mv_push_array(arena, uint32_t, size)};
    if (!at->peer)
        return false;
    for (uint32_t i = 0; i < size; i++)
        at->peer[i] = MV_NO_ROW;
    pair_before(s, row, at->peer);
    r->count++;
    return true;
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Returns the row of [first, end) with the longest common suffix. If several rows have an equally
 * long suffix, returns the one whose suffix is longest when differences are skipped. MV_NO_ROW:
 * there is none. */
static uint32_t best_of(const search *s, uint32_t first, uint32_t end)
{
    uint32_t equal[MOST_EQUAL], count = 0, longest = 0, best = MV_NO_ROW, most = 0;

    for (uint32_t row = end; row-- > first;) {
        if (s->same[row] == 0 || s->same[row] < longest)
            continue;
        if (s->same[row] > longest) {
            longest = s->same[row];
            count = 0;
        }
        if (count < MOST_EQUAL)
            equal[count++] = row;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pairs = count == 1 ? 1 : pair_before(s, equal[i], NULL) + 1;
        if (pairs > most) {
            most = pairs;
            best = equal[i];
        }
    }
    return best;
}

/* Sets the window. It also covers the step before the current one, so that blocks that are still
 * alive from that step have counterparts, too. */
static void find_window(search *s, uint32_t event)
{
    mv_recurrence *r = s->out;
    const mv_steps *steps = s->steps;
    uint32_t first = s->lives->allocs.preexisting;

    s->cuts = steps->count ? steps->at : &steps->under_way;
    if (steps->count)
        s->bin = event ? mv_steps_bin(steps, event - 1) : 0;
    else
        s->bin = steps->under_way < event;
    r->is_marked = steps->is_marked;
    r->now = mv_first_born_from(&s->lives->allocs, event);
    r->current = s->bin ? mv_first_born_from(&s->lives->allocs, s->cuts[s->bin - 1]) : first;
    r->first = s->bin > 1 ? mv_first_born_from(&s->lives->allocs, s->cuts[s->bin - 2]) : first;
}

static bool find_in_steps(search *s, mv_arena *arena)
{
    mv_recurrence *r = s->out;
    uint32_t end = r->now;

    for (uint32_t b = s->bin; b-- > 0;) {
        uint32_t first = b ? mv_first_born_from(&s->lives->allocs, s->cuts[b - 1])
                           : s->lives->allocs.preexisting;
        uint32_t step_end = mv_first_born_from(&s->lives->allocs, s->cuts[b]),
                 row = best_of(s, first, step_end);
        if (row == MV_NO_ROW)
            continue;
        r->steps++;
        if (r->count < MV_MOST_REPETITIONS && !add(s, arena, row, step_end, end))
            return false;
        end = row;
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->at[i].step = r->steps - i;
    return true;
}

/* ---- all repetitions --------------------------------------------------------------------- */

mv_code mv_recurrence_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                           const mv_steps *steps, mv_recurrence_query ask, mv_recurrence *out,
                           mv_err *err)
{
    mv_arena scratch;
    search s = {.lives = lives, .sites = sites, .steps = steps, .out = out};
    bool done;

    *out = (mv_recurrence){0};
    mv_arena_init(&scratch, arena->budget);
    find_window(&s, ask.event);
    done = list_symbols(&s, arena, &scratch, ask);
    s.same = done ? mv_push_array(&scratch, uint32_t, (uint64_t)out->now + 1) : NULL;
    done = done && s.same;
    if (done) {
        measure_contexts(&s);
        done = find_in_steps(&s, arena);
    }
    mv_arena_release(&scratch);
    return done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "earlier steps");
}
