#include "analyze/replay/gaps.h"

#include "base/grow.h"

void mv_gaps_init(mv_gaps *gaps, mv_arena *arena)
{
    *gaps = (mv_gaps){.arena = arena, .root = MV_NO_GAP, .spare = MV_NO_GAP};
}

static uint64_t most_of(const mv_gaps *gaps, uint32_t row)
{
    return row == MV_NO_GAP ? 0 : gaps->gaps[row].most;
}

static void refresh(mv_gaps *gaps, uint32_t row)
{
    mv_gap *g = &gaps->gaps[row];
    uint64_t left = most_of(gaps, g->left), right = most_of(gaps, g->right);

    g->most = g->size;
    g->most = left > g->most ? left : g->most;
    g->most = right > g->most ? right : g->most;
}

/* Splits a tree into *low, which contains the nodes below `addr`, and *high, which contains the
 * other nodes. Recursion is as deep as the tree, which is balanced. */
static void split(mv_gaps *gaps, uint32_t row, uint64_t addr, uint32_t *low, uint32_t *high)
{
    if (row == MV_NO_GAP) {
        *low = *high = MV_NO_GAP;
    } else if (gaps->gaps[row].addr < addr) {
        split(gaps, gaps->gaps[row].right, addr, &gaps->gaps[row].right, high);
        refresh(gaps, row);
        *low = row;
    } else {
        split(gaps, gaps->gaps[row].left, addr, low, &gaps->gaps[row].left);
        refresh(gaps, row);
        *high = row;
    }
}

static uint32_t join(mv_gaps *gaps, uint32_t low, uint32_t high)
{
    if (low == MV_NO_GAP || high == MV_NO_GAP)
        return low == MV_NO_GAP ? high : low;
    if (mv_treap_priority(low) >= mv_treap_priority(high)) {
        gaps->gaps[low].right = join(gaps, gaps->gaps[low].right, high);
        refresh(gaps, low);
        return low;
    }
    gaps->gaps[high].left = join(gaps, low, gaps->gaps[high].left);
    refresh(gaps, high);
    return high;
}

static uint32_t new_row(mv_gaps *gaps)
{
    uint32_t row = gaps->spare;

    if (row != MV_NO_GAP) {
        gaps->spare = gaps->gaps[row].right;
        return row;
    }
    if (!mv_room(gaps->arena, gaps->gaps, gaps->count, gaps->capacity))
        return MV_NO_GAP;
    return gaps->count++;
}

bool mv_gaps_add(mv_gaps *gaps, uint64_t addr, uint64_t size, uint32_t owner)
{
    uint32_t row = new_row(gaps), low, high;

    if (row == MV_NO_GAP)
        return false;
    gaps->gaps[row] = (mv_gap){addr, size, size, owner, MV_NO_GAP, MV_NO_GAP};
    split(gaps, gaps->root, addr, &low, &high);
    gaps->root = join(gaps, join(gaps, low, row), high);
    return true;
}

void mv_gaps_drop(mv_gaps *gaps, uint32_t gap)
{
    uint64_t addr = gaps->gaps[gap].addr;
    uint32_t low, high, here;

    split(gaps, gaps->root, addr, &low, &high);
    split(gaps, high, addr + 1, &here, &high);
    gaps->root = join(gaps, low, high);
    gaps->gaps[gap].right = gaps->spare;
    gaps->spare = gap;
}

static uint32_t find_room(const mv_gaps *gaps, uint64_t size, bool is_lowest)
{
    uint32_t row = gaps->root;

    while (most_of(gaps, row) >= size && row != MV_NO_GAP) {
        const mv_gap *g = &gaps->gaps[row];
        uint32_t first = is_lowest ? g->left : g->right;
        if (first != MV_NO_GAP && most_of(gaps, first) >= size)
            row = first;
        else if (g->size >= size)
            return row;
        else
            row = is_lowest ? g->right : g->left;
    }
    return MV_NO_GAP;
}

uint32_t mv_gaps_lowest(const mv_gaps *gaps, uint64_t size)
{
    return find_room(gaps, size, true);
}

uint32_t mv_gaps_highest(const mv_gaps *gaps, uint64_t size)
{
    return find_room(gaps, size, false);
}

/* Returns a neighbour of an address: the last gap that starts below it or, if `is_below` is false,
 * the first gap that starts at or above it. */
static uint32_t neighbor(const mv_gaps *gaps, uint64_t addr, bool is_below)
{
    uint32_t row = gaps->root, found = MV_NO_GAP;

    while (row != MV_NO_GAP) {
        const mv_gap *g = &gaps->gaps[row];
        found = (g->addr < addr) == is_below ? row : found;
        row = g->addr < addr ? g->right : g->left;
    }
    return found;
}

uint32_t mv_gaps_before(const mv_gaps *gaps, uint64_t addr)
{
    return neighbor(gaps, addr, true);
}

uint32_t mv_gaps_at(const mv_gaps *gaps, uint64_t addr)
{
    return neighbor(gaps, addr, false);
}

void mv_gaps_join(mv_gaps *gaps, uint64_t *addr, uint64_t *size, uint32_t owner)
{
    uint32_t row = mv_gaps_before(gaps, *addr);
    mv_gap gap = row == MV_NO_GAP ? (mv_gap){0} : gaps->gaps[row];

    if (row != MV_NO_GAP && gap.owner == owner && gap.addr + gap.size == *addr) {
        *addr = gap.addr;
        *size += gap.size;
        mv_gaps_drop(gaps, row);
    }
    row = mv_gaps_at(gaps, *addr);
    gap = row == MV_NO_GAP ? (mv_gap){0} : gaps->gaps[row];
    if (row != MV_NO_GAP && gap.owner == owner && gap.addr == *addr + *size) {
        *size += gap.size;
        mv_gaps_drop(gaps, row);
    }
}
