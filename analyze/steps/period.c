#include "analyze/steps/period.h"

#include "analyze/steps/steps.h"
#include "base/sort.h"

/* A place has a rhythm only if it has at least this many runs of allocations. */
#define LEAST_ALLOCS 3

/* At least this many steps are worth inferring. */
#define LEAST_STEPS 3

/* If there are at least this many allocations, the first gap counts as warm-up. */
#define ALLOCS_WITH_WARM_UP 6

/* A loop that runs this many times more often than another loop is nested in it. The steps are then
 * made by the outer loop, provided that it runs often enough and does not keep its allocations. */
#define NESTED       4
#define ENOUGH_STEPS 8

/* If the gaps of both places are more even than this, the steps are made by the place that is more
 * frequent. */
#define EVEN_ENOUGH 0.3

/* The minimum number of objects that are created one after another, so that chance is excluded. */
#define LEAST_OBJECTS 6

/* For the allocations of one place: the longest period to look for, the number of allocations to
 * examine, and the fraction that must repeat. */
#define LONGEST_PERIOD 64
#define SAMPLE         4096
#define REPEATING      0.8

/* The rhythm of a place, which is computed from the starts of the place's runs. A start is a
 * position in the list of all allocations. */
typedef struct {
    uint32_t count, first, second, last;
    uint32_t gap;           /* the longest gap, not counting the first */
    double squares;         /* sum of the squared gaps, not counting the first */
    uint32_t blocks, alive; /* number of blocks that the place allocated, and number of them that
                             * are alive at the end */
} rhythm;

static void rhythm_add(rhythm *r, uint32_t at)
{
    if (r->count == 0)
        r->first = at;
    if (r->count == 1)
        r->second = at;
    if (r->count > 1) {
        double gap = at - r->last;
        r->gap = gap > r->gap ? at - r->last : r->gap;
        r->squares += gap * gap;
    }
    r->last = at;
    r->count++;
}

/* Returns the fraction of the allocations that the rhythm spans; 0 if it has long pauses or ends
 * early. At the end, one gap may be missing, or one and a half if the rhythm is uneven, because the
 * last pass may take a different line. */
static double rhythm_cover(const rhythm *r, uint32_t allocs)
{
    bool warm = r->count >= ALLOCS_WITH_WARM_UP;
    uint64_t gap = r->gap, span = r->last - (warm ? r->second : r->first);
    uint64_t rest = allocs - 1 - r->last;

    if (r->count < LEAST_ALLOCS)
        return 0;
    if (!warm && r->second - r->first > gap)
        gap = r->second - r->first;
    if (2 * gap > span || 2 * rest > 5 * gap + 4)
        return 0;
    return ((double)span + 1.5 * (double)gap + 2) / allocs;
}

/* Returns how uneven the gaps are, which is their variance divided by their squared mean. */
static double rhythm_unevenness(const rhythm *r)
{
    double sum = r->last - r->second;

    return (r->count - 2) * r->squares / (sum * sum) - 1;
}

/* Marks the places that span at least the fraction `cover` of the allocations and are closest to
 * the user's code. Returns the number of these places. */
static uint32_t mark_nearest(const mv_outer *outer, const rhythm *rhythms, uint32_t allocs,
                             double cover, uint8_t *is_near)
{
    uint32_t depth = UINT32_MAX, near = 0;

    for (uint32_t p = 0; p < outer->count; p++) {
        is_near[p] =
            outer->kind[p] != MV_OUTER_OBJECT && rhythm_cover(&rhythms[p], allocs) >= cover;
        if (is_near[p] && outer->depth[p] < depth)
            depth = outer->depth[p];
    }
    for (uint32_t p = 0; p < outer->count; p++) {
        is_near[p] = is_near[p] && outer->depth[p] == depth;
        near += is_near[p];
    }
    return near;
}

/* Whether a place keeps most of its blocks. A place that a loop reaches only occasionally is
 * filling a cache, not marking steps. */
static bool keeps(const rhythm *r)
{
    return 2 * (uint64_t)r->alive > r->blocks;
}

/* A group of places that allocate equally often. */
typedef struct {
    uint32_t place; /* the first of these places */
    uint32_t votes;
} candidate;

static bool better_candidate(const rhythm *rhythms, const candidate *a, const candidate *b)
{
    double uneven_a = rhythm_unevenness(&rhythms[a->place]);
    double uneven_b = rhythm_unevenness(&rhythms[b->place]);

    uint32_t count_a = rhythms[a->place].count, count_b = rhythms[b->place].count;

    if (a->votes != b->votes)
        return a->votes > b->votes;
    if (count_a >= ENOUGH_STEPS && count_b >= ENOUGH_STEPS &&
        (count_a >= NESTED * (uint64_t)count_b || count_b >= NESTED * (uint64_t)count_a))
        return (count_a < count_b) != keeps(&rhythms[count_a < count_b ? a->place : b->place]);
    if (uneven_a < EVEN_ENOUGH && uneven_b < EVEN_ENOUGH)
        return rhythms[a->place].count > rhythms[b->place].count;
    return uneven_a < uneven_b;
}

typedef struct {
    uint32_t count, first, place;
} near_place;

/* Returns the number of votes for a candidate. Each line has one vote. Module calls have one vote
 * together, and only if no line votes, because one line may call many modules. */
static uint32_t votes_of(const mv_outer *outer, const near_place *near, uint32_t count)
{
    uint32_t lines = 0;

    for (uint32_t i = 0; i < count; i++)
        lines += outer->kind[near[i].place] == MV_OUTER_LINE;
    return lines > 0 ? lines : 1;
}

/* Elects the number of runs on which the most places agree, and the most even place with this
 * number of runs. Places with one run more also agree, because the trace may end in the middle of a
 * step. */
static uint32_t elect_place(mv_arena *scratch, const mv_outer *outer, near_place *near,
                            uint32_t places, const rhythm *rhythms)
{
    candidate best = {0, 0};

    mv_sort_rows(scratch, near, places, MV_RISING(near_place, count), MV_RISING(near_place, first));
    for (uint32_t first = 0, same, next; first < places; first = same) {
        candidate c = {.place = near[first].place};

        for (same = first; same < places && near[same].count == near[first].count;)
            same++;
        for (next = same; next < places && near[next].count == near[first].count + 1;)
            next++;
        if (next > same && near[same].first < near[first].first)
            c.place = near[same].place;
        c.votes = votes_of(outer, near + first, next - first);
        if (best.votes == 0 || better_candidate(rhythms, &c, &best))
            best = c;
    }
    return best.place;
}

/* Sets *place to the place that makes the steps, or to MV_NO_ROW. Places that span half of the
 * trace are tried first. Returns false when out of memory. */
static bool find_place(mv_arena *scratch, const mv_outer *outer, const rhythm *rhythms,
                       uint32_t allocs, uint32_t *place)
{
    static const double covers[] = {0.5, 0.1};
    uint8_t *is_near = mv_push_array(scratch, uint8_t, outer->count);
    near_place *near = mv_push_array(scratch, near_place, outer->count);

    *place = MV_NO_ROW;
    if (!is_near || !near)
        return false;
    for (size_t c = 0; c < sizeof covers / sizeof *covers && *place == MV_NO_ROW; c++) {
        uint32_t count = 0;

        if (mark_nearest(outer, rhythms, allocs, covers[c], is_near) == 0)
            continue;
        for (uint32_t p = 0; p < outer->count; p++)
            if (is_near[p])
                near[count++] = (near_place){rhythms[p].count, rhythms[p].first, p};
        *place = elect_place(scratch, outer, near, count, rhythms);
    }
    return true;
}

/* Fate of an allocation by a place that is the only one in its loop: the number of later
 * allocations by the place before this allocation is freed. MOST_FATE: this number or more, or the
 * allocation is never freed. */
enum { MOST_FATE = 4 };

typedef struct {
    uint64_t size;
    uint32_t fate;
} repeat;

/* Returns how many more times the place allocates before row i of `rows` is freed, up to `most`. */
static uint32_t fate_of(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count, uint32_t i,
                        uint32_t most)
{
    uint32_t fate = 0;

    if (a->freed[rows[i]] == MV_NEVER)
        return most;
    while (fate < most && i + fate + 1 < count && a->birth[rows[i + fate + 1]] < a->freed[rows[i]])
        fate++;
    return fate;
}

static double repeating(const repeat *repeats, uint32_t count, uint32_t period, bool exactly)
{
    uint32_t same = 0;

    for (uint32_t i = period; i < count; i++)
        same += repeats[i].fate == repeats[i - period].fate &&
                (!exactly || repeats[i].size == repeats[i - period].size);
    return (double)same / (count - period);
}

/* Returns the shortest period with which the sizes and fates repeat or, if there is none, with
 * which the fates repeat; 1 if nothing repeats. */
static uint32_t period_of(const repeat *repeats, uint32_t count)
{
    for (int exactly = 1; exactly >= 0; exactly--)
        for (uint32_t p = 1; p <= LONGEST_PERIOD && 3 * p <= count; p++)
            if (repeating(repeats, count, p, exactly) >= REPEATING)
                return p;
    return 1;
}

/* Whether each repetition passes something on to the next. This is the case if, at some position
 * within the period, most allocations are freed after the corresponding allocation of the next
 * repetition, but before that of the repetition after the next. */
static bool hands_on(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count, uint32_t period)
{
    for (uint32_t first = 0; first < period; first++) {
        uint32_t seen = 0, over = 0;

        for (uint32_t i = first; i + 2 * period < count; i += period) {
            uint32_t fate = fate_of(a, rows, count, i, 2 * period);
            seen++;
            over += fate >= period && fate < 2 * period;
        }
        if (over >= 2 && over >= REPEATING * seen)
            return true;
    }
    return false;
}

/* Sets *period to the number of allocations per step of a place that is the only one in its loop,
 * or to 0 if the repetitions pass nothing on. */
static bool find_period(mv_arena *scratch, const mv_alloc_lives *a, const uint32_t *rows,
                        uint32_t count, uint32_t *period)
{
    uint32_t sample = count < SAMPLE ? count : SAMPLE;
    const uint32_t *sampled = rows + (count - sample);
    repeat *repeats = mv_push_array(scratch, repeat, sample);

    if (!repeats)
        return false;
    for (uint32_t i = 0; i < sample; i++)
        repeats[i] = (repeat){a->requested[sampled[i]], fate_of(a, sampled, sample, i, MOST_FATE)};
    *period = period_of(repeats, sample);
    if (!hands_on(a, sampled, sample, *period))
        *period = 0;
    return true;
}

static bool begins_run(const uint32_t *rows, uint32_t i)
{
    return i == 0 || rows[i] != rows[i - 1] + 1;
}

/* Marks the allocations that have the size of the place's first allocation, if almost every run
 * contains one. Runs may extend from the end of one step to the beginning of the next. */
static uint32_t mark_openings(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count,
                              uint32_t runs, uint32_t *at)
{
    uint32_t steps = 0;
    bool opened = false;

    for (uint32_t i = 0; i < count; i++) {
        opened = opened && !begins_run(rows, i);
        if (opened || a->requested[rows[i]] != a->requested[rows[0]])
            continue;
        opened = true;
        at[steps++] = a->birth[rows[i]];
    }
    return steps + 1 >= REPEATING * runs ? steps : 0;
}

static uint32_t mark_runs(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count,
                          uint32_t *at)
{
    uint32_t steps = 0;

    for (uint32_t i = 0; i < count; i++)
        if (begins_run(rows, i))
            at[steps++] = a->birth[rows[i]];
    return steps;
}

/* Whether all allocations between two runs of a place, before row i of `rows`, were made within
 * module calls. */
static bool is_call_between(const mv_alloc_lives *a, const mv_outer *outer, const uint32_t *rows,
                            uint32_t i)
{
    for (uint32_t row = rows[i - 1] + 1; row < rows[i]; row++) {
        uint32_t place = mv_outer_of(outer, a->stack[row]);
        if (place == MV_NO_ROW || outer->kind[place] != MV_OUTER_CALL)
            return false;
    }
    return true;
}

/* Marks the first run of each pair, if almost all runs come in pairs. A statement that creates an
 * input, calls the model and computes the loss has two runs with only the call between them, and
 * other allocations come before the next pair. */
static uint32_t mark_statements(const mv_alloc_lives *a, const mv_outer *outer,
                                const uint32_t *rows, uint32_t count, uint32_t runs, uint32_t *at)
{
    uint32_t steps = 0, pairs = 0, more = 0;
    bool is_second = false;

    for (uint32_t i = 0; i < count; i++) {
        bool follows_call;

        if (!begins_run(rows, i))
            continue;
        follows_call = i > 0 && is_call_between(a, outer, rows, i);
        more += is_second && follows_call;
        is_second = !is_second && follows_call;
        pairs += is_second;
        if (!is_second)
            at[steps++] = a->birth[rows[i]];
    }
    return steps >= LEAST_STEPS && more == 0 && 2 * pairs + 1 >= REPEATING * runs ? steps : 0;
}

/* ---- a place alone in its loop ----------------------------------------------------------- */

/* Returns the place of the last allocation, if this place made at least half of all allocations;
 * otherwise MV_NO_ROW. */
static uint32_t find_lone_place(const mv_lives *lives, const mv_outer *outer)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t place = MV_NO_ROW, own = 0;

    for (uint32_t i = a->count; i-- > a->preexisting && place == MV_NO_ROW;)
        place = mv_outer_of(outer, a->stack[i]);
    if (place == MV_NO_ROW || outer->kind[place] == MV_OUTER_CALL)
        return MV_NO_ROW;
    for (uint32_t i = a->preexisting; i < a->count; i++)
        own += mv_outer_of(outer, a->stack[i]) == place;
    return 2 * (uint64_t)own >= a->count - a->preexisting ? place : MV_NO_ROW;
}

/* Whether all allocations by a place have the same size and are alive, as is the case for objects
 * that were never freed. */
static bool all_are_kept(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a->freed[rows[i]] != MV_NEVER || a->requested[rows[i]] != a->requested[rows[0]])
            return false;
    return count >= LEAST_OBJECTS;
}

static bool mark_periods(mv_arena *scratch, const mv_alloc_lives *a, const uint32_t *rows,
                         uint32_t count, mv_outer_kind kind, uint32_t *at, uint32_t *steps)
{
    uint32_t period;

    if (!find_period(scratch, a, rows, count, &period))
        return false;
    if (period == 0 && kind == MV_OUTER_OBJECT && all_are_kept(a, rows, count))
        period = 1;
    for (uint32_t i = 0; period > 0 && i < count; i += period)
        at[(*steps)++] = a->birth[rows[i]];
    return true;
}

/* ---- both kinds of places ---------------------------------------------------------------- */

/* Returns the rhythm of each place, computed from the positions of the starts of its runs among all
 * allocations. */
static rhythm *find_rhythms(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer)
{
    const mv_alloc_lives *a = &lives->allocs;
    rhythm *rhythms = mv_push_array(scratch, rhythm, outer->count);
    uint32_t before = MV_NO_ROW;

    for (uint32_t i = a->preexisting; rhythms && i < a->count; i++) {
        uint32_t place = mv_outer_of(outer, a->stack[i]);

        if (place != before && place != MV_NO_ROW)
            rhythm_add(&rhythms[place], i - a->preexisting);
        if (place != MV_NO_ROW) {
            rhythms[place].blocks++;
            rhythms[place].alive += a->freed[i] == MV_NEVER;
        }
        before = place;
    }
    return rhythms;
}

static uint32_t *rows_of_place(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                               uint32_t place, uint32_t *count)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t *rows;

    *count = 0;
    for (uint32_t i = a->preexisting; i < a->count; i++)
        *count += mv_outer_of(outer, a->stack[i]) == place;
    rows = mv_push_array(scratch, uint32_t, *count);
    *count = 0;
    for (uint32_t i = a->preexisting; rows && i < a->count; i++)
        if (mv_outer_of(outer, a->stack[i]) == place)
            rows[(*count)++] = i;
    return rows;
}

/* Whether most repetitions free some of their memory by the end of the next repetition. */
static bool repetitions_return(const mv_alloc_lives *a, const uint32_t *at, uint32_t steps)
{
    uint32_t returning = 0, row = mv_first_born_from(a, at[0]);

    for (uint32_t k = 0; k + 1 < steps; k++) {
        uint32_t end = k + 2 < steps ? at[k + 2] : MV_NEVER;
        bool returns = false;

        for (; row < a->count && a->birth[row] < at[k + 1]; row++)
            returns = returns || a->freed[row] < end;
        returning += returns;
    }
    return returning >= REPEATING * (steps - 1);
}

/* Whether most repetitions capture something, such as a CUDA graph, in a separate private pool.
 * Captured memory is kept, so such repetitions free nothing. Layers that are being created, in
 * contrast, share a pool. */
static bool repetitions_capture(const mv_lives *lives, const uint32_t *at, uint32_t steps)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t row = mv_first_born_from(a, at[0]), capturing = 0;
    mv_pool_id latest = MV_DEFAULT_POOL;

    for (uint32_t k = 0; k < steps; k++) {
        bool captures = false;

        for (; row < a->count && (k + 1 == steps || a->birth[row] < at[k + 1]); row++) {
            mv_pool_id pool = mv_alloc_pool(lives, row);

            if (pool.row == MV_NO_ROW || pool.row == MV_DEFAULT_POOL.row || pool.row == latest.row)
                continue;
            captures = true;
            latest = pool;
        }
        capturing += captures;
    }
    return capturing >= REPEATING * steps;
}

bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                    const mv_outer *outer, uint32_t **at, uint32_t *count, mv_stack_id *stack)
{
    const mv_alloc_lives *a = &lives->allocs;
    rhythm *rhythms = find_rhythms(scratch, lives, outer);
    uint32_t place, n, runs, *rows;
    bool alone;

    *count = 0;
    if (!rhythms || !find_place(scratch, outer, rhythms, a->count - a->preexisting, &place))
        return false;
    alone = place == MV_NO_ROW;
    if (alone)
        place = find_lone_place(lives, outer);
    if (place == MV_NO_ROW)
        return true;
    runs = rhythms[place].count;
    rows = rows_of_place(scratch, lives, outer, place, &n);
    *at = mv_push_array(arena, uint32_t, n);
    if (!rows || !*at)
        return false;
    *stack = outer->stack[place];
    if (alone) {
        if (!mark_periods(scratch, a, rows, n, outer->kind[place], *at, count))
            return false;
    } else {
        if (outer->kind[place] == MV_OUTER_LINE)
            *count = mark_statements(a, outer, rows, n, runs, *at);
        if (*count == 0 && outer->kind[place] == MV_OUTER_LINE)
            *count = mark_openings(a, rows, n, runs, *at);
        if (*count == 0)
            *count = mark_runs(a, rows, n, *at);
        if (*count > 0 && !repetitions_return(a, *at, *count) &&
            !repetitions_capture(lives, *at, *count))
            *count = 0;
    }
    if (*count < LEAST_STEPS)
        *count = 0;
    return true;
}
