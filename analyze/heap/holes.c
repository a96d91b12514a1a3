#include "analyze/heap/holes.h"

/* ---- the tree ---------------------------------------------------------------------------- */

static bool init_tree(mv_arena *arena, uint32_t count, mv_maxtree *tree)
{
    *tree = (mv_maxtree){.leaves = 1};
    while (tree->leaves < count && tree->leaves <= UINT32_MAX / 4)
        tree->leaves *= 2;
    tree->node = mv_push_array(arena, uint64_t, 2 * (uint64_t)tree->leaves);
    return tree->node && tree->leaves >= count;
}

/* Changes a number. O(log count), or less if the maxima in the nodes above stay the same. */
static void set_number(mv_maxtree *tree, uint32_t at, uint64_t value)
{
    uint32_t i = tree->leaves + at;

    tree->node[i] = value;
    while (i > 1) {
        uint64_t beside = tree->node[i ^ 1], most = tree->node[i] > beside ? tree->node[i] : beside;
        i /= 2;
        if (tree->node[i] == most)
            return;
        tree->node[i] = most;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the largest of the numbers [first, end); 0 if the range is empty. */
static uint64_t largest_in(const mv_maxtree *tree, uint32_t first, uint32_t end)
{
    uint32_t low = tree->leaves + first, high = tree->leaves + end;
    uint64_t most = 0;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = larger(most, tree->node[low++]);
        if (high & 1)
            most = larger(most, tree->node[--high]);
    }
    return most;
}

static uint64_t number_at(const mv_maxtree *tree, uint32_t at)
{
    return tree->node[tree->leaves + at];
}

/* ---- holes ------------------------------------------------------------------------------- */

/* Sorts the segments, so that by_segment contains the segments of each domain next to each
 * other. */
static bool order_segments(mv_arena *arena, mv_holes *h)
{
    uint32_t segments = h->lives->segments.count, domains = h->domains->count;
    uint32_t *next = mv_push_array(arena, uint32_t, (uint64_t)domains + 1);

    h->order = mv_push_array(arena, uint32_t, segments);
    h->first = mv_push_array(arena, uint32_t, (uint64_t)domains + 1);
    if (!next || !h->order || !h->first)
        return false;
    for (uint32_t i = 0; i < segments; i++)
        h->first[h->domains->of_segment[i] + 1]++;
    for (uint32_t d = 0; d < domains; d++)
        next[d + 1] = h->first[d + 1] += h->first[d];
    for (uint32_t i = 0; i < segments; i++)
        h->order[i] = next[h->domains->of_segment[i]]++;
    return true;
}

bool mv_holes_init(mv_arena *arena, const mv_lives *lives, const mv_address_ranks *ranks,
                   const mv_domains *domains, mv_holes *out)
{
    *out = (mv_holes){.lives = lives, .ranks = ranks, .domains = domains};
    out->used_end = mv_push_array(arena, uint64_t, ranks->count);
    out->used_row = mv_push_array(arena, uint32_t, ranks->count);
    out->free = mv_push_array(arena, uint64_t, domains->count);
    return out->used_end && out->used_row && out->free && order_segments(arena, out) &&
           mv_ranges_init(arena, ranks->count, &out->held) &&
           mv_rankset_init(arena, ranks->count, &out->walls) &&
           mv_rankset_init(arena, ranks->count, &out->ends) &&
           mv_rankset_init(arena, ranks->count, &out->used) &&
           init_tree(arena, ranks->count, &out->by_rank) &&
           init_tree(arena, lives->segments.count, &out->by_segment);
}

/* ---- sizes of holes ---------------------------------------------------------------------- */

static void set_largest(mv_holes *h, uint32_t start, uint64_t old, uint64_t size)
{
    uint32_t leaf = h->order[h->held.row[start]];
    uint64_t most = number_at(&h->by_segment, leaf);

    if (size >= most)
        set_number(&h->by_segment, leaf, size);
    else if (old == most)
        set_number(&h->by_segment, leaf, largest_in(&h->by_rank, start, h->held.end[start]));
}

/* Returns the row of a size in a domain; MV_NO_GAP: no hole has this size. */
static uint32_t row_of_size(const mv_gaps *sizes, uint64_t size)
{
    uint32_t row = mv_gaps_at(sizes, size);

    return row != MV_NO_GAP && sizes->gaps[row].addr == size ? row : MV_NO_GAP;
}

static void order_size(mv_holes *h, uint32_t domain, uint64_t old, uint64_t size)
{
    mv_gaps *sizes = &h->by_size[domain];
    uint32_t row = old ? row_of_size(sizes, old) : MV_NO_GAP;

    if (row != MV_NO_GAP && --sizes->gaps[row].owner == 0)
        mv_gaps_drop(sizes, row);
    row = size ? row_of_size(sizes, size) : MV_NO_GAP;
    if (row != MV_NO_GAP)
        sizes->gaps[row].owner++;
    else if (size && !mv_gaps_add(sizes, size, size, 1))
        h->is_missing_sizes = true;
}

bool mv_holes_order_sizes(mv_arena *arena, mv_holes *holes)
{
    holes->by_size = mv_push_array(arena, mv_gaps, holes->domains->count);
    for (uint32_t d = 0; holes->by_size && d < holes->domains->count; d++)
        mv_gaps_init(&holes->by_size[d], arena);
    for (uint32_t rank = 0; holes->by_size && rank < holes->ranks->count; rank++) {
        uint64_t size = number_at(&holes->by_rank, rank);
        uint32_t start = size ? mv_ranges_at(&holes->held, rank) : MV_NO_RANK;
        if (start != MV_NO_RANK)
            order_size(holes, holes->domains->of_segment[holes->held.row[start]], 0, size);
    }
    return holes->by_size && !holes->is_missing_sizes;
}

static void set_hole(mv_holes *h, uint32_t rank, uint64_t size)
{
    uint64_t old = number_at(&h->by_rank, rank);
    uint32_t start, domain;

    if (old == size)
        return;
    start = mv_ranges_at(&h->held, rank);
    set_number(&h->by_rank, rank, size);
    if (start == MV_NO_RANK)
        return;
    domain = h->domains->of_segment[h->held.row[start]];
    if (h->by_size)
        order_size(h, domain, old, size);
    h->free[domain] += size - old;
    h->free_all += size - old;
    set_largest(h, start, old, size);
}

/* Measures the hole after the block or run that starts at `rank`, if there is such a hole. */
static void measure(mv_holes *h, uint32_t rank)
{
    bool is_used = mv_rankset_has(&h->used, rank);
    uint64_t from = is_used ? h->used_end[rank] : h->ranks->addr[rank], limit;
    uint32_t next, end;

    if ((!is_used && !mv_rankset_has(&h->walls, rank)) ||
        mv_ranges_at(&h->held, rank) == MV_NO_RANK) {
        set_hole(h, rank, 0);
        return;
    }
    next = mv_rankset_next(&h->used, rank + 1);
    end = mv_rankset_next(&h->ends, rank + 1);
    limit = h->ranks->addr[next < end ? next : end];
    set_hole(h, rank, from < limit ? limit - from : 0);
}

/* Returns the nearest start of a block or run at or below `rank`. */
static uint32_t start_of(const mv_holes *h, uint32_t rank)
{
    uint32_t used = mv_rankset_prev(&h->used, rank), wall = mv_rankset_prev(&h->walls, rank);

    return used == MV_NO_RANK || (wall != MV_NO_RANK && wall > used) ? wall : used;
}

/* Measures the hole that ends at `rank`, if there is such a hole. */
static void measure_below(mv_holes *h, uint32_t rank)
{
    uint32_t start;

    if (rank == 0)
        return;
    start = start_of(h, rank - 1);
    if (start != MV_NO_RANK)
        measure(h, start);
}

/* ---- changes ----------------------------------------------------------------------------- */

static bool is_joined(const mv_holes *h, uint32_t low, uint32_t high)
{
    uint32_t a = h->held.row[low], b = h->held.row[high];
    const mv_segment_lives *s = &h->lives->segments;

    return s->is_expandable[a] && s->is_expandable[b] &&
           h->domains->of_segment[a] == h->domains->of_segment[b];
}

void mv_holes_hold(mv_holes *holes, uint32_t segment)
{
    const mv_segment_lives *s = &holes->lives->segments;
    uint32_t low = mv_address_rank(holes->ranks, s->addr[segment]);
    uint32_t high = mv_address_rank(holes->ranks, mv_range_end(s->addr[segment], s->size[segment]));
    uint32_t below = mv_ranges_below(&holes->held, low);

    if (low >= high || high >= holes->ranks->count)
        return;
    mv_ranges_add(&holes->held, low, high, segment);
    if (below != MV_NO_RANK && is_joined(holes, below, low))
        mv_rankset_drop(&holes->ends, low);
    else
        mv_rankset_add(&holes->walls, low);
    if (mv_rankset_has(&holes->held.starts, high) && is_joined(holes, low, high))
        mv_rankset_drop(&holes->walls, high);
    else
        mv_rankset_add(&holes->ends, high);
    measure(holes, high);
    measure(holes, low);
    measure_below(holes, low);
    measure_below(holes, high);
}

void mv_holes_unhold(mv_holes *holes, uint32_t segment)
{
    uint32_t low = mv_address_rank(holes->ranks, holes->lives->segments.addr[segment]), high;
    uint32_t below = mv_ranges_below(&holes->held, low);

    if (low >= holes->ranks->count || !mv_rankset_has(&holes->held.starts, low) ||
        holes->held.row[low] != segment)
        return;
    high = holes->held.end[low];
    for (uint32_t at = mv_rankset_next(&holes->used, low); at < high;
         at = mv_rankset_next(&holes->used, at + 1))
        set_hole(holes, at, 0);
    set_hole(holes, low, 0);
    mv_rankset_drop(&holes->held.starts, low);
    if (mv_rankset_has(&holes->walls, low))
        mv_rankset_drop(&holes->walls, low);
    else if (below != MV_NO_RANK)
        mv_rankset_add(&holes->ends, low);
    if (mv_rankset_has(&holes->ends, high))
        mv_rankset_drop(&holes->ends, high);
    else
        mv_rankset_add(&holes->walls, high);
    measure(holes, high);
    measure_below(holes, low);
}

void mv_holes_fill(mv_holes *holes, uint32_t rank, uint32_t row)
{
    const mv_alloc_lives *a = &holes->lives->allocs;

    mv_rankset_add(&holes->used, rank);
    holes->used_end[rank] = mv_range_end(a->addr[row], a->block[row]);
    holes->used_row[rank] = row;
    measure_below(holes, rank);
    measure(holes, rank);
}

void mv_holes_clear(mv_holes *holes, uint32_t rank, uint32_t row)
{
    if (rank >= holes->ranks->count || !mv_rankset_has(&holes->used, rank) ||
        holes->used_row[rank] != row)
        return;
    mv_rankset_drop(&holes->used, rank);
    measure(holes, rank);
    measure_below(holes, rank);
}

uint64_t mv_holes_largest(const mv_holes *holes, mv_domain_span span)
{
    return largest_in(&holes->by_segment, holes->first[span.first], holes->first[span.end]);
}

uint64_t mv_holes_least(const mv_holes *holes, uint32_t domain, uint64_t bytes)
{
    const mv_gaps *sizes = &holes->by_size[domain];
    uint32_t row = mv_gaps_at(sizes, bytes);

    return row == MV_NO_GAP ? 0 : sizes->gaps[row].addr;
}

uint64_t mv_holes_around(const mv_holes *holes, uint32_t rank)
{
    uint32_t start = start_of(holes, rank);

    if (start == MV_NO_RANK || mv_ranges_at(&holes->held, rank) == MV_NO_RANK ||
        (mv_rankset_has(&holes->used, start) && holes->used_end[start] > holes->ranks->addr[rank]))
        return 0;
    return number_at(&holes->by_rank, start);
}
