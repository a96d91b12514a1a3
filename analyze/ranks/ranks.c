#include "analyze/ranks/ranks.h"

#include "analyze/ranks/batch_factor.h"
#include "analyze/ranks/rank_words.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/names.h"
#include "base/sort.h"

/* A peak that differs from the reference by at most this fraction counts as equal. */
#define SAME_PART 50 /* a fiftieth: 2 % */
/* A peak that is at most this many median distances from the median also counts as equal. */
#define USUAL_SPREAD 6
/* Maximum number of ranks that are tried as leader if no sequence is that of more than half of the
 * ranks. This limits the cost; smaller groups are searched completely. */
#define LEADERS 64

/* The sites that only one rank has, or that only one rank does not have. */
typedef struct {
    uint64_t bytes;
    const mv_summary_site *site; /* the largest of them; NULL: there are none */
    uint32_t in;                 /* a rank that has this site */
    uint64_t part;               /* part of `bytes` on the line of this site */
} odd_sites;

/* One group of ranks. The ranks are numbered within the group. */
typedef struct {
    mv_arena *scratch;
    const mv_summary *const *ranks;
    uint32_t count;
    const uint32_t *row; /* [count] rows of the group's ranks among all ranks */
    mv_ranks *out;
    mv_rank_group *group;
    uint32_t reference, most, first; /* as in mv_rank_group, but numbered within the group */
    uint32_t failing;                /* number of ranks of the group that ran out of memory */
    uint32_t all, all_failing;       /* number of all ranks, and how many of them ran out of
                                      * memory */
    uint32_t length;                 /* number of ranks in a stage */
    uint64_t off, reserved_off;      /* differences up to these values are ignored */
    uint64_t reserved;               /* median of reserved bytes */
    odd_sites *own, *missing;        /* [count] sites that only this rank has, and sites that only
                                      * this rank does not have */
    bool *unplaced;                  /* [count] most of the rank's bytes have no stack, so its
                                      * sites are ignored */
    bool has_order; /* more than half of the ranks allocate at the same sites as `most`, and in
                     * the same order */
} comparison;

MV_NAMES(mv_rank_reason_name, mv_rank_reason, MV_RANK_REASON_LIST, MV_SECOND, "")

MV_NAMES(mv_rank_reason_text, mv_rank_reason, MV_RANK_REASON_LIST, MV_THIRD, "")

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

/* ---- the reference ----------------------------------------------------------------------- */

typedef uint64_t measure_fn(const mv_summary *summary);

static uint64_t peak_allocated(const mv_summary *summary)
{
    return summary->peak_allocated;
}

static uint64_t peak_reserved(const mv_summary *summary)
{
    return summary->peak_reserved;
}

/* Returns the rank with the (lower) median. *off is set to the distance from the median above which
 * a value is an outlier. */
static uint32_t find_median(const comparison *c, measure_fn *measure, mv_key_row *room,
                            uint64_t *off)
{
    uint64_t median, spread;
    uint32_t rank;

    for (uint32_t i = 0; i < c->count; i++)
        room[i] = (mv_key_row){measure(c->ranks[i]), i};
    mv_sort_rows(c->scratch, room, c->count, MV_RISING(mv_key_row, key));
    rank = room[(c->count - 1) / 2].row;
    median = measure(c->ranks[rank]);
    for (uint32_t i = 0; i < c->count; i++)
        room[i] = (mv_key_row){distance(measure(c->ranks[i]), median), i};
    mv_sort_rows(c->scratch, room, c->count, MV_RISING(mv_key_row, key));
    /* if there are two values, one of them is the median, so the spread is unknown */
    spread = c->count > 2 ? room[c->count / 2].key : 0;
    *off = median / SAME_PART;
    if (spread > UINT64_MAX / USUAL_SPREAD || spread * USUAL_SPREAD > *off)
        *off = spread > UINT64_MAX / USUAL_SPREAD ? UINT64_MAX : spread * USUAL_SPREAD;
    return rank;
}

/* ---- sites that only one rank has, or only one rank does not have ------------------------ */

/* A site, and the ranks that have it. */
typedef struct {
    uint64_t key;
    uint32_t ranks;
    uint64_t sum; /* sum of the numbers of these ranks */
    uint32_t least_in;
    const mv_summary_site *least; /* the rank's site with the fewest bytes; if several have
                                   * equally few, that of the first rank */
} shared_site;

typedef struct {
    mv_map rows; /* row of `site`, by key */
    uint32_t count, capacity;
    shared_site *site;
} shared_sites;

static bool has_place(const mv_summary_site *site)
{
    return site->stack.row != MV_NO_STACK.row;
}

static bool is_unplaced(const mv_summary *rank)
{
    uint64_t without = 0, with = 0;

    for (uint32_t i = 0; i < rank->sites; i++)
        *(has_place(&rank->site[i]) ? &with : &without) += rank->site[i].peak_bytes;
    return without > with;
}

/* Returns the number of ranks whose sites are known. */
static uint32_t placed_ranks(const comparison *c)
{
    return c->count - c->group->unplaced;
}

static bool is_missing_once(const comparison *c, const shared_site *site)
{
    return site->ranks > 1 && site->ranks == placed_ranks(c) - 1;
}

/* Returns the only rank, among those whose sites are known, that does not have a site. */
static uint32_t absent_rank(const comparison *c, const shared_site *site)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->count; i++)
        sum += c->unplaced[i] ? 0 : i;
    return (uint32_t)(sum - site->sum);
}

/* Returns the sites of one rank to which a site belongs, or NULL. */
static odd_sites *odd_sites_of(const comparison *c, const shared_site *site)
{
    if (site->ranks == 1)
        return &c->own[site->least_in];
    return is_missing_once(c, site) ? &c->missing[absent_rank(c, site)] : NULL;
}

static void take_bytes(const comparison *c, const shared_site *site)
{
    odd_sites *odd = odd_sites_of(c, site);

    if (!odd)
        return;
    odd->bytes += site->least->peak_bytes;
    if (!odd->site || site->least->peak_bytes > odd->site->peak_bytes) {
        odd->site = site->least;
        odd->in = site->least_in;
    }
}

static bool has_culprit_of(const comparison *c, uint32_t rank, mv_stack_id stack, mv_stack_id of)
{
    const mv_trace *code = c->ranks[rank]->code;
    return mv_culprit_frame(code, NULL, stack).row == mv_culprit_frame(code, NULL, of).row;
}

/* Adds the bytes at the line with the most extra or missing bytes of a rank, regardless of the
 * callers. Called when this line is known. */
static void take_part(const comparison *c, const shared_site *site)
{
    odd_sites *odd = odd_sites_of(c, site);

    if (odd && has_culprit_of(c, odd->in, mv_summary_find(c->ranks[odd->in], site->key)->stack,
                              odd->site->stack))
        odd->part += site->least->peak_bytes;
}

static bool add_sites(comparison *c, shared_sites *all, uint32_t rank)
{
    for (uint32_t i = 0; i < c->ranks[rank]->sites; i++) {
        const mv_summary_site *site = &c->ranks[rank]->site[i];
        shared_site *shared;
        uint32_t *row; /* row plus 1 */
        if (!has_place(site))
            continue;
        row = mv_map_value(&all->rows, site->key);
        if (!row || (*row == 0 && !mv_append(c->scratch, all->site, all->count, all->capacity,
                                             (shared_site){site->key, 0, 0, rank, site})))
            return false;
        if (*row == 0)
            *row = all->count;
        shared = &all->site[*row - 1];
        shared->ranks++;
        shared->sum += rank;
        if (site->peak_bytes < shared->least->peak_bytes) {
            shared->least = site;
            shared->least_in = rank;
        }
    }
    return true;
}

static void find_unplaced(comparison *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        c->unplaced[i] = is_unplaced(c->ranks[i]);
        c->group->unplaced += c->unplaced[i];
    }
}

/* Finds sites that only one rank has, or that only one rank is missing. If there are two ranks, a
 * site that only one of them has is missing from the other, and counts as an extra site. Summaries
 * that left out sites cannot show missing sites, and summaries without stacks are skipped. */
static bool find_own_sites(comparison *c)
{
    shared_sites all = {.rows.arena = c->scratch};

    c->own = mv_push_array(c->scratch, odd_sites, c->count);
    c->missing = mv_push_array(c->scratch, odd_sites, c->count);
    c->unplaced = mv_push_array(c->scratch, bool, c->count);
    if (!c->own || !c->missing || !c->unplaced)
        return false;
    find_unplaced(c);
    for (uint32_t i = 0; i < c->count && placed_ranks(c) > 1; i++) {
        if (c->unplaced[i])
            continue;
        if (c->ranks[i]->is_cut)
            return true;
        if (!add_sites(c, &all, i))
            return false;
    }
    for (uint32_t i = 0; i < all.count; i++)
        take_bytes(c, &all.site[i]);
    for (uint32_t i = 0; i < all.count; i++)
        take_part(c, &all.site[i]);
    return true;
}

/* ---- outliers ---------------------------------------------------------------------------- */

static void add_outlier(comparison *c, mv_rank_outlier outlier)
{
    outlier.rank = c->row[outlier.rank];
    outlier.code_of = c->row[outlier.code_of];
    c->out->outliers[c->out->count++] = outlier;
}

/* Returns the stack of the site that differs the most from the reference in the given direction. A
 * site with frames is preferred if its difference is at least half as large. */
static mv_stack_id largest_change(const comparison *c, uint32_t rank, bool larger)
{
    const mv_summary *own = c->ranks[rank], *other = c->ranks[c->reference];
    mv_stack_id stack[2] = {MV_NO_STACK, MV_NO_STACK};
    uint64_t most[2] = {0, 0};

    for (uint32_t i = 0; i < own->sites; i++) {
        const mv_summary_site *site = &own->site[i], *there = mv_summary_find(other, site->key);
        uint64_t bytes = there ? there->peak_bytes : 0;
        bool has_frames =
            site->stack.row != MV_NO_STACK.row && site->stack.row != MV_EMPTY_STACK.row;
        if ((site->peak_bytes > bytes) != larger ||
            distance(site->peak_bytes, bytes) <= most[has_frames])
            continue;
        most[has_frames] = distance(site->peak_bytes, bytes);
        stack[has_frames] = site->stack;
    }
    return stack[most[1] >= most[0] / 2];
}

/* Whether a leak or a failed request is rare, which means that at most half of the ranks have one.
 * The ranks of the group count or, if the group is a single rank, all ranks. */
static bool is_rare(const comparison *c, uint32_t in_group, uint32_t in_all)
{
    return c->count > 1 ? 2 * in_group <= c->count : 2 * in_all <= c->all;
}

/* Makes an outlier whose bytes are not those of one line. */
static mv_rank_outlier outlier_of(uint32_t rank, mv_rank_reason reason, uint64_t bytes,
                                  mv_stack_id stack)
{
    return (mv_rank_outlier){.rank = rank,
                             .reason = reason,
                             .bytes = bytes,
                             .code_of = rank,
                             .stack = stack,
                             .at_stack = MV_NO_BYTES};
}

static void evaluate_leak(comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank];

    if (own->verdict == MV_VERDICT_LEAK && is_rare(c, c->group->leaks, c->out->leaks))
        add_outlier(c, outlier_of(rank, MV_RANK_LEAK, own->leaked_bytes, own->leak_stack));
}

static void evaluate_oom(comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank];

    if (own->ooms > 0 && is_rare(c, c->failing, c->all_failing))
        add_outlier(c, outlier_of(rank, MV_RANK_OOM, own->peak_allocated, MV_NO_STACK));
}

/* Whether a rank did the same as the reference until one of them ended, and the longer one had the
 * higher peak. Then the recordings differ only in length. */
static bool is_other_length(const comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank], *other = c->ranks[c->reference];

    return mv_sequence_is_whole(own) && mv_sequence_is_whole(other) &&
           own->allocs != other->allocs &&
           (own->allocs > other->allocs) == (own->peak_allocated > other->peak_allocated) &&
           mv_sequences_compare(own, other, false).first == MV_NO_DIVERGENCE;
}

static void take_sites(mv_rank_outlier *o, mv_rank_reason reason, const odd_sites *odd)
{
    o->reason = reason;
    o->bytes = odd->bytes;
    o->code_of = odd->in;
    o->stack = odd->site->stack;
    o->at_stack = odd->part;
}

/* Finds out why a rank's peak differs from the peak of the reference. */
static void find_size_reason(comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank], *other = c->ranks[c->reference];
    bool larger = own->peak_allocated > other->peak_allocated;
    uint64_t bytes = distance(own->peak_allocated, other->peak_allocated);
    bool is_placed = !c->unplaced[rank] && !c->unplaced[c->reference];
    double factor = is_placed ? mv_batch_factor(c->scratch, other, own) : 0;
    mv_rank_outlier o = outlier_of(rank, larger ? MV_RANK_LARGER : MV_RANK_SMALLER, bytes,
                                   largest_change(c, rank, larger));

    if (larger && own->verdict == MV_VERDICT_LEAK && own->leaked_bytes >= bytes / 2)
        return; /* a leak already explains the difference */
    if (larger && c->own[rank].bytes >= bytes / 2 && c->own[rank].site) {
        take_sites(&o, MV_RANK_OWN_SITES, &c->own[rank]);
    } else if (factor != 0 && (factor > 1) == larger) {
        o.reason = larger ? MV_RANK_LARGER_BATCH : MV_RANK_SMALLER_BATCH;
        o.factor = factor;
    } else if (!larger && c->missing[rank].bytes >= bytes / 2 && c->missing[rank].site) {
        take_sites(&o, MV_RANK_MISSING_SITES, &c->missing[rank]);
    } else if (!is_placed) {
        o.reason = larger ? MV_RANK_LARGER_UNPLACED : MV_RANK_SMALLER_UNPLACED;
        o.stack = MV_NO_STACK;
    }
    add_outlier(c, o);
}

static void evaluate_sequence(comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank];
    const mv_summary_point *point;
    const mv_summary_site *site = NULL;
    mv_divergence apart;

    if (!c->has_order || c->count > c->length || !mv_sequence_is_whole(own))
        return;
    apart = mv_sequences_compare(c->ranks[c->most], own, true);
    if (apart.first == MV_NO_DIVERGENCE)
        return;
    point = mv_sequence_point(own, apart.last);
    if (point)
        site = mv_summary_find(own, point->key);
    add_outlier(c, (mv_rank_outlier){.rank = rank,
                                     .reason = MV_RANK_DIFFERENT_STACKS,
                                     .bytes = point ? point->size : 0,
                                     .code_of = rank,
                                     .stack = site ? site->stack : MV_NO_STACK,
                                     .at_stack = point ? point->size : 0});
}

static void evaluate_reserved(comparison *c, uint32_t rank)
{
    uint64_t reserved = c->ranks[rank]->peak_reserved;

    if (reserved > c->reserved && reserved - c->reserved > c->reserved_off)
        add_outlier(c, outlier_of(rank, MV_RANK_RESERVED, reserved - c->reserved, MV_NO_STACK));
}

static void find_reasons(comparison *c, uint32_t rank)
{
    const mv_summary *own = c->ranks[rank], *other = c->ranks[c->reference];
    uint32_t before = c->out->count;

    evaluate_leak(c, rank);
    evaluate_oom(c, rank);
    if (c->count == 1)
        return;
    if (distance(own->peak_allocated, other->peak_allocated) <= c->off)
        evaluate_reserved(c, rank);
    else if (!is_other_length(c, rank))
        find_size_reason(c, rank);
    if (c->out->count == before && c->count > 2)
        evaluate_sequence(c, rank);
}

/* ---- sequences --------------------------------------------------------------------------- */

static mv_divergence compare(const comparison *c, uint32_t a, uint32_t b)
{
    return mv_sequences_compare(c->ranks[a], c->ranks[b], false);
}

/* Returns the number of ranks in `class` that agree with `rank` beyond allocation `at`. */
static uint32_t agreeing_ranks(const comparison *c, const uint32_t *class, uint32_t size,
                               uint32_t rank, uint64_t at)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < size; i++)
        count += compare(c, rank, class[i]).first > at;
    return count;
}

/* Returns the rank of a class with which the most other ranks agree beyond `at`; if several have
 * equally many, the first of them. If more than half of the ranks agree, one pass finds the rank;
 * otherwise LEADERS ranks are tried. */
static uint32_t find_leader(const comparison *c, const uint32_t *class, uint32_t size, uint64_t at)
{
    uint32_t best = class[0], most = 0, ahead = 0, step = (size + LEADERS - 1) / LEADERS;

    for (uint32_t i = 0; i < size; i++) {
        if (ahead == 0)
            best = class[i];
        ahead = compare(c, best, class[i]).first > at ? ahead + 1 : ahead - 1;
    }
    if (2 * (uint64_t)agreeing_ranks(c, class, size, best, at) > size)
        return best;
    for (uint32_t i = 0; i < size; i += step) {
        uint32_t count = agreeing_ranks(c, class, size, class[i], at);
        if (count > most) {
            most = count;
            best = class[i];
        }
    }
    return best;
}

/* Returns the first allocation at which any rank of a class differs from the leader, or
 * MV_NO_DIVERGENCE. */
static uint64_t first_difference(const comparison *c, const uint32_t *class, uint32_t size,
                                 uint32_t leader)
{
    uint64_t first = MV_NO_DIVERGENCE;

    for (uint32_t i = 0; i < size; i++) {
        mv_divergence d = compare(c, leader, class[i]);
        first = d.first < first ? d.first : first;
    }
    return first;
}

/* Removes from the class the ranks that differ at this allocation. After each round the class has
 * fewer ranks. */
static uint32_t remove_differing(comparison *c, uint32_t *class, uint32_t size, uint32_t leader,
                                 uint64_t at)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < size; i++) {
        mv_divergence d = compare(c, leader, class[i]);
        if (d.first > at) {
            class[kept++] = class[i];
            continue;
        }
        c->out->apart[c->row[class[i]]] = d;
        if (c->first == MV_NO_ROW)
            c->first = class[i];
    }
    return kept;
}

/* Whether more than half of the ranks allocate at the same sites as `most`, and in the same
 * order. */
static bool share_order(const comparison *c)
{
    uint32_t alike = 0;

    for (uint32_t i = 0; i < c->count; i++)
        alike +=
            mv_sequence_is_whole(c->ranks[i]) &&
            mv_sequences_compare(c->ranks[c->most], c->ranks[i], true).first == MV_NO_DIVERGENCE;
    return 2 * alike > c->count;
}

static bool find_differences(comparison *c)
{
    uint32_t *class = mv_push_array(c->scratch, uint32_t, c->count);
    uint32_t size = 0;
    uint64_t at;

    if (!class)
        return false;
    c->most = c->first = MV_NO_ROW;
    for (uint32_t i = 0; i < c->count; i++) {
        c->out->apart[c->row[i]] = (mv_divergence){MV_NO_DIVERGENCE, MV_NO_DIVERGENCE};
        if (mv_sequence_is_whole(c->ranks[i]))
            class[size++] = i;
    }
    if (size == 0)
        return true;
    while ((at = first_difference(c, class, size, class[0])) != MV_NO_DIVERGENCE) {
        uint32_t kept = remove_differing(c, class, size, find_leader(c, class, size, at), at);
        /* If summaries have different strides, the leader may not show which ranks differ. */
        size = kept < size ? kept : remove_differing(c, class, size, class[0], at);
    }
    c->most = class[0];
    c->has_order = share_order(c);
    return true;
}

/* ---- all groups -------------------------------------------------------------------------- */

static bool compare_group(comparison *c)
{
    mv_key_row *room = mv_push_array(c->scratch, mv_key_row, c->count);
    uint32_t reserved;

    if (!room || !find_own_sites(c) || !find_differences(c))
        return false;
    c->reference = find_median(c, peak_allocated, room, &c->off);
    reserved = find_median(c, peak_reserved, room, &c->reserved_off);
    c->reserved = c->ranks[reserved]->peak_reserved;
    for (uint32_t i = 0; i < c->count; i++) {
        c->group->leaks += c->ranks[i]->verdict == MV_VERDICT_LEAK;
        c->failing += c->ranks[i]->ooms > 0;
    }
    for (uint32_t i = 0; i < c->count; i++)
        find_reasons(c, i);
    c->group->reference = c->row[c->reference];
    c->group->most = c->most == MV_NO_ROW ? MV_NO_ROW : c->row[c->most];
    c->group->first = c->first == MV_NO_ROW ? MV_NO_ROW : c->row[c->first];
    return true;
}

/* Compares the ranks of each group, and releases temporary memory after each group. */
static bool compare_groups(mv_arena *scratch, const mv_summary *const *ranks, uint32_t count,
                           uint32_t length, mv_ranks *out)
{
    const mv_summary **members = mv_push_array(scratch, const mv_summary *, count);
    uint32_t *row = mv_push_array(scratch, uint32_t, count);
    uint32_t *at = mv_push_array(scratch, uint32_t, out->groups);
    bool compared = members && row && at;
    uint32_t failing = 0;

    for (uint32_t i = 0; compared && i < count; i++) {
        out->each[out->group[i]].ranks++;
        out->leaks += ranks[i]->verdict == MV_VERDICT_LEAK;
        failing += ranks[i]->ooms > 0;
    }
    for (uint32_t i = 1; compared && i < out->groups; i++)
        at[i] = at[i - 1] + out->each[i - 1].ranks;
    for (uint32_t i = 0; compared && i < count; i++) {
        uint32_t to = at[out->group[i]]++;
        members[to] = ranks[i];
        row[to] = i;
    }
    for (uint32_t i = 0, first = 0; compared && i < out->groups; first = at[i++]) {
        mv_arena own;
        comparison c = {.scratch = &own,
                        .ranks = &members[first],
                        .count = at[i] - first,
                        .row = &row[first],
                        .all = count,
                        .length = length,
                        .all_failing = failing,
                        .out = out,
                        .group = &out->each[i]};
        mv_arena_init(&own, scratch->budget);
        compared = compare_group(&c);
        mv_arena_release(&own);
    }
    return compared;
}

static bool compare_all(mv_arena *arena, mv_arena *scratch, const mv_summary *const *ranks,
                        uint32_t count, mv_rank_grid grid, mv_ranks *out)
{
    mv_rank_groups groups;

    if (!mv_rank_groups_find(arena, ranks, count, grid, &groups))
        return false;
    out->groups = groups.count;
    out->group = groups.of;
    out->each = mv_push_array(arena, mv_rank_group, groups.count);
    /* at most three outliers per rank: a leak, a failed request, and a different size */
    out->outliers = mv_push_array(arena, mv_rank_outlier, 3 * (uint64_t)count);
    out->apart = mv_push_array(arena, mv_divergence, count);
    if (!out->each || !out->outliers || !out->apart ||
        !compare_groups(scratch, ranks, count, groups.length, out))
        return false;
    mv_sort_rows(scratch, out->outliers, out->count, MV_RISING(mv_rank_outlier, rank));
    /* The first difference is that of the first group that has one. */
    out->most = out->first = MV_NO_ROW;
    for (uint32_t i = 0; i < out->groups && out->first == MV_NO_ROW; i++) {
        out->first = out->each[i].first;
        out->most = out->each[i].most;
    }
    return mv_ranks_words(arena, ranks, count, out);
}

mv_code mv_ranks_compare(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_rank_grid grid, mv_ranks *out, mv_err *err)
{
    mv_arena scratch;
    bool compared;

    *out = (mv_ranks){0};
    mv_arena_init(&scratch, arena->budget);
    compared = compare_all(arena, &scratch, ranks, count, grid, out);
    mv_arena_release(&scratch);
    return compared ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "comparison ranks");
}
