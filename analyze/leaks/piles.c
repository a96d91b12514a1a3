#include "analyze/leaks/piles.h"

#include "analyze/leaks/pile_words.h"
#include "analyze/lives/alive.h"
#include "analyze/steps/level_line.h"
#include "base/sort.h"

/* A bulk has at least this many blocks of one line, from at least this many steps. */
#define BULK_BLOCKS 4
#define BULK_STEPS  3

/* A list is emptied at one or two places of a program. If blocks are freed at this many places, the
 * garbage collector freed them. */
#define PLACES_OF_COLLECTOR 3

/* A pile that may be one of the program's lists is reported only if it was at least this fraction
 * of the peak. */
#define SHARE_WORTH_TELLING 0.05

/* A block that was freed in a later step than the one in which it was born. */
typedef struct {
    uint32_t group;
    uint32_t gap;       /* number of allocations before the block was freed */
    uint32_t row, born; /* row: row of allocs; born: birth bin */
    bool is_in_bulk;
} old_block;

/* The bulks of one group. */
typedef struct {
    uint32_t group, pile;
    uint32_t from, to;            /* range of `blocks` that belongs to the group */
    uint32_t bulks, of_collector; /* bulks: number of bulks; of_collector: number of bulks that the
                                   * collector freed */
    uint32_t in_passing;          /* how often lines freed some blocks in passing, whether or not in
                                   * a bulk */
    uint32_t with_stack;          /* number of bulks whose frees have stacks */
    uint32_t places;
    uint32_t last_gap, last_row; /* gap and last row of the last bulk */
    uint32_t youngest;           /* birth of the youngest block in the last bulk */
    uint32_t least_steps, most_steps;
    uint64_t first_wait; /* steps for which the blocks of the first bulk waited */
    uint64_t bins, span; /* bins: number of bins with births since the previous bulk; span: number
                          * of all bins since then; both are sums over all bulks */
    uint64_t bytes;
    uint64_t left, all_left; /* older bytes that a bulk did not free: left, by the last bulk;
                              * all_left, summed over all bulks */
    bool leaves_more;        /* each bulk left more than the previous bulk */
    bool is_pile;
    mv_pile_cause cause;
    mv_pile_proof proof;
    mv_stack_id freed_at;
} group_bulks;

/* A bulk; bulks are sorted in the order of the frees. */
typedef struct {
    uint32_t gap, bin, at; /* at: row of `of` */
} bulk;

typedef struct {
    mv_leak_state *w;
    const uint32_t *births; /* birth events of the allocations born in the trace */
    uint32_t born;
    mv_frame_id *leaf; /* [stacks] innermost Python frame, or MV_NO_FRAME */
    uint8_t *collects; /* [stacks] 1: the collector is on the stack */
    uint32_t *bins_of; /* [frames] number of bins in which an allocation has this frame as its
                        * leaf; 0 if no old block has a freeing stack */
    uint32_t count;
    old_block *blocks;
    uint64_t *places; /* buffer for the places of one group */
    uint32_t groups;
    group_bulks *of; /* [groups] */
    uint32_t bulk_count;
    bulk *bulks;          /* [bulk_count] */
    uint32_t *emptied;    /* [sites.groups] value of `youngest` for groups that are emptied again
                           * and again, or MV_NEVER */
    uint32_t *at_group;   /* [sites.groups] row of `of`, or MV_NO_ROW */
    uint64_t *site_bytes; /* [sites.count] bytes of the site's blocks that are in bulks */
    uint64_t peak;
    uint32_t peak_event;
} search;

/* ---- the collector ----------------------------------------------------------------------- */

/* Whether a function runs Python's garbage collector: a function of CPython's collector, whose
 * names symbolizers also give to nearby nameless code, or a Python function that calls it. */
static bool is_collector(const char *function)
{
    static const char *const names[] = {"gc_collect", "PyGC_", "PyObject_GC_", "_Py_RunGC",
                                        "garbage"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(function, names[i]))
            return true;
    return false;
}

static mv_frame_id leaf_of(const search *s, mv_stack_id stack)
{
    return stack.row < s->w->trace->stacks.count ? s->leaf[stack.row] : MV_NO_FRAME;
}

/* Whether the collector is called from the innermost Python frame, or is that frame. */
static bool has_collector(const search *s, const uint8_t *is_of_it, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(s->w->trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (is_of_it[frames[i].row])
            return true;
        if (frames[i].row == s->leaf[stack.row].row)
            break;
    }
    return false;
}

/* Fills `leaf` and `collects`. */
static bool look_at_stacks(search *s)
{
    const mv_trace *trace = s->w->trace;
    uint8_t *is_of_it = mv_push_array(s->w->scratch, uint8_t, trace->frames.count);

    s->leaf = mv_push_array(s->w->scratch, mv_frame_id, trace->stacks.count);
    s->collects = mv_push_array(s->w->scratch, uint8_t, trace->stacks.count);
    if (!is_of_it || !s->leaf || !s->collects)
        return false;
    for (uint32_t f = 0; f < trace->frames.count; f++)
        is_of_it[f] = is_collector(mv_string_text(trace, trace->frames.function[f]));
    for (uint32_t k = 0; k < trace->stacks.count; k++) {
        s->leaf[k] = mv_python_leaf(trace, s->w->sites.kinds, (mv_stack_id){k});
        s->collects[k] = has_collector(s, is_of_it, (mv_stack_id){k});
    }
    return true;
}

/* Whether an old block has a freeing stack. */
static bool shows_frees(const search *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (mv_alloc_freeing_stack(s->w->lives, s->blocks[i].row).row != MV_NO_ROW)
            return true;
    return false;
}

/* Fills `bins_of`. */
static bool count_bins(search *s)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    uint32_t frames = s->w->trace->frames.count;
    uint32_t *latest = mv_push_array(s->w->scratch, uint32_t, frames);

    s->bins_of = mv_push_array(s->w->scratch, uint32_t, frames);
    if (!latest || !s->bins_of)
        return false;
    for (uint32_t i = a->preexisting, bin = 0, end = shows_frees(s) ? a->count : 0; i < end; i++) {
        mv_frame_id leaf = leaf_of(s, a->stack[i]);

        while (bin < s->w->out->steps.count && s->w->out->steps.at[bin] <= a->birth[i])
            bin++;
        if (leaf.row == MV_NO_ROW || (s->bins_of[leaf.row] > 0 && latest[leaf.row] == bin))
            continue;
        latest[leaf.row] = bin;
        s->bins_of[leaf.row]++;
    }
    return true;
}

/* Returns what the stack of a row's free proves. A line that allocates in most steps runs in most
 * steps. If such a line seldom frees a block, the block was freed by the collector, unless the line
 * itself had allocated it. */
static mv_pile_proof proof_of(const search *s, uint32_t row)
{
    mv_stack_id stack = mv_alloc_freeing_stack(s->w->lives, row);
    mv_frame_id leaf = leaf_of(s, stack);

    if (stack.row >= s->w->trace->stacks.count)
        return MV_PILE_NO_PLACE;
    if (s->collects[stack.row])
        return MV_PILE_BY_COLLECTOR;
    if (leaf.row != MV_NO_ROW && 2 * (uint64_t)s->bins_of[leaf.row] > s->w->out->steps.count &&
        leaf.row != leaf_of(s, s->w->lives->allocs.stack[row]).row)
        return MV_PILE_IN_PASSING;
    return MV_PILE_ONE_PLACE;
}

/* Returns the place where a block was freed, identified by the function or, without a stack, by the
 * allocations before and after the free. */
static uint64_t place_of(const search *s, const old_block *b, mv_stack_id stack)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    uint32_t next = a->preexisting + b->gap, before, after;
    mv_frame_id leaf = leaf_of(s, stack);

    if (leaf.row != MV_NO_ROW)
        return (uint64_t)s->w->trace->frames.file[leaf.row].row << 32 |
               s->w->trace->frames.function[leaf.row].row;
    before = mv_site_of(&s->w->sites, a->stack[next - 1]);
    after = next < a->count ? mv_site_of(&s->w->sites, a->stack[next]) : MV_NO_ROW;
    return (uint64_t)before << 32 | after;
}

/* ---- bulks ------------------------------------------------------------------------------- */

static bool list_old(search *s)
{
    mv_leak_state *w = s->w;
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;

    uint32_t bin = 0;

    s->blocks = mv_push_array(w->scratch, old_block, w->floor.lasting.count);
    if (!s->blocks)
        return false;
    for (uint32_t k = a->preexisting; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];

        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (a->freed[i] == MV_NEVER || bin == steps->count || a->freed[i] < steps->at[bin])
            continue;
        s->blocks[s->count++] = (old_block){
            mv_leak_group_of(w, i), (uint32_t)mv_lower_bound_u32(s->births, s->born, a->freed[i]),
            i, bin, false};
    }
    mv_sort_rows(w->scratch, s->blocks, s->count, MV_RISING(old_block, group),
                 MV_RISING(old_block, gap));
    return true;
}

/* Returns how many blocks from before the recording were freed together with a block, and have its
 * size, so that they are probably from the same line. */
static uint32_t older_blocks(const search *s, const old_block *b)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->preexisting; i++)
        count += a->freed[i] != MV_NEVER && a->block[i] == a->block[b->row] &&
                 mv_lower_bound_u32(s->births, s->born, a->freed[i]) == b->gap;
    return count;
}

/* Examines blocks [from, to), sorted by birth, which were freed without an allocation in
 * between. */
static void add_bulk(search *s, uint32_t from, uint32_t to, group_bulks *g)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    const mv_steps *steps = &s->w->out->steps;
    const old_block *b = &s->blocks[from + (to - from) / 2];
    uint32_t bin = mv_steps_bin(steps, a->freed[b->row]), collected = 0, bins = 0;
    uint32_t before = g->bulks ? mv_steps_bin(steps, a->freed[g->last_row]) : s->blocks[from].born;

    for (uint32_t i = from; i < to; i++) {
        mv_pile_proof proof = proof_of(s, s->blocks[i].row);

        bins += i == from || s->blocks[i].born != s->blocks[i - 1].born;
        collected += proof <= MV_PILE_IN_PASSING;
        g->bytes += a->block[s->blocks[i].row];
        s->site_bytes[mv_site_of(&s->w->sites, a->stack[s->blocks[i].row])] +=
            a->block[s->blocks[i].row];
        if (proof <= MV_PILE_IN_PASSING && proof < g->proof)
            g->proof = proof;
    }
    g->freed_at = mv_alloc_freeing_stack(s->w->lives, b->row);
    g->with_stack += g->freed_at.row != MV_NO_ROW;
    g->of_collector += 2 * collected > to - from;
    s->places[g->bulks] = place_of(s, b, g->freed_at);
    if (g->bulks < 2 || bin - before < g->least_steps)
        g->least_steps = bin - before;
    if (g->bulks < 2 || bin - before > g->most_steps)
        g->most_steps = bin - before;
    if (g->bulks > 0) {
        g->bins += bins;
        g->span += bin - before;
    } else {
        g->first_wait = (uint64_t)(bin - before) * (to - from + older_blocks(s, b)) / (to - from);
    }
    s->bulks[s->bulk_count++] = (bulk){b->gap, bin, s->groups};
    g->bulks++;
    g->last_gap = b->gap;
    g->last_row = s->blocks[to - 1].row;
    g->youngest = a->birth[s->blocks[to - 1].row];
}

static uint32_t count_places(search *s, uint32_t bulks)
{
    uint32_t count = 0;

    mv_sort_rows(s->w->scratch, s->places, bulks, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < bulks; i++)
        count += i == 0 || s->places[i] != s->places[i - 1];
    return count;
}

/* Whether a line freed blocks in passing, judged by the block in the middle of [from, to). */
static bool is_in_passing(const search *s, uint32_t from, uint32_t to)
{
    return proof_of(s, s->blocks[from + (to - from) / 2].row) == MV_PILE_IN_PASSING;
}

/* Sets `cause` and `proof`. Returns false if the pile is too small to report. */
static bool evaluate(search *s, group_bulks *g)
{
    bool has_stacks = 2 * g->with_stack > g->bulks;

    g->places = count_places(s, g->bulks);
    g->cause = MV_PILE_OF_CYCLES;
    if (2 * g->of_collector > g->bulks &&
        (g->proof == MV_PILE_BY_COLLECTOR || 2 * g->in_passing <= s->w->out->steps.count))
        return true;
    if (g->places >= PLACES_OF_COLLECTOR && (has_stacks || 2 * g->places >= g->bulks)) {
        g->proof = MV_PILE_ANYWHERE;
        return true;
    }
    g->cause = MV_PILE_UNKNOWN;
    g->proof = has_stacks ? MV_PILE_ONE_PLACE : MV_PILE_NO_PLACE;
    return g->bulks > 1 && 2 * g->bins >= g->span;
}

/* Finds how much memory from earlier steps each bulk left in its group. Frees count if they come
 * before the end of the bulk, births if they come before the start of the bulk's step. */
static bool find_left(search *s)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    const mv_steps *steps = &s->w->out->steps;
    const mv_floor *floor = &s->w->floor;
    uint64_t *held = mv_push_array(s->w->scratch, uint64_t, s->w->sites.groups);
    mv_key_row *frees = mv_push_array(s->w->scratch, mv_key_row, s->count);
    uint32_t born = a->preexisting, freed = 0, bin = 0;

    if (!held || !frees)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        frees[i] = (mv_key_row){s->blocks[i].gap, i};
    mv_sort_rows(s->w->scratch, frees, s->count, MV_RISING(mv_key_row, key));
    mv_sort_rows(s->w->scratch, s->bulks, s->bulk_count, MV_RISING(bulk, gap));
    for (uint32_t i = 0; i < s->bulk_count; i++) {
        group_bulks *g = &s->of[s->bulks[i].at];
        uint32_t start = steps->at[s->bulks[i].bin - 1];

        for (; born < floor->lasting.count && a->birth[floor->lasting.row[born]] < start; born++) {
            uint32_t row = floor->lasting.row[born];

            while (steps->at[bin] <= a->birth[row]) /* the bin ends at `start` at the latest */
                bin++;
            if (a->freed[row] >= steps->at[bin])
                held[mv_leak_group_of(s->w, row)] += a->block[row];
        }
        for (; freed < s->count && frees[freed].key <= s->bulks[i].gap; freed++)
            held[s->blocks[frees[freed].row].group] -= a->block[s->blocks[frees[freed].row].row];
        g->leaves_more = g->leaves_more && (g->left == MV_NO_BYTES || held[g->group] > g->left);
        g->left = held[g->group];
        g->all_left += g->left;
    }
    return true;
}

/* Marks the blocks that a line frees in bulks as explained, so that they do not count as a rise of
 * the floor, provided that the latest blocks have not waited longer than any before. There is one
 * exception: if each bulk of a list leaves more than the previous bulk, the list's remaining blocks
 * grow. (Blocks that a run of the collector leaves are freed by a later run.) */
static void explain(search *s, const group_bulks *g)
{
    const mv_steps *steps = &s->w->out->steps;

    if (g->bulks < 2 || (g->leaves_more && g->cause != MV_PILE_OF_CYCLES) ||
        steps->count - mv_steps_bin(steps, s->w->lives->allocs.freed[g->last_row]) > g->most_steps)
        return;
    for (uint32_t i = g->from; i < g->to; i++)
        if (s->blocks[i].is_in_bulk)
            mv_leak_explain(s->w, s->blocks[i].row);
    s->emptied[g->group] = g->youngest;
}

/* Marks live blocks as explained, as explain() does for freed blocks. */
static bool explain_alive(search *s)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;

    for (uint32_t k = a->preexisting; k < s->w->floor.lasting.count; k++) {
        uint32_t i = s->w->floor.lasting.row[k], group = mv_leak_group_of(s->w, i);

        if (a->freed[i] == MV_NEVER && s->emptied[group] != MV_NEVER &&
            a->birth[i] > s->emptied[group])
            mv_leak_explain(s->w, i);
    }
    return mv_leak_floor_rises(s->w, "blocks freed all at once");
}

/* Whether the free of a row has a stack of its own. In some files, it is that of the allocation. */
static bool shows_line(const search *s, uint32_t row)
{
    return leaf_of(s, mv_alloc_freeing_stack(s->w->lives, row)).row != MV_NO_ROW;
}

/* Finds the bulks among blocks [from, to), which all belong to one group. */
static void look_at_group(search *s, uint32_t from, uint32_t to)
{
    group_bulks g = {.group = s->blocks[from].group,
                     .from = from,
                     .to = to,
                     .left = MV_NO_BYTES,
                     .leaves_more = true,
                     .proof = MV_PILE_NO_PLACE};

    for (uint32_t i = from, end; i < to; i = end) {
        for (end = i + 1; end < to && s->blocks[end].gap == s->blocks[i].gap;)
            end++;
        g.in_passing += is_in_passing(s, i, end);
        if (end - i < BULK_BLOCKS || s->blocks[end - 1].born - s->blocks[i].born + 1 < BULK_STEPS)
            continue;
        add_bulk(s, i, end, &g);
        for (uint32_t k = i; k < end; k++)
            s->blocks[k].is_in_bulk = true;
    }
    if (g.bulks == 0)
        return;
    g.is_pile = evaluate(s, &g);
    s->w->bulks[g.group] =
        (mv_bulks){g.bulks,
                   s->w->lives->allocs.freed[g.last_row],
                   g.youngest,
                   g.bulks > 1 ? g.most_steps : g.first_wait,
                   g.cause == MV_PILE_OF_CYCLES,
                   g.bulks == 1 || g.cause == MV_PILE_OF_CYCLES || !shows_line(s, g.last_row)};
    s->of[s->groups++] = g;
}

/* Marks the blocks of groups with bulks as explained, and keeps the groups that are piles. A list
 * is not being emptied if most of its blocks remain each time, or if more and more remain. */
static void keep_piles(search *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->groups; i++) {
        const group_bulks *g = &s->of[i];

        explain(s, g);
        if (g->is_pile && (g->cause == MV_PILE_OF_CYCLES ||
                           (g->all_left < g->bytes && (g->bulks < 2 || !g->leaves_more))))
            s->of[kept++] = *g;
    }
    s->groups = kept;
}

static bool find_bulks(search *s)
{
    mv_leak_state *w = s->w;

    s->places = mv_push_array(w->scratch, uint64_t, s->count / BULK_BLOCKS + 1);
    s->of = mv_push_array(w->scratch, group_bulks, s->count / BULK_BLOCKS + 1);
    s->site_bytes = mv_push_array(w->scratch, uint64_t, w->sites.count);
    s->emptied = mv_push_array(w->scratch, uint32_t, w->sites.groups);
    s->bulks = mv_push_array(w->scratch, bulk, s->count / BULK_BLOCKS + 1);
    if (!s->bulks || !s->places || !s->of || !s->site_bytes || !s->emptied || !look_at_stacks(s) ||
        !count_bins(s))
        return false;
    for (uint32_t g = 0; g < w->sites.groups; g++)
        s->emptied[g] = MV_NEVER;
    for (uint32_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; end < s->count && s->blocks[end].group == s->blocks[i].group;)
            end++;
        look_at_group(s, i, end);
    }
    if (!find_left(s))
        return false;
    keep_piles(s);
    return !w->out->floor.rises || explain_alive(s);
}

/* ---- piles ------------------------------------------------------------------------------- */

/* Combines lines that have the same last bulk into one pile, which takes its description from the
 * line with the most bytes. */
static bool make_piles(search *s)
{
    mv_leaks *out = s->w->out;

    s->at_group = mv_push_array(s->w->scratch, uint32_t, s->w->sites.groups);
    out->piles = mv_push_array(s->w->arena, mv_pile, s->groups);
    if (!s->at_group || !out->piles)
        return false;
    for (uint32_t g = 0; g < s->w->sites.groups; g++)
        s->at_group[g] = MV_NO_ROW;
    mv_sort_rows(s->w->scratch, s->of, s->groups, MV_RISING(group_bulks, cause),
                 MV_RISING(group_bulks, last_gap), MV_FALLING(group_bulks, bytes));
    for (uint32_t i = 0; i < s->groups; i++) {
        group_bulks *g = &s->of[i];
        bool is_new =
            i == 0 || g->cause != s->of[i - 1].cause || g->last_gap != s->of[i - 1].last_gap;

        if (is_new)
            out->piles[out->pile_count++] = (mv_pile){.cause = g->cause,
                                                      .proof = g->proof,
                                                      .times = g->bulks,
                                                      .places = g->places,
                                                      .least_steps = g->least_steps,
                                                      .most_steps = g->most_steps,
                                                      .freed_at = g->freed_at};
        g->pile = out->pile_count - 1;
        out->piles[g->pile].lines++;
        s->at_group[g->group] = i;
    }
    return true;
}

/* Sets the stack of each pile, which comes from the largest site of the pile's first line. */
static void name_piles(search *s)
{
    const mv_sites *sites = &s->w->sites;

    for (uint32_t i = 0; i < s->groups; i++)
        if (i == 0 || s->of[i].pile != s->of[i - 1].pile)
            s->w->out->piles[s->of[i].pile].stack = MV_NO_STACK;
    for (uint32_t k = 0; k < sites->count; k++) {
        uint32_t at = s->at_group[sites->group[k]];
        mv_pile *pile;

        if (at == MV_NO_ROW || (at > 0 && s->of[at].pile == s->of[at - 1].pile))
            continue;
        pile = &s->w->out->piles[s->of[at].pile];
        if (s->site_bytes[k] > pile->bytes) {
            pile->bytes = s->site_bytes[k];
            pile->stack = sites->stack[k];
        }
    }
}

/* A change in the bytes that wait, at one event. */
typedef struct {
    uint32_t pile, event;
    int64_t bytes;
    int32_t blocks;
} change;

/* Lists the changes. A block waits from the end of its step until the bulk that frees it. A block
 * born after its line's last bulk waits until the end of the trace. */
static change *list_waiting(search *s, uint32_t *count)
{
    const mv_alloc_lives *a = &s->w->lives->allocs;
    const mv_steps *steps = &s->w->out->steps;
    change *list =
        mv_push_array(s->w->scratch, change, 2 * (uint64_t)s->count + s->w->alive_blocks);

    *count = 0;
    for (uint32_t i = 0; list && i < s->count; i++) {
        const old_block *b = &s->blocks[i];
        uint32_t at = s->at_group[b->group];

        if (!b->is_in_bulk || at == MV_NO_ROW)
            continue;
        list[(*count)++] =
            (change){s->of[at].pile, steps->at[b->born], (int64_t)a->block[b->row], 1};
        list[(*count)++] =
            (change){s->of[at].pile, a->freed[b->row], -(int64_t)a->block[b->row], -1};
    }
    for (uint32_t k = a->preexisting; list && k < s->w->floor.lasting.count; k++) {
        uint32_t i = s->w->floor.lasting.row[k], at, bin;

        if (a->freed[i] != MV_NEVER)
            continue;
        at = s->at_group[mv_leak_group_of(s->w, i)];
        bin = mv_steps_bin(steps, a->birth[i]);
        if (at != MV_NO_ROW && a->birth[i] > s->of[at].youngest && bin < steps->count)
            list[(*count)++] = (change){s->of[at].pile, steps->at[bin], (int64_t)a->block[i], 1};
    }
    if (list)
        mv_sort_rows(s->w->scratch, list, *count, MV_RISING(change, pile),
                     MV_RISING(change, event));
    return list;
}

/* Finds the most bytes that wait at once, and the bytes that wait at the peak. */
static bool measure_piles(search *s)
{
    uint32_t count;
    const change *list = list_waiting(s, &count);

    for (uint32_t i = 0, end; list && i < count; i = end) {
        mv_pile *pile = &s->w->out->piles[list[i].pile];
        int64_t bytes = 0, blocks = 0;

        pile->bytes = 0;
        for (end = i; end < count && list[end].pile == list[i].pile; end++) {
            bytes += list[end].bytes;
            blocks += list[end].blocks;
            if (bytes > 0 && (uint64_t)bytes > pile->bytes) {
                pile->bytes = (uint64_t)bytes;
                pile->blocks = (uint32_t)blocks;
            }
            if (list[end].event <= s->peak_event)
                pile->at_peak = (uint64_t)bytes;
        }
    }
    return list != NULL;
}

static bool find_peak(search *s)
{
    mv_level_line line;
    mv_level_walk w;
    int64_t most;

    if (!mv_level_line_find(s->w->scratch, s->w->lives, &line))
        return false;
    w = mv_level_walk_at(&line, 0);
    most = (int64_t)w.level;
    s->peak_event = 0;
    while (w.event < s->w->lives->events.count) {
        uint32_t e = w.event;
        int64_t level = mv_level_walk_next(&w);
        if (level > most) {
            most = level;
            s->peak_event = e;
        }
    }
    s->peak = most > 0 ? (uint64_t)most : 0;
    return true;
}

static bool is_worth_reporting(const mv_pile *pile)
{
    return pile->cause == MV_PILE_OF_CYCLES ||
           (double)pile->bytes >= SHARE_WORTH_TELLING * (double)pile->peak;
}

static bool finish(search *s)
{
    mv_leaks *out = s->w->out;
    uint32_t count = 0;

    for (uint32_t i = 0; i < out->pile_count; i++) {
        mv_pile *pile = &out->piles[i];

        pile->peak = s->peak;
        if (!is_worth_reporting(pile))
            continue;
        if (!mv_pile_report(s->w->arena, s->w->trace, s->w->sites.kinds, pile))
            return false;
        out->piles[count++] = *pile;
    }
    out->pile_count = count;
    mv_sort_rows(s->w->scratch, out->piles, count, MV_FALLING(mv_pile, at_peak),
                 MV_FALLING(mv_pile, bytes), MV_RISING(mv_pile, stack.row));
    return true;
}

static bool shows_python(const mv_leak_state *w)
{
    for (uint32_t f = 0; f < w->trace->frames.count; f++)
        if (w->sites.kinds[f] <= MV_FRAME_FRAMEWORK)
            return true;
    return false;
}

bool mv_piles_find(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    search s = {.w = w, .births = a->birth + a->preexisting, .born = a->count - a->preexisting};

    w->bulks = mv_push_array(w->scratch, mv_bulks, w->sites.groups);
    if (!w->bulks)
        return false;
    if (w->out->steps.count == 0)
        return true;
    if (!list_old(&s) || !find_bulks(&s))
        return false;
    if (s.groups == 0 || mv_trace_allocator(w->trace) || !shows_python(w))
        return true;
    if (!make_piles(&s) || !find_peak(&s))
        return false;
    name_piles(&s);
    return measure_piles(&s) && finish(&s);
}
