#include "analyze/leaks/net_growth.h"

#include <math.h>

#include "base/sort.h"

/* The number of cuts that divide the time in which a site kept blocks into quarters of whole bins:
 * [cut[0], cut[1]), ... */
enum { CUTS = 5 };

typedef struct {
    uint32_t cut[CUTS];
    double sum[CUTS - 1]; /* bytes of the blocks, summed over the floors of each quarter */
    bool frees_old; /* the freed blocks include some that were part of at least LEAST_AGE floors */
} quarters;

/* Blocks that are part of fewer floors than this belong to the steps under way. */
#define LEAST_AGE 3

/* The change in the number of blocks of one size from the floor of one bin to the next. `blocks`
 * and `weighted` (blocks * bin) are sums over all bins from the first change of that size. */
typedef struct {
    uint64_t size;
    uint32_t bin;
    int64_t blocks;
    double weighted;
} change;

typedef struct {
    const mv_lives *lives;
    const mv_floor *floor;
    uint32_t count;
    change *changes; /* [count] by size and bin */
} sizes;

static quarters quarters_of(uint32_t from, uint32_t end)
{
    quarters q = {.cut = {0}};

    for (uint32_t i = 0; i < CUTS; i++)
        q.cut[i] = from + (uint32_t)((uint64_t)(end - from) * i / (CUTS - 1));
    return q;
}

static double mean_of(const quarters *q, uint32_t quarter)
{
    return q->sum[quarter] / (q->cut[quarter + 1] - q->cut[quarter]);
}

/* Adds a block's bytes to each floor that includes the block. */
static void add_block(quarters *q, const mv_floor *floor, const mv_alloc_lives *a, uint32_t row)
{
    uint32_t from = mv_floor_bin(floor, a->birth[row]), end = mv_floor_bin(floor, a->freed[row]);

    if (a->birth[row] == MV_BEFORE)
        from = 0;
    for (uint32_t i = 0; i + 1 < CUTS; i++) {
        uint32_t begin = from > q->cut[i] ? from : q->cut[i];
        uint32_t stop = end < q->cut[i + 1] ? end : q->cut[i + 1];

        if (begin < stop)
            q->sum[i] += (double)a->block[row] * (stop - begin);
    }
    q->frees_old = q->frees_old || (end < q->cut[CUTS - 1] && end >= from + LEAST_AGE);
}

/* Returns the mean growth from quarters [begin, middle) to quarters [middle, end). */
static double rise_of(const quarters *q, uint32_t begin, uint32_t middle, uint32_t end)
{
    double before = 0, after = 0;

    for (uint32_t i = begin; i < end; i++)
        *(i < middle ? &before : &after) += q->sum[i];
    return after / (q->cut[end] - q->cut[middle]) - before / (q->cut[middle] - q->cut[begin]);
}

/* Whether all held bytes grew by less than half as much as the kept bytes. */
static bool is_given_back(const quarters *kept, const quarters *held, uint32_t begin,
                          uint32_t middle)
{
    double grown = rise_of(kept, begin, middle, CUTS - 1);

    return grown > 0 && 2 * rise_of(held, begin, middle, CUTS - 1) < grown;
}

/* Whether a site that frees old blocks is a full cache. If growth is even, a third of the growth
 * from the first quarter to the last comes after the third quarter. In a full cache, less than half
 * of that amount does. */
static bool is_full(const quarters *held)
{
    return held->frees_old &&
           6 * (mean_of(held, 3) - mean_of(held, 2)) < mean_of(held, 3) - mean_of(held, 0);
}

/* Whether the bytes of blocks that the site does not keep fell in the last quarter by no more than
 * they had risen or fallen between earlier quarters. */
static bool may_be_chance(const quarters *kept, const quarters *held)
{
    double others[CUTS - 1], before = 0;

    for (uint32_t i = 0; i + 1 < CUTS; i++)
        others[i] = mean_of(held, i) - mean_of(kept, i);
    for (uint32_t i = 1; i + 2 < CUTS; i++)
        before = fmax(before, fabs(others[i] - others[i - 1]));
    return others[CUTS - 3] - others[CUTS - 2] <= before;
}

/* ---- by size ----------------------------------------------------------------------------- */

/* Lists the distinct sizes of the kept blocks in ascending order. */
static uint64_t *list_sizes(mv_arena *scratch, const mv_kept_block *kept, uint32_t count,
                            uint32_t *found)
{
    uint64_t *size = mv_push_array(scratch, uint64_t, count);

    *found = 0;
    if (!size)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        size[i] = kept[i].size;
    mv_sort_rows(scratch, size, count, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || size[i] != size[*found - 1])
            size[(*found)++] = size[i];
    return size;
}

static bool is_wanted(const mv_alloc_lives *a, uint32_t row, const uint64_t *size, uint32_t count)
{
    uint64_t at = mv_lower_bound_u64(size, count, a->block[row]);

    return at < count && size[at] == a->block[row];
}

/* Lists the changes made by all blocks of these sizes. Each block that is part of a floor appears
 * at one floor and disappears at a later one. */
static bool list_changes(mv_arena *scratch, sizes *s, const uint64_t *size, uint32_t count)
{
    const mv_alloc_lives *a = &s->lives->allocs;

    s->changes = mv_push_array(scratch, change, 2 * (uint64_t)s->floor->lasting.count);
    if (!s->changes)
        return false;
    for (mv_floor_walk at = {.floor = s->floor, .allocs = a}; mv_floor_next(&at);) {
        uint32_t end;

        if (!is_wanted(a, at.row, size, count))
            continue;
        end = mv_floor_bin(s->floor, a->freed[at.row]);
        s->changes[s->count++] = (change){a->block[at.row], at.from, 1, at.from};
        s->changes[s->count++] = (change){a->block[at.row], end, -1, -(double)end};
    }
    mv_sort_rows(scratch, s->changes, s->count, MV_RISING(change, size), MV_RISING(change, bin));
    for (uint32_t i = 1; i < s->count; i++)
        if (s->changes[i].size == s->changes[i - 1].size) {
            s->changes[i].blocks += s->changes[i - 1].blocks;
            s->changes[i].weighted += s->changes[i - 1].weighted;
        }
    return true;
}

/* Returns the bytes of one size's blocks, summed over the floors of all bins before `end`. */
static double held_before(const sizes *s, uint64_t size, uint32_t end)
{
    mv_bisect b = mv_bisect_over(0, s->count);
    const change *last;

    while (mv_bisect_next(&b)) {
        const change *c = &s->changes[b.middle];
        mv_bisect_narrow(&b, c->size < size || (c->size == size && c->bin < end));
    }
    last = b.low > 0 ? &s->changes[b.low - 1] : NULL;
    if (!last || last->size != size)
        return 0;
    return (double)size * ((double)last->blocks * end - last->weighted);
}

/* Fills q->sum with all blocks of the sizes that occur in kept[from] to kept[to - 1], which are
 * sorted by size. */
static void add_sizes(const sizes *s, const mv_kept_block *kept, uint32_t from, uint32_t to,
                      quarters *q)
{
    for (uint32_t i = from; i < to; i++) {
        if (i > from && kept[i].size == kept[i - 1].size)
            continue;
        for (uint32_t k = 0; k + 1 < CUTS; k++)
            q->sum[k] += held_before(s, kept[i].size, q->cut[k + 1]) -
                         held_before(s, kept[i].size, q->cut[k]);
    }
}

/* ---- by site ----------------------------------------------------------------------------- */

/* Computes the bytes of all blocks of each site in the site's own quarters, [sites->count]; they
 * are empty for sites without kept blocks. `kept_sums` receives the bytes of the kept blocks
 * only. */
static bool add_sites(mv_arena *scratch, const mv_lives *lives, const mv_sites *sites,
                      const mv_floor *floor, const mv_kept_block *kept, uint32_t count,
                      uint32_t first, quarters **held_sums, quarters **kept_sums)
{
    quarters *held = mv_push_array(scratch, quarters, sites->count);
    quarters *of_kept = mv_push_array(scratch, quarters, sites->count);
    uint32_t end = floor->bins - 1;

    if (!held || !of_kept)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        quarters *q = &held[kept[i].site];

        if (kept[i].bin >= first && kept[i].bin < end &&
            (q->cut[CUTS - 1] == 0 || kept[i].bin < q->cut[0]))
            *q = quarters_of(kept[i].bin, end);
    }
    for (uint32_t s = 0; s < sites->count; s++)
        of_kept[s] = held[s];
    for (uint32_t i = 0; i < count; i++)
        add_block(&of_kept[kept[i].site], floor, &lives->allocs, kept[i].row);
    for (mv_floor_walk at = {.floor = floor, .allocs = &lives->allocs}; mv_floor_next(&at);) {
        quarters *q = &held[mv_site_of(sites, lives->allocs.stack[at.row])];

        if (q->cut[CUTS - 1] > 0)
            add_block(q, floor, &lives->allocs, at.row);
    }
    *held_sums = held;
    *kept_sums = of_kept;
    return true;
}

bool mv_net_growth(mv_arena *scratch, const mv_lives *lives, const mv_sites *sites,
                   const mv_floor *floor, mv_kept_block *kept, uint32_t count, uint32_t first,
                   uint8_t *grows)
{
    sizes s = {.lives = lives, .floor = floor};
    quarters *held, *of_kept;
    uint32_t found;
    uint64_t *size = list_sizes(scratch, kept, count, &found);

    if (!size || !list_changes(scratch, &s, size, found) ||
        !add_sites(scratch, lives, sites, floor, kept, count, first, &held, &of_kept))
        return false;
    mv_sort_rows(scratch, kept, count, MV_RISING(mv_kept_block, site),
                 MV_RISING(mv_kept_block, size));
    for (uint32_t i = 0, end; i < count; i = end) {
        const quarters *own = &held[kept[i].site], *k = &of_kept[kept[i].site];
        quarters of_sizes;

        for (end = i + 1; end < count && kept[end].site == kept[i].site;)
            end++;
        if (own->cut[CUTS - 1] < own->cut[0] + CUTS - 2) /* a quarter would have no bin */
            continue;
        of_sizes = quarters_of(own->cut[0], own->cut[CUTS - 1]);
        add_sizes(&s, kept, i, end, &of_sizes);
        if (is_given_back(k, &of_sizes, 2, 3) && is_given_back(k, &of_sizes, 0, 2))
            grows[kept[i].site] = MV_NET_NONE;
        else if (is_given_back(k, own, 2, 3) || is_full(own))
            grows[kept[i].site] = may_be_chance(k, own) ? MV_NET_UNSURE : MV_NET_NONE;
    }
    return true;
}
