#include <math.h>
#include <string.h>

#include "analyze/code/stack_marks.h"
#include "analyze/heap/domains.h"
#include "analyze/leaks/group_changes.h"
#include "analyze/leaks/growing_block.h"
#include "analyze/leaks/growing_line.h"
#include "analyze/leaks/leak_state.h"
#include "analyze/leaks/net_growth.h"
#include "base/parallel_for.h"
#include "base/sort.h"
#include "base/text.h"

/* One size in this many must recur. Otherwise, the site is a cache that adds an entry for each
 * shape. */
#define SIZES_TO_RECUR 4

/* A site keeps one size if this fraction of its blocks have the same size. */
#define ONE_SIZE 0.8

static bool is_candidate(const mv_site_use *use)
{
    return use->alive >= 2;
}

bool mv_leak_floor_rises(mv_leak_state *w, const char *what)
{
    uint64_t *least = mv_push_array(w->scratch, uint64_t, w->floor.bins);
    mv_floor rest = w->floor;
    bool rose = w->out->floor.rises;
    int64_t explained = 0;

    if (!least)
        return false;
    rest.least = least;
    for (uint32_t b = 0; b < w->floor.bins; b++) {
        explained += w->explained[b];
        least[b] = w->floor.least[b] - (uint64_t)explained;
    }
    if (!mv_floor_trend(w->scratch, &rest, mv_growth_first_bin(w->out->steps.count),
                        &w->out->floor.rises, &w->rises_plainly))
        return false;
    if (rose && w->explains_more) {
        w->explains_more = false;
        w->rises_by =
            w->rises_by ? mv_arena_printf(w->arena, "%s, and %s", w->rises_by, what) : what;
        return w->rises_by != NULL;
    }
    return true;
}

/* ---- counts ------------------------------------------------------------------------------ */

/* With fewer rows, a thread costs more than it saves. */
enum { MOST_PARTS = 16, PART_ROWS = 1 << 16 };

typedef struct {
    const mv_alloc_lives *allocs;
    uint32_t stacks, parts;
    mv_stack_use *uses; /* [parts][stacks + 1] */
} counting;

static void count_part(void *user, uint32_t part)
{
    const counting *c = user;
    const mv_alloc_lives *a = c->allocs;
    uint64_t born = a->count - a->preexisting;
    uint32_t first = a->preexisting + (uint32_t)(born * part / c->parts);
    uint32_t end = a->preexisting + (uint32_t)(born * (part + 1) / c->parts);
    mv_stack_use *uses = c->uses + (uint64_t)part * (c->stacks + 1);

    for (uint32_t i = first; i < end; i++) {
        uint32_t stack = a->stack[i].row, age = a->freed[i] - a->birth[i];
        mv_stack_use *use = &uses[stack < c->stacks ? stack : c->stacks];

        use->births++;
        if (a->freed[i] != MV_NEVER && age > use->longest)
            use->longest = age;
    }
}

/* Fills w->stacks. */
static bool count_stacks(mv_leak_state *w)
{
    uint32_t stacks = w->sites.stacks, least = stacks > PART_ROWS ? stacks : PART_ROWS;
    uint32_t parts = 1 + w->lives->allocs.count / least;
    counting c = {&w->lives->allocs, stacks, parts < MOST_PARTS ? parts : MOST_PARTS, NULL};

    w->stacks = c.uses = mv_push_array(w->scratch, mv_stack_use, c.parts * ((uint64_t)stacks + 1));
    if (!c.uses)
        return false;
    mv_parallel_for(c.parts, 0, count_part, &c);
    for (uint32_t i = stacks + 1; i < c.parts * (stacks + 1); i++) {
        mv_stack_use *sum = &c.uses[i % (stacks + 1)];
        sum->births += c.uses[i].births;
        sum->longest = c.uses[i].longest > sum->longest ? c.uses[i].longest : sum->longest;
    }
    return true;
}

bool mv_leak_sites_count(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;

    if (!count_stacks(w))
        return false;
    for (uint32_t k = 0; k <= w->sites.stacks; k++)
        w->uses[w->sites.of_stack[k]].freed += w->stacks[k].births;
    for (uint32_t k = 0; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];
        mv_site_use *use = mv_leak_use_of(w, i);
        bool is_alive = a->freed[i] == MV_NEVER;

        w->alive_blocks += is_alive;
        use->outlived += !is_alive; /* or fewer, if the block is only part of a floor */
        if (i < a->preexisting || !is_alive)
            continue;
        use->occasions += use->occasions == 0 || use != mv_leak_use_of(w, i - 1);
        use->alive++;
        use->freed--;
    }
    return true;
}

/* ---- births ------------------------------------------------------------------------------ */

/* Allocates the arrays that list the blocks of the candidate sites. */
static bool make_room(mv_leak_state *w)
{
    uint32_t alive = 0, freed = 0;

    for (uint32_t s = 0; s < w->sites.count; s++) {
        mv_site_use *use = &w->uses[s];

        use->first_alive = alive;
        use->first_freed = freed;
        if (!is_candidate(use))
            continue;
        alive += use->alive;
        freed += use->outlived;
        use->alive = use->outlived = 0;
    }
    w->alive_row = mv_push_array(w->scratch, uint32_t, alive);
    w->born = mv_push_array(w->scratch, uint32_t, alive);
    w->sized = mv_push_array(w->scratch, mv_sized_block, alive);
    w->lived = mv_push_array(w->scratch, uint32_t, freed);
    w->kept = mv_push_array(w->scratch, uint32_t, alive);
    return w->alive_row && w->born && w->sized && w->lived && w->kept;
}

static void fill_rows(mv_leak_state *w, const uint8_t *candidate)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;
    uint32_t bin = 0;

    for (uint32_t k = a->preexisting; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k], site = mv_site_of(&w->sites, a->stack[i]);
        mv_site_use *use = &w->uses[site];

        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (!candidate[site])
            continue;
        if (a->freed[i] == MV_NEVER) {
            w->alive_row[use->first_alive + use->alive] = i;
            w->born[use->first_alive + use->alive++] = bin;
        } else if (bin < steps->count && a->freed[i] >= steps->at[bin]) {
            w->lived[use->first_freed + use->outlived++] = mv_steps_bin(steps, a->freed[i]) - bin;
        }
    }
}

static bool gather(mv_leak_state *w)
{
    uint8_t *candidate = mv_push_array(w->scratch, uint8_t, w->sites.count);

    if (!candidate)
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++)
        candidate[s] = is_candidate(&w->uses[s]);
    if (!make_room(w))
        return false;
    fill_rows(w, candidate);
    return true;
}

/* Returns how many of the `blocks` born in one bin belong to the leak. In a bin that is not judged,
 * the newest blocks count, at most as many as in the fullest judged bin. If the site also frees
 * blocks and leaks only in some of the steps since growth began, the youngest blocks may still be
 * in use, so none of them count. */
static uint32_t blocks_of_bin(const mv_growth *g, const mv_site_use *use, uint32_t bin,
                              uint32_t blocks)
{
    bool in_each_step = 4 * (uint64_t)g->bins >= 3 * ((uint64_t)g->last - g->from + 1);

    if (bin >= g->first && bin <= g->last)
        return blocks;
    if (bin > g->last && use->freed > 0 && !in_each_step)
        return 0;
    return blocks < g->most ? blocks : g->most;
}

static void leak_block(mv_leak_state *w, mv_site_use *use, uint32_t row)
{
    const mv_alloc_lives *a = &w->lives->allocs;

    w->out->is_leaked[row] = 1;
    if (use->leaked++ == 0)
        use->first_event = a->birth[row];
    use->last_event = a->birth[row];
    use->leaked_bytes += a->block[row];
}

/* Fills w->kept with the rows of the blocks that a growing site keeps, and returns their number. */
static uint32_t find_kept(const mv_leak_state *w, const mv_site_use *use)
{
    const uint32_t *rows = w->alive_row + use->first_alive, *born = w->born + use->first_alive;
    uint32_t count = 0;

    for (uint32_t i = 0, end; i < use->alive; i = end) {
        uint32_t take;

        for (end = i + 1; end < use->alive && born[end] == born[i];)
            end++;
        take = blocks_of_bin(&use->growth, use, born[i], end - i);
        for (uint32_t k = end - take; k < end; k++)
            w->kept[count++] = rows[k];
    }
    return count;
}

/* If births are evenly spaced, the rate is the mean of the bins with births, divided by their
 * distance, so it does not depend on where the recording begins and ends. Otherwise, it is the mean
 * of all judged bins; of those since the first birth if growth begins in the second half, because
 * this is how fast it continues. */
static void leak_site(mv_leak_state *w, mv_site_use *use)
{
    const mv_growth *g = &use->growth;
    uint64_t bytes = 0, bins;
    uint32_t count = find_kept(w, use), from = g->first;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t bin = mv_steps_bin(&w->out->steps, w->lives->allocs.birth[w->kept[i]]);

        leak_block(w, use, w->kept[i]);
        bytes += bin >= g->first && bin <= g->last ? w->lives->allocs.block[w->kept[i]] : 0;
    }
    if (g->from - g->first > g->last - g->from)
        from = g->from;
    bins = g->last + 1 - from;
    use->bytes_per_step = (bytes + bins / 2) / bins;
    if (g->is_even && g->bins > 1)
        use->bytes_per_step =
            (uint64_t)llround((double)bytes / g->bins * (g->bins - 1) / (g->to - g->from));
}

/* How often sizes recur among the blocks that a site keeps. */
typedef struct {
    bool recur;  /* at least one in four sizes occurs in several bins */
    bool is_one; /* most blocks have the same size */
} size_habit;

static size_habit sizes_of(mv_leak_state *w, const mv_site_use *use)
{
    uint32_t sizes = 0, recurring = 0, most = 0;

    for (uint32_t i = 0; i < use->alive; i++) {
        uint32_t at = use->first_alive + i;
        w->sized[i] = (mv_sized_block){w->lives->allocs.requested[w->alive_row[at]], w->born[at]};
    }
    mv_sort_rows(w->scratch, w->sized, use->alive, MV_RISING(mv_sized_block, bytes),
                 MV_RISING(mv_sized_block, bin));
    for (uint32_t i = 0, end; i < use->alive; i = end) {
        for (end = i + 1; end < use->alive && w->sized[end].bytes == w->sized[i].bytes;)
            end++;
        sizes++;
        recurring += w->sized[end - 1].bin != w->sized[i].bin;
        most = end - i > most ? end - i : most;
    }
    return (size_habit){SIZES_TO_RECUR * (uint64_t)recurring >= sizes,
                        ONE_SIZE * (double)use->alive <= most};
}

/* Whether it is unknown which code allocated a site's memory. An empty stack belongs to a thread
 * without Python, unless all stacks of the trace are empty. */
static bool is_nameless(const mv_leak_state *w, uint32_t site)
{
    uint32_t stack = w->sites.stack[site].row;

    return stack == MV_NO_ROW || (stack == MV_EMPTY_STACK.row && w->trace->stacks.count < 2);
}

/* Whether all blocks that a growing site keeps may soon be freed at once, as happened before. This
 * is possible if the blocks have waited less than twice as long as any earlier ones, or if the
 * garbage collector freed earlier ones, because it runs at any time. Blocks that were in use when
 * the collector ran have to wait for one of its less frequent runs. Sets w->waiting. */
static bool may_be_freed_at_once(mv_leak_state *w, uint32_t s)
{
    const mv_bulks *b = &w->bulks[w->sites.group[s]];
    uint32_t count = b->times > 0 ? find_kept(w, &w->uses[s]) : 0;
    uint32_t waits = w->out->steps.count - mv_steps_bin(&w->out->steps, b->last_event);

    if (count == 0 || (!b->of_collector && (w->lives->allocs.birth[w->kept[0]] <= b->youngest ||
                                            waits > 2 * b->most_steps)))
        return false;
    if (w->waiting == MV_NO_ROW || w->uses[s].alive > w->uses[w->waiting].alive)
        w->waiting = s;
    return true;
}

/* Whether a growing site may be a cache that fills, because it keeps fewer and fewer blocks. Sets
 * w->slowing. */
static bool may_fill(mv_leak_state *w, uint32_t s)
{
    if (w->uses[s].growth.slows &&
        (w->slowing == MV_NO_ROW || w->uses[s].alive > w->uses[w->slowing].alive))
        w->slowing = s;
    return w->uses[s].growth.slows;
}

/* In a loop over sizes, temporary memory changes in the same direction in this fraction of the
 * steps. (The smallest sizes are rounded to the same size, so they do not change.) */
#define CHANGING 0.8

/* Returns the direction in which the temporary memory of inferred steps changes: -1 if it falls and
 * never rises, 1 if it rises and never falls, otherwise 0. */
static int direction_of_steps(const mv_leak_state *w)
{
    uint32_t first = mv_growth_first_bin(w->out->steps.count), rises = 0, falls = 0;
    uint32_t last = w->out->steps.count - 1;

    if (w->out->steps.source != MV_STEPS_INFERRED || first >= last)
        return 0;
    for (uint32_t b = first + 1; b <= last; b++) {
        uint64_t before = w->floor.most[b - 1] - w->floor.least[b - 1];
        uint64_t now = w->floor.most[b] - w->floor.least[b];

        rises += now > before;
        falls += now < before;
    }
    if ((rises > 0) == (falls > 0) || rises + falls < CHANGING * (last - first))
        return 0;
    return rises > 0 ? 1 : -1;
}

static bool is_in_private_pools(const mv_leak_state *w, const mv_site_use *use)
{
    for (uint32_t i = 0; i < use->alive; i++)
        if (mv_domain_pool(mv_alloc_pool(w->lives, w->alive_row[use->first_alive + i])).row ==
            MV_DEFAULT_POOL.row)
            return false;
    return true;
}

/* Returns why the inferred steps in which a site grows may not be the program's steps; NULL if they
 * seem to be the program's steps. */
static const char *why_loop(const mv_leak_state *w, const mv_site_use *use, size_habit habit)
{
    if (w->is_one_pass)
        return "they may be layers of one pass, since an earlier free still waits for a stream";
    if (w->direction < 0)
        return "each needs less temporary memory than the one before, as in a loop over sizes that "
               "captures CUDA graphs, and such a loop ends";
    if (w->direction > 0 && is_in_private_pools(w, use))
        return "each needs more temporary memory than the one before, as in a loop over sizes that "
               "captures CUDA graphs in private pools";
    if (w->out->steps.is_of_lines && (!habit.is_one || use->growth.most > 1))
        return "they may be a loop over parameters, layers or batch sizes: no module is called in "
               "them, and they keep blocks of several sizes or several blocks each";
    return NULL;
}

static bool evaluate_births(mv_leak_state *w, uint32_t s)
{
    mv_site_use *use = &w->uses[s];
    mv_growth_site site = {.marks = w->out->steps.count,
                           .born = w->born + use->first_alive,
                           .alive = use->alive,
                           .lived = w->lived + use->first_freed,
                           .freed = use->freed,
                           .outlived = use->outlived};
    size_habit habit = sizes_of(w, use);
    const char *loop;

    site.sizes_recur = habit.recur;
    site.is_one_size = habit.is_one;
    use->growth = mv_growth_evaluate(&site);
    if (use->growth.kind == MV_GROWTH_STEADY && use->freed == 0) {
        if (!mv_nameless_frees_add(w, use, &site))
            return false;
        use->growth = mv_growth_evaluate(&site);
    }
    if (use->growth.kind != MV_GROWTH_STEADY) {
        w->is_doubtful = w->is_doubtful || use->growth.kind == MV_GROWTH_MAYBE;
        w->seldom = use->growth.kind == MV_GROWTH_SELDOM ? s : w->seldom;
    } else if (is_nameless(w, s)) {
        w->is_nameless = true;
        use->growth.kind = MV_GROWTH_NONE;
    } else if ((loop = why_loop(w, use, habit)) != NULL) {
        w->loop = loop;
        use->growth.kind = MV_GROWTH_MAYBE;
    }
    return true;
}

static bool is_steady(const mv_site_use *use)
{
    return is_candidate(use) && use->growth.kind == MV_GROWTH_STEADY;
}

static bool makes_state(const mv_leak_state *w, const uint16_t *marks, mv_stack_id stack)
{
    return stack.row < w->trace->stacks.count && marks[stack.row] & MV_MARK_STATE;
}

/* ---- the state of optimizers ------------------------------------------------------------- */

/* The size of a live block, and whether it is optimizer state. */
typedef struct {
    uint64_t size;
    bool is_state;
} alive_block;

/* Whether the parameters explain the optimizer state. If layers are unfrozen one after another,
 * their state is allocated in one step after another. Each parameter and each gradient may have two
 * state blocks of its size. Optimizers that are created again and again have more state. */
static bool state_is_due(mv_arena *scratch, alive_block *blocks, uint32_t count)
{
    mv_sort_rows(scratch, blocks, count, MV_RISING(alive_block, size));
    for (uint32_t i = 0, end; i < count; i = end) {
        uint32_t states = 0;

        for (end = i; end < count && blocks[end].size == blocks[i].size; end++)
            states += blocks[end].is_state;
        if (states > 2 * (end - i - states))
            return false;
    }
    return true;
}

/* Marks optimizer state as explained. It stops growing once all parameters have state, so it does
 * not count as a rise of the floor. */
static bool floor_without_state(mv_leak_state *w, const uint16_t *marks)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    bool has_state = false;

    for (uint32_t k = 0; k < w->sites.stacks; k++)
        has_state = has_state || (w->stacks[k].births > 0 && marks[k] & MV_MARK_STATE);
    for (uint32_t i = a->preexisting; has_state && i < a->count; i++)
        if (makes_state(w, marks, a->stack[i]))
            mv_leak_explain(w, i);
    return mv_leak_floor_rises(w, "the state of optimizers");
}

/* Withdraws the sites that allocate optimizer state if the parameters explain this state. */
static bool check_state(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const uint16_t *marks = mv_stack_marks(w->scratch, w->trace, w->sites.kinds);
    alive_block *blocks = mv_push_array(w->scratch, alive_block, w->alive_blocks);
    uint32_t count = 0;

    if (!marks || !blocks)
        return false;
    for (uint32_t k = 0; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];

        if (a->freed[i] == MV_NEVER)
            blocks[count++] = (alive_block){a->block[i], makes_state(w, marks, a->stack[i])};
    }
    if (!state_is_due(w->scratch, blocks, count))
        return true;
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (is_steady(&w->uses[s]) && makes_state(w, marks, w->sites.stack[s]))
            w->uses[s].growth.kind = MV_GROWTH_NONE;
    return !w->out->floor.rises || floor_without_state(w, marks);
}

/* ---- net growth -------------------------------------------------------------------------- */

/* Lists the blocks that all steadily growing sites keep. Returns NULL when out of memory. */
static mv_kept_block *list_kept(mv_leak_state *w, uint32_t *count)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_kept_block *list;
    uint32_t most = 0;

    for (uint32_t s = 0; s < w->sites.count; s++)
        most += is_steady(&w->uses[s]) ? w->uses[s].alive : 0;
    list = mv_push_array(w->scratch, mv_kept_block, most);
    *count = 0;
    for (uint32_t s = 0; list && s < w->sites.count; s++) {
        uint32_t rows = is_steady(&w->uses[s]) ? find_kept(w, &w->uses[s]) : 0;

        for (uint32_t i = 0; i < rows; i++) {
            uint32_t row = w->kept[i], bin = mv_steps_bin(&w->out->steps, a->birth[row]);
            list[(*count)++] = (mv_kept_block){row, bin, s, a->block[row]};
        }
    }
    return list;
}

/* Withdraws each site for which as much memory is freed, by itself or by other sites, as it
 * keeps. */
static bool check_sizes(mv_leak_state *w, mv_kept_block *kept, uint32_t count, uint32_t first)
{
    uint8_t *grows = mv_push_array(w->scratch, uint8_t, w->sites.count);

    if (!grows)
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++)
        grows[s] = MV_NET_GROWS;
    if (!mv_net_growth(w->scratch, w->lives, &w->sites, &w->floor, kept, count, first, grows))
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (grows[s] != MV_NET_GROWS) {
            w->uses[s].growth.kind = MV_GROWTH_NONE;
            w->seldom = grows[s] == MV_NET_UNSURE ? s : w->seldom;
        }
    return true;
}

/* Returns the steadily growing site that keeps the most, or MV_NO_ROW. */
static uint32_t biggest_site(const mv_leak_state *w, const mv_kept_block *kept, uint32_t count)
{
    uint64_t most = 0;
    uint32_t biggest = MV_NO_ROW;

    for (uint32_t i = 0, end; i < count; i = end) {
        uint64_t bytes = 0;

        for (end = i; end < count && kept[end].site == kept[i].site; end++)
            bytes += kept[end].size;
        if (is_steady(&w->uses[kept[i].site]) && bytes > most) {
            most = bytes;
            biggest = kept[i].site;
        }
    }
    return biggest;
}

/* Computes the floor without the lines that hold less and less memory from the first judged step
 * onwards, for example lines that loaded data before the steps. Such lines cannot free more than
 * they hold, but their falling memory hides what another line keeps. Returns false when out of
 * memory. */
static bool floor_of_steps(const mv_leak_state *w, uint32_t first, mv_floor *out)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint8_t *skip = mv_push_array(w->scratch, uint8_t, a->count);
    int64_t *less = mv_push_array(w->scratch, int64_t, (uint64_t)w->floor.bins + 1), held = 0;
    const mv_group_change *list;
    uint32_t count;

    out->least = mv_push_array(w->scratch, uint64_t, w->floor.bins);
    if (!skip || !less || !out->least)
        return false;
    memset(skip, 1, a->preexisting); /* preexisting blocks may belong to any line, so they are
                                      * skipped */
    list = mv_group_changes(w, a->block, skip, &count);
    for (uint32_t i = 0, end; list && i < count; i = end) {
        bool grows = false;

        for (end = i; end < count && list[end].group == list[i].group;) {
            uint32_t bin = list[end].bin;
            int64_t by = 0;

            for (; end < count && list[end].group == list[i].group && list[end].bin == bin; end++)
                by += list[end].bytes;
            grows = grows || (bin > first && by > 0);
        }
        for (uint32_t k = i; !grows && k < end; k++)
            less[list[k].bin] += list[k].bytes;
    }
    for (uint32_t b = 0; b < w->floor.bins; b++) {
        held += less[b];
        out->least[b] = w->floor.least[b] - (uint64_t)held;
    }
    return list != NULL;
}

/* Withdraws sites, largest first, until the floor no longer contradicts the remaining ones. `kept`
 * must be sorted by site. */
static bool check_floor(mv_leak_state *w, const mv_kept_block *kept, uint32_t count, uint32_t first)
{
    uint64_t *born = mv_push_array(w->scratch, uint64_t, w->floor.bins);
    mv_floor_proof proof, of_steps;
    mv_floor rest = w->floor;

    if (!born)
        return false;
    for (;;) {
        uint32_t biggest = biggest_site(w, kept, count);

        if (biggest == MV_NO_ROW)
            return true;
        memset(born, 0, w->floor.bins * sizeof *born);
        for (uint32_t i = 0; i < count; i++)
            if (is_steady(&w->uses[kept[i].site]))
                born[kept[i].bin] += kept[i].size;
        if (!mv_floor_prove(w->scratch, &w->floor, born, first, &proof))
            return false;
        w->is_proven = proof == MV_FLOOR_RISES;
        if (proof != MV_FLOOR_STAYS)
            return true;
        if (w->offset == MV_NO_ROW) {
            if (!floor_of_steps(w, first, &rest) ||
                !mv_floor_prove(w->scratch, &rest, born, first, &of_steps))
                return false;
            w->offset = biggest;
            w->is_hidden = of_steps == MV_FLOOR_RISES;
        }
        w->uses[biggest].growth.kind = MV_GROWTH_NONE;
    }
}

/* Returns the reason why a growing block may be the steps' input: a batch of growing size lives
 * until the next batch is loaded, and so does a tensor that is extended. */
static const char *why_follows(mv_leak_state *w, uint32_t site)
{
    char label[160];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[site], label, sizeof label);
    return mv_arena_printf(w->arena,
                           "the memory of %s is larger in each step, but the steps' temporary "
                           "memory grows with it, as with batches that grow",
                           label);
}

/* Adds the sites that hold a single block which is replaced by a larger one in each step. */
static bool add_growing_blocks(mv_leak_state *w)
{
    mv_growing_blocks found;

    if (!mv_growing_blocks_find(w, &found))
        return false;
    for (uint32_t i = 0; i < found.count; i++) {
        mv_site_use *use = &w->uses[found.blocks[i].site];

        if (use->leaked > 0)
            continue;
        if (found.blocks[i].follows_work) {
            w->follows = why_follows(w, found.blocks[i].site);
            if (!w->follows)
                return false;
            continue;
        }
        for (uint32_t k = w->lives->allocs.preexisting; k < w->floor.lasting.count; k++) {
            uint32_t row = w->floor.lasting.row[k];

            if (w->lives->allocs.freed[row] == MV_NEVER && mv_leak_use_of(w, row) == use)
                leak_block(w, use, row);
        }
        use->bytes_per_step = found.blocks[i].bytes_per_step;
        use->is_growing_block = true;
        use->growth.confidence = 1 - ldexp(1, -(int)(found.blocks[i].steps / 2));
    }
    w->is_doubtful = w->is_doubtful || found.is_doubtful;
    return true;
}

static bool has_leak(const mv_leak_state *w)
{
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (w->uses[s].leaked > 0)
            return true;
    return false;
}

/* Marks the live blocks of the growing lines as leaked. of_group[group] is the index of the group's
 * line plus 1, or 0. */
static void leak_lines(mv_leak_state *w, const mv_growing_line *lines, const uint32_t *of_group,
                       mv_site_use **most)
{
    const mv_alloc_lives *a = &w->lives->allocs;

    for (uint32_t k = a->preexisting; k < w->floor.lasting.count; k++) {
        uint32_t row = w->floor.lasting.row[k];
        uint32_t site = mv_site_of(&w->sites, a->stack[row]), line = of_group[w->sites.group[site]];
        mv_site_use *use = &w->uses[site];

        if (line == 0 || a->freed[row] != MV_NEVER || is_nameless(w, site))
            continue;
        leak_block(w, use, row);
        use->is_growing_block = true;
        if (!most[line - 1] || use->leaked_bytes > most[line - 1]->leaked_bytes) {
            if (most[line - 1])
                most[line - 1]->bytes_per_step = 0;
            most[line - 1] = use;
            use->bytes_per_step = lines[line - 1].bytes_per_step;
        }
        use->growth.confidence = 0.75; /* the line grew, but so far it has freed all of its
                                        * blocks */
    }
}

static uint32_t site_of_group(const mv_leak_state *w, uint32_t group)
{
    uint32_t s = 0;

    while (w->sites.group[s] != group)
        s++;
    return s;
}

/* Adds the lines whose blocks grow in total, provided that the floor clearly rises and that no
 * other line is the cause. */
static bool add_growing_lines(mv_leak_state *w)
{
    mv_growing_line *lines;
    mv_site_use **most;
    uint32_t count, *of_group;

    if (has_leak(w) || !w->rises_plainly)
        return true;
    if (!mv_growing_lines_find(w, &lines, &count))
        return false;
    if (count == 0)
        return true;
    of_group = mv_push_array(w->scratch, uint32_t, w->sites.groups);
    most = mv_push_array(w->scratch, mv_site_use *, count);
    if (!of_group || !most)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!lines[i].follows_work)
            of_group[lines[i].group] = i + 1;
        else if (!w->follows && !(w->follows = why_follows(w, site_of_group(w, lines[i].group))))
            return false;
    leak_lines(w, lines, of_group, most);
    return true;
}

/* Whether inferred steps may be layers of a single pass. This is the case if a block that was freed
 * before the end of the first judged step still waits for a stream, because the program is then
 * ahead of the device by all later steps. */
static bool is_one_pass(const mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;
    uint32_t first = mv_growth_first_bin(steps->count), end;

    if (steps->source != MV_STEPS_INFERRED || first >= steps->count)
        return false;
    end = steps->at[first];
    for (uint32_t i = a->preexisting; i < a->count && a->birth[i] < end; i++)
        if (a->freed[i] < end && a->completed[i] == MV_NEVER)
            return true;
    return false;
}

bool mv_leak_sites_evaluate(mv_leak_state *w)
{
    uint32_t first = mv_growth_first_bin(w->out->steps.count), count;
    mv_kept_block *kept;

    if (!gather(w))
        return false;
    w->is_one_pass = is_one_pass(w);
    w->direction = direction_of_steps(w);
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (is_candidate(&w->uses[s]) && !evaluate_births(w, s))
            return false;
    if (!check_state(w))
        return false;
    kept = list_kept(w, &count);
    if (!kept ||
        (count > 0 && (!check_sizes(w, kept, count, first) || !check_floor(w, kept, count, first))))
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (is_steady(&w->uses[s]) && !may_be_freed_at_once(w, s) && !may_fill(w, s))
            leak_site(w, &w->uses[s]);
    w->out->floor.rises = w->out->floor.rises || (w->is_proven && has_leak(w));
    return add_growing_blocks(w) && add_growing_lines(w);
}
