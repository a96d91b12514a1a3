#include "analyze/leaks/net_growth.h"

#include "base/search.h"
#include "base/sort.h"

/* Bins that a block must live to count. Blocks that live shorter pass through the steps. */
#define BINS_OF_AGE 3

/* Old blocks of one size: how many were born in a bin, less how many were freed in it. */
typedef struct {
    uint64_t size;
    uint32_t bin;
    int32_t net;
} change;

/* The sizes of the kept blocks, ascending, each once. */
static uint64_t *sizes_of(mv_arena *scratch, const mv_kept_block *kept, uint32_t count,
                          uint32_t *sizes)
{
    uint64_t *size = mv_push_array(scratch, uint64_t, count);

    *sizes = 0;
    if (!size)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        size[i] = kept[i].size;
    mv_sort_rows(scratch, size, count, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || size[i] != size[*sizes - 1])
            size[(*sizes)++] = size[i];
    return size;
}

/* Whether a block lived for long. A block that is alive at the end may. */
static bool is_old(const mv_alloc_lives *a, const mv_steps *steps, uint32_t row)
{
    if (a->freed[row] == MV_NEVER || a->birth[row] == MV_BEFORE)
        return true;
    return mv_steps_bin(steps, a->freed[row]) >= mv_steps_bin(steps, a->birth[row]) + BINS_OF_AGE;
}

static bool is_wanted(const mv_alloc_lives *a, uint32_t row, const uint64_t *size, uint32_t sizes)
{
    uint64_t at = mv_lower_bound_u64(size, sizes, a->block[row]);

    return at < sizes && size[at] == a->block[row];
}

/* Births and frees of old blocks of the given sizes, added up by size and bin. */
static change *changes_of(mv_arena *scratch, const mv_lives *lives, const mv_steps *steps,
                          const uint64_t *size, uint32_t sizes, uint32_t *count)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint64_t most = 0;
    uint32_t n = 0;
    change *list;

    for (uint32_t i = 0; i < a->count; i++)
        most += is_wanted(a, i, size, sizes) && is_old(a, steps, i) ? 2 : 0;
    list = mv_push_array(scratch, change, most);
    *count = 0;
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!is_wanted(a, i, size, sizes) || !is_old(a, steps, i))
            continue;
        if (a->birth[i] != MV_BEFORE)
            list[n++] = (change){a->block[i], mv_steps_bin(steps, a->birth[i]), 1};
        if (a->freed[i] != MV_NEVER)
            list[n++] = (change){a->block[i], mv_steps_bin(steps, a->freed[i]), -1};
    }
    mv_sort_rows(scratch, list, n, MV_RISING(change, size), MV_RISING(change, bin));
    for (uint32_t i = 0; i < n; i++) {
        if (*count > 0 && list[*count - 1].size == list[i].size &&
            list[*count - 1].bin == list[i].bin)
            list[*count - 1].net += list[i].net;
        else
            list[(*count)++] = list[i];
    }
    return list;
}

static int32_t net_of(const change *list, uint32_t count, uint64_t size, uint32_t bin)
{
    mv_bisect b = mv_bisect_over(0, count);

    while (mv_bisect_next(&b)) {
        const change *c = &list[b.middle];
        mv_bisect_tell(&b, c->size < size || (c->size == size && c->bin < bin));
    }
    return b.low < count && list[b.low].size == size && list[b.low].bin == bin ? list[b.low].net
                                                                               : 0;
}

/* kept[from] to kept[to - 1] are blocks of one site and bin. Whether less than half of their bytes
 * is left once old blocks of the same sizes that were freed in that bin are taken off. */
static bool is_given_back(const mv_kept_block *kept, uint32_t from, uint32_t to, const change *list,
                          uint32_t count)
{
    uint64_t bytes = 0, left = 0;

    for (uint32_t i = from, end; i < to; i = end) {
        int32_t net = net_of(list, count, kept[i].size, kept[i].bin);

        for (end = i + 1; end < to && kept[end].size == kept[i].size;)
            end++;
        bytes += (end - i) * kept[i].size;
        if (net > 0)
            left += ((uint32_t)net < end - i ? (uint32_t)net : end - i) * kept[i].size;
    }
    return 2 * left < bytes;
}

bool mv_net_growth(mv_arena *scratch, const mv_lives *lives, const mv_steps *steps,
                   mv_kept_block *kept, uint32_t count, uint32_t first, uint8_t *grows,
                   uint32_t sites)
{
    uint32_t sizes, changes;
    uint64_t *size = sizes_of(scratch, kept, count, &sizes);
    change *list = size ? changes_of(scratch, lives, steps, size, sizes, &changes) : NULL;
    uint32_t *bins = mv_push_array(scratch, uint32_t, sites);
    uint32_t *back = mv_push_array(scratch, uint32_t, sites);

    if (!list || !bins || !back)
        return false;
    mv_sort_rows(scratch, kept, count, MV_RISING(mv_kept_block, site),
                 MV_RISING(mv_kept_block, bin), MV_RISING(mv_kept_block, size));
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && kept[end].site == kept[i].site && kept[end].bin == kept[i].bin;)
            end++;
        if (kept[i].bin < first || kept[i].bin >= steps->count)
            continue;
        bins[kept[i].site]++;
        back[kept[i].site] += is_given_back(kept, i, end, list, changes);
    }
    for (uint32_t s = 0; s < sites; s++)
        if (2 * back[s] > bins[s])
            grows[s] = 0;
    return true;
}
