#include "analyze/period.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/sites.h"

/* A site with fewer allocations shows no rhythm. */
#define LEAST_ALLOCS 3

/* The fewest steps worth inferring. */
#define LEAST_STEPS 3

/* From so many allocations on, the first gap is taken for warm-up. */
#define ALLOCS_WITH_WARM_UP 6

/* Between two sites more even than this the more frequent keeps the beat. */
#define EVEN_ENOUGH 0.3

/* More allocations in a row, on average, are not one statement but a loop. */
#define LONGEST_BURST 8

/* The longest period looked for among the allocations of one site, how many are looked at, and
 * the share that must repeat. */
#define LONGEST_PERIOD 64
#define SAMPLE         4096
#define REPEATING      0.8

/* Where one site allocates: positions in the list of all allocations. */
typedef struct {
    uint32_t count, first, second, last;
    uint32_t gap;   /* the longest but the first */
    double squares; /* sum of the squared gaps but the first */
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

/* The share of the allocations that the rhythm spans; 0 when it has long rests or ends early. */
static double rhythm_cover(const rhythm *r, uint32_t allocs)
{
    bool warm = r->count >= ALLOCS_WITH_WARM_UP;
    uint64_t gap = r->gap, span = r->last - (warm ? r->second : r->first);
    uint64_t rest = allocs - 1 - r->last;

    if (r->count < LEAST_ALLOCS)
        return 0;
    if (!warm && r->second - r->first > gap)
        gap = r->second - r->first;
    if (2 * gap > span || 2 * rest > 3 * gap + 4)
        return 0;
    return ((double)span + 1.5 * (double)gap + 2) / allocs;
}

/* How uneven the gaps are: their variance over their squared mean. */
static double rhythm_unevenness(const rhythm *r)
{
    double sum = r->last - r->second;

    return (r->count - 2) * r->squares / (sum * sum) - 1;
}

/* Frames whose loops are no steps: parameters one by one, layers, gradients. */
static bool frame_is_inner(const mv_trace *trace, mv_frame_id frame)
{
    static const char *const files[] = {"torch/optim/", "torch/autograd/", "torch/nn/init.py",
                                        "torch/serialization.py"};
    static const char *const functions[] = {"__init__", "_apply", "reset_parameters",
                                            "load_state_dict", "backward"};
    const char *file = mv_string_text(trace, trace->frames.file[frame.row]);
    const char *function = mv_own_name(mv_string_text(trace, trace->frames.function[frame.row]));

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strstr(file, files[i]))
            return true;
    if (!strstr(file, "torch/nn/modules/") && !strstr(file, "torch/_tensor.py"))
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(function, functions[i]) == 0)
            return true;
    return false;
}

static bool site_may_beat(const mv_trace *trace, const mv_sites *sites, uint32_t site)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, sites->stack[site], &count);

    if (sites->depth[site] == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (sites->kinds[frames[i].row] == MV_FRAME_FRAMEWORK && frame_is_inner(trace, frames[i]))
            return false;
    return true;
}

/* Marks the sites that span the share `cover` and are nearest to the user's code; their number. */
static uint32_t mark_nearest(const mv_trace *trace, const mv_sites *sites, const rhythm *rhythms,
                             uint32_t allocs, double cover, uint8_t *is_near)
{
    uint32_t depth = UINT32_MAX, near = 0;

    for (uint32_t s = 0; s < sites->count; s++) {
        is_near[s] = rhythm_cover(&rhythms[s], allocs) >= cover && site_may_beat(trace, sites, s);
        if (is_near[s] && sites->depth[s] < depth)
            depth = sites->depth[s];
    }
    for (uint32_t s = 0; s < sites->count; s++) {
        is_near[s] = is_near[s] && sites->depth[s] == depth;
        near += is_near[s];
    }
    return near;
}

/* Sites that allocate equally often. */
typedef struct {
    uint32_t site; /* the first of them */
    uint32_t votes;
} candidate;

static bool better_candidate(const rhythm *rhythms, const candidate *a, const candidate *b)
{
    double uneven_a = rhythm_unevenness(&rhythms[a->site]);
    double uneven_b = rhythm_unevenness(&rhythms[b->site]);

    if (a->votes != b->votes)
        return a->votes > b->votes;
    if (uneven_a < EVEN_ENOUGH && uneven_b < EVEN_ENOUGH)
        return rhythms[a->site].count > rhythms[b->site].count;
    return uneven_a < uneven_b;
}

typedef struct {
    uint32_t count, first, site;
} near_site;

static int by_count(const void *a, const void *b)
{
    const near_site *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Of the counts on which most sites agree, the site that keeps it most evenly. One more counts as
 * agreeing, since the trace may end in the middle of a step. */
static uint32_t elect_site(near_site *near, uint32_t sites, const rhythm *rhythms)
{
    candidate best = {0, 0};

    qsort(near, sites, sizeof *near, by_count);
    for (uint32_t first = 0, same, next; first < sites; first = same) {
        candidate c = {.site = near[first].site};

        for (same = first; same < sites && near[same].count == near[first].count;)
            same++;
        for (next = same; next < sites && near[next].count == near[first].count + 1;)
            next++;
        if (next > same && near[same].first < near[first].first)
            c.site = near[same].site;
        c.votes = next - first;
        if (best.votes == 0 || better_candidate(rhythms, &c, &best))
            best = c;
    }
    return best.site;
}

/* The site that keeps the beat in *site, or MV_NO_ROW; sought first among those that span half of
 * the trace. False when memory is out. */
static bool find_site(mv_arena *scratch, const mv_trace *trace, const mv_sites *sites,
                      const rhythm *rhythms, uint32_t allocs, uint32_t *site)
{
    static const double covers[] = {0.5, 0.1};
    uint8_t *is_near = mv_push_array(scratch, uint8_t, sites->count);
    near_site *near = mv_push_array(scratch, near_site, sites->count);

    *site = MV_NO_ROW;
    if (!is_near || !near)
        return false;
    for (size_t c = 0; c < sizeof covers / sizeof *covers && *site == MV_NO_ROW; c++) {
        uint32_t count = 0;

        if (mark_nearest(trace, sites, rhythms, allocs, covers[c], is_near) == 0)
            continue;
        for (uint32_t s = 0; s < sites->count; s++)
            if (is_near[s])
                near[count++] = (near_site){rhythms[s].count, rhythms[s].first, s};
        *site = elect_site(near, count, rhythms);
    }
    return true;
}

/* What one allocation of a site that is alone in its loop looks like: its size, and how many more
 * the site makes before it is freed (MOST_FATE and more, or never: MOST_FATE). */
enum { MOST_FATE = 4 };

typedef struct {
    uint64_t size;
    uint32_t fate;
} beat;

static beat beat_of(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count, uint32_t i)
{
    beat b = {.size = a->requested[rows[i]]};

    while (b.fate < MOST_FATE && i + b.fate + 1 < count &&
           a->birth[rows[i + b.fate + 1]] < a->freed[rows[i]])
        b.fate++;
    if (a->freed[rows[i]] == MV_NEVER)
        b.fate = MOST_FATE;
    return b;
}

static double repeating(const beat *beats, uint32_t count, uint32_t period, bool exactly)
{
    uint32_t same = 0;

    for (uint32_t i = period; i < count; i++)
        same += beats[i].fate == beats[i - period].fate &&
                (!exactly || beats[i].size == beats[i - period].size);
    return (double)same / (count - period);
}

/* The shortest period with which sizes and fates repeat, else fates, else 1. */
static uint32_t period_of(const beat *beats, uint32_t count)
{
    for (int exactly = 1; exactly >= 0; exactly--)
        for (uint32_t p = 1; p <= LONGEST_PERIOD && 3 * p <= count; p++)
            if (repeating(beats, count, p, exactly) >= REPEATING)
                return p;
    return 1;
}

static bool begins_burst(const uint32_t *rows, uint32_t i)
{
    return i == 0 || rows[i] != rows[i - 1] + 1;
}

/* Sets *period to the number of allocations that the site, alone in its loop, makes a step. */
static bool find_period(mv_arena *scratch, const mv_alloc_lives *a, const uint32_t *rows,
                        uint32_t count, uint32_t *period)
{
    uint32_t sample = count < SAMPLE ? count : SAMPLE;
    beat *beats = mv_push_array(scratch, beat, sample);

    if (!beats)
        return false;
    for (uint32_t i = 0; i < sample; i++)
        beats[i] = beat_of(a, rows, count, count - sample + i);
    *period = period_of(beats, sample);
    return true;
}

/* Marks at the allocations that have the size of the site's first one, if almost each burst has
 * one: bursts may hold the end of one step and the beginning of the next. */
static uint32_t mark_openings(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count,
                              uint32_t bursts, uint32_t *at)
{
    uint32_t steps = 0;
    bool opened = false;

    for (uint32_t i = 0; i < count; i++) {
        opened = opened && !begins_burst(rows, i);
        if (opened || a->requested[rows[i]] != a->requested[rows[0]])
            continue;
        opened = true;
        at[steps++] = a->birth[rows[i]];
    }
    return steps + 1 >= REPEATING * bursts ? steps : 0;
}

static uint32_t mark_bursts(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count,
                            uint32_t *at)
{
    uint32_t steps = 0;

    for (uint32_t i = 0; i < count; i++)
        if (begins_burst(rows, i))
            at[steps++] = a->birth[rows[i]];
    return steps;
}

/* The marks of a site: one a burst where other sites allocate in between, else one a period. */
static bool thin_out(mv_arena *arena, mv_arena *scratch, const mv_alloc_lives *a,
                     const uint32_t *rows, uint32_t count, uint32_t **at, uint32_t *steps)
{
    uint32_t bursts = 0, period = 1;

    *at = mv_push_array(arena, uint32_t, count);
    if (!*at)
        return false;
    for (uint32_t i = 0; i < count; i++)
        bursts += begins_burst(rows, i);
    if (bursts >= LEAST_STEPS && (uint64_t)bursts * LONGEST_BURST >= count) {
        *steps = mark_openings(a, rows, count, bursts, *at);
        if (*steps == 0)
            *steps = mark_bursts(a, rows, count, *at);
    } else {
        if (!find_period(scratch, a, rows, count, &period))
            return false;
        for (uint32_t i = 0; i < count; i += period)
            (*at)[(*steps)++] = a->birth[rows[i]];
    }
    if (*steps < LEAST_STEPS)
        *steps = 0;
    return true;
}

bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                    const mv_lives *lives, uint32_t **at, uint32_t *count, mv_stack_id *stack)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t allocs = a->count - a->preexisting, site, n = 0;
    uint32_t *rows;
    rhythm *rhythms;
    mv_sites sites;
    mv_err err;

    *count = 0;
    if (mv_sites_find(scratch, trace, &sites, &err) != MV_OK)
        return false;
    rhythms = mv_push_array(scratch, rhythm, sites.count);
    if (!rhythms)
        return false;
    for (uint32_t i = a->preexisting; i < a->count; i++)
        rhythm_add(&rhythms[mv_site_of(&sites, a->stack[i])], i - a->preexisting);
    if (!find_site(scratch, trace, &sites, rhythms, allocs, &site))
        return false;
    if (site == MV_NO_ROW)
        return true;
    rows = mv_push_array(scratch, uint32_t, rhythms[site].count);
    if (!rows)
        return false;
    for (uint32_t i = a->preexisting; i < a->count; i++)
        if (mv_site_of(&sites, a->stack[i]) == site)
            rows[n++] = i;
    *stack = sites.stack[site];
    return thin_out(arena, scratch, a, rows, n, at, count);
}
