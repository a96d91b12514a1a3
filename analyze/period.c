#include "analyze/period.h"

#include <string.h>

#include "analyze/sites.h"

/* A site with fewer allocations shows no rhythm. */
#define LEAST_ALLOCS 3

/* The fewest steps worth inferring. */
#define LEAST_STEPS 3

/* With so many allocations a rarer site is preferred to a more frequent one: it belongs to the
 * outer loop. */
#define ALLOCS_ENOUGH 8

/* From so many allocations on, the first gap is taken for warm-up. */
#define ALLOCS_WITH_WARM_UP 6

/* The longest period looked for among the allocations of one site, how many are looked at, and
 * the share that must repeat. */
#define LONGEST_PERIOD 64
#define SAMPLE         4096
#define REPEATING      0.8

/* Where one site allocates: positions in the list of all allocations. */
typedef struct {
    uint32_t count, first, second, last;
    uint32_t gap; /* the longest but the first */
} rhythm;

static void rhythm_add(rhythm *r, uint32_t at)
{
    if (r->count == 0)
        r->first = at;
    if (r->count == 1)
        r->second = at;
    if (r->count > 1 && at - r->last > r->gap)
        r->gap = at - r->last;
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

static bool better_rhythm(const rhythm *a, uint32_t depth_a, const rhythm *b, uint32_t depth_b)
{
    bool enough_a = a->count >= ALLOCS_ENOUGH, enough_b = b->count >= ALLOCS_ENOUGH;

    if (depth_a != depth_b)
        return depth_a < depth_b;
    if (enough_a != enough_b)
        return enough_a;
    if (a->count != b->count)
        return enough_a ? a->count < b->count : a->count > b->count;
    return a->first < b->first;
}

/* Frames whose loops are no steps: parameters one by one, layers, gradients. */
static bool frame_is_inner(const mv_trace *trace, mv_frame_id frame)
{
    static const char *const files[] = {"torch/optim/", "torch/autograd/", "torch/nn/init.py",
                                        "torch/serialization.py"};
    static const char *const functions[] = {"__init__", "_apply", "reset_parameters",
                                            "load_state_dict", "backward"};
    const char *file = mv_string_text(trace, trace->frames.file[frame.row]);
    const char *function = mv_string_text(trace, trace->frames.function[frame.row]);

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

/* The site that keeps the beat, or MV_NO_ROW; first among those that span half the trace. */
static uint32_t best_site(const mv_trace *trace, const mv_sites *sites, const rhythm *rhythms,
                          uint32_t allocs)
{
    static const double covers[] = {0.5, 0.1};
    uint32_t best = MV_NO_ROW;

    for (size_t c = 0; c < sizeof covers / sizeof *covers && best == MV_NO_ROW; c++)
        for (uint32_t s = 0; s < sites->count; s++) {
            if (rhythm_cover(&rhythms[s], allocs) < covers[c] || !site_may_beat(trace, sites, s))
                continue;
            if (best == MV_NO_ROW ||
                better_rhythm(&rhythms[s], sites->depth[s], &rhythms[best], sites->depth[best]))
                best = s;
        }
    return best;
}

/* What one allocation of the site looks like: how many more the site makes before it is freed
 * (MOST_FATE and more, or never: MOST_FATE), how many of any site come before the next one, and
 * its size. */
enum { MOST_FATE = 4 };

typedef struct {
    uint64_t size;
    uint32_t fate;
    uint32_t gap;
} beat;

static beat beat_of(const mv_alloc_lives *a, const uint32_t *rows, uint32_t count, uint32_t i)
{
    beat b = {.size = a->requested[rows[i]]};

    while (b.fate < MOST_FATE && i + b.fate + 1 < count &&
           a->birth[rows[i + b.fate + 1]] < a->freed[rows[i]])
        b.fate++;
    if (a->freed[rows[i]] == MV_NEVER)
        b.fate = MOST_FATE;
    if (i + 1 < count)
        b.gap = rows[i + 1] - rows[i];
    return b;
}

/* Sizes tell apart the allocations of one statement; between statements they may vary by step. */
static bool same_beat(const beat *a, const beat *b, bool exactly)
{
    if (a->fate != b->fate)
        return false;
    return !exactly || (a->gap == b->gap && (a->gap != 1 || a->size == b->size));
}

static double repeating(const beat *beats, uint32_t count, uint32_t period, bool exactly)
{
    uint32_t same = 0;

    for (uint32_t i = period; i < count; i++)
        same += same_beat(&beats[i], &beats[i - period], exactly);
    return (double)same / (count - period);
}

/* The shortest period that repeats exactly, else by fate alone, else 1. */
static uint32_t period_of(const beat *beats, uint32_t count)
{
    for (int exactly = 1; exactly >= 0; exactly--)
        for (uint32_t p = 1; p <= LONGEST_PERIOD && 3 * p <= count; p++)
            if (repeating(beats, count, p, exactly) >= REPEATING)
                return p;
    return 1;
}

static bool thin_out(mv_arena *arena, mv_arena *scratch, const mv_alloc_lives *a,
                     const uint32_t *rows, uint32_t count, uint32_t **at, uint32_t *steps)
{
    uint32_t sample = count < SAMPLE ? count : SAMPLE, period;
    beat *beats = mv_push_array(scratch, beat, sample);

    if (!beats)
        return false;
    for (uint32_t i = 0; i < sample; i++)
        beats[i] = beat_of(a, rows, count, count - sample + i);
    period = period_of(beats, sample);
    *at = mv_push_array(arena, uint32_t, count / period + 1);
    if (!*at)
        return false;
    for (uint32_t i = 0; i < count; i += period)
        (*at)[(*steps)++] = a->birth[rows[i]];
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
    site = best_site(trace, &sites, rhythms, allocs);
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
