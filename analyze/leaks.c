#include "analyze/leaks.h"

#include <stdlib.h>

#include "analyze/growth.h"
#include "analyze/leak_kind.h"
#include "analyze/leak_signs.h"
#include "analyze/program_exit.h"
#include "analyze/sites.h"

/* Without steps: a site that kept something on fewer separate occasions does not grow. */
#define OCCASIONS_TO_WORRY 3

/* Of so many sizes one must recur, or the site is a cache that gets an entry a shape. */
#define SIZES_TO_RECUR 4

static const char *const verdict_names[] = {"unknown", "clean", "leak"};

static const char *const kind_names[MV_LEAK_KIND_COUNT] = {
#define MV_LEAK_KIND_NAME(name, text) text,
    MV_LEAK_KIND_LIST(MV_LEAK_KIND_NAME)
#undef MV_LEAK_KIND_NAME
};

/* What is known of one site. Rows of blocks are rows of lives->allocs. */
typedef struct {
    uint32_t alive, freed; /* blocks born in the trace */
    uint32_t occasions;    /* runs of allocations in which it kept a block */
    uint32_t first_alive;  /* where its rows start in work.alive_row and work.born */
    uint32_t first_freed;  /* where its rows start in work.lived */
    uint64_t leaked_bytes, retained_bytes;
    uint64_t bytes_per_step;
    uint32_t leaked, retained; /* blocks */
    uint32_t first_event, last_event;
    mv_growth growth;
} site_use;

/* A block alive: the bytes asked for, and the bin of its birth. */
typedef struct {
    uint64_t bytes;
    uint32_t bin;
} sized;

typedef struct {
    mv_arena *arena;   /* of the result */
    mv_arena *scratch; /* gone at the end */
    const mv_trace *trace;
    const mv_lives *lives;
    mv_sites sites;
    site_use *uses;      /* [sites.count] */
    uint32_t *alive_row; /* blocks alive, by site, in order of birth */
    uint32_t *born;      /* the bin of each of them */
    sized *sized;        /* room for those of one site */
    uint32_t *lived;     /* bins that freed blocks lived through, by site */
    mv_leaks *out;
} work;

static site_use *use_of(const work *w, uint32_t row)
{
    return &w->uses[mv_site_of(&w->sites, w->lives->allocs.stack[row])];
}

static bool is_candidate(const site_use *use)
{
    return use->alive >= 2;
}

static void count_uses(work *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const site_use *before = NULL;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        site_use *use = use_of(w, i);

        if (a->freed[i] == MV_NEVER) {
            use->occasions += use->occasions == 0 || use != before;
            use->alive++;
        } else {
            use->freed++;
        }
        before = use;
    }
}

/* Makes room for the rows of the sites that are worth a look. */
static bool make_room(work *w)
{
    uint32_t alive = 0, freed = 0;

    for (uint32_t s = 0; s < w->sites.count; s++) {
        site_use *use = &w->uses[s];

        use->first_alive = alive;
        use->first_freed = freed;
        if (!is_candidate(use))
            continue;
        alive += use->alive;
        freed += use->freed;
        use->alive = use->freed = 0;
    }
    w->alive_row = mv_push_array(w->scratch, uint32_t, alive);
    w->born = mv_push_array(w->scratch, uint32_t, alive);
    w->sized = mv_push_array(w->scratch, sized, alive);
    w->lived = mv_push_array(w->scratch, uint32_t, freed);
    return w->alive_row && w->born && w->sized && w->lived;
}

static void fill_rows(work *w, const uint8_t *candidate)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;
    uint32_t bin = 0;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t site = mv_site_of(&w->sites, a->stack[i]);
        site_use *use = &w->uses[site];

        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (!candidate[site])
            continue;
        if (a->freed[i] == MV_NEVER) {
            w->alive_row[use->first_alive + use->alive] = i;
            w->born[use->first_alive + use->alive++] = bin;
        } else {
            bool within = bin == steps->count || a->freed[i] < steps->at[bin];
            uint32_t end = within ? bin : mv_steps_bin(steps, a->freed[i]);
            w->lived[use->first_freed + use->freed++] = end - bin;
        }
    }
}

static bool gather(work *w)
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

/* Of the blocks born in bins outside the judged ones, as many of each bin belong to the leak as
 * a judged bin left at most; the newest of them. Where the site also frees blocks and leaks in
 * some steps only, the youngest may as well be in use. */
static uint32_t blocks_of_bin(const mv_growth *g, const site_use *use, uint32_t bin,
                              uint32_t blocks)
{
    bool in_each_step = 4 * (uint64_t)g->bins >= 3 * ((uint64_t)g->last - g->first + 1);

    if (bin >= g->first && bin <= g->last)
        return blocks;
    if (bin > g->last && use->freed > 0 && !in_each_step)
        return 0;
    return blocks < g->most ? blocks : g->most;
}

static void leak_block(work *w, site_use *use, uint32_t row)
{
    const mv_alloc_lives *a = &w->lives->allocs;

    w->out->is_leaked[row] = 1;
    if (use->leaked++ == 0)
        use->first_event = a->birth[row];
    use->last_event = a->birth[row];
    use->leaked_bytes += a->block[row];
}

static void leak_site(work *w, site_use *use)
{
    const uint32_t *rows = w->alive_row + use->first_alive, *born = w->born + use->first_alive;
    const mv_growth *g = &use->growth;
    uint64_t judged_bytes = 0, bins = (uint64_t)g->last - g->first + 1;

    for (uint32_t i = 0, end; i < use->alive; i = end) {
        uint32_t take;

        for (end = i + 1; end < use->alive && born[end] == born[i];)
            end++;
        take = blocks_of_bin(g, use, born[i], end - i);
        for (uint32_t k = end - take; k < end; k++) {
            leak_block(w, use, rows[k]);
            if (born[k] >= g->first && born[k] <= g->last)
                judged_bytes += w->lives->allocs.block[rows[k]];
        }
    }
    use->bytes_per_step = (judged_bytes + bins / 2) / bins;
}

static int by_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

/* Whether at least each fourth size among the blocks that a site keeps was kept in several bins. */
static bool sizes_recur(work *w, const site_use *use)
{
    uint32_t sizes = 0, recurring = 0;

    for (uint32_t i = 0; i < use->alive; i++) {
        uint32_t at = use->first_alive + i;
        w->sized[i] = (sized){w->lives->allocs.requested[w->alive_row[at]], w->born[at]};
    }
    qsort(w->sized, use->alive, sizeof *w->sized, by_size);
    for (uint32_t i = 0, end; i < use->alive; i = end) {
        for (end = i + 1; end < use->alive && w->sized[end].bytes == w->sized[i].bytes;)
            end++;
        sizes++;
        recurring += w->sized[end - 1].bin != w->sized[i].bin;
    }
    return SIZES_TO_RECUR * (uint64_t)recurring >= sizes;
}

/* True when some site might grow but the steps are too few. */
static bool judge_sites(work *w)
{
    bool doubtful = false;

    for (uint32_t s = 0; s < w->sites.count; s++) {
        site_use *use = &w->uses[s];
        mv_growth_site site = {.marks = w->out->steps.count,
                               .born = w->born + use->first_alive,
                               .alive = use->alive,
                               .lived = w->lived + use->first_freed,
                               .freed = use->freed};

        if (!is_candidate(use))
            continue;
        site.sizes_recur = sizes_recur(w, use);
        use->growth = mv_growth_judge(&site);
        doubtful = doubtful || use->growth.kind == MV_GROWTH_MAYBE;
        if (use->growth.kind == MV_GROWTH_STEADY)
            leak_site(w, use);
    }
    return doubtful;
}

static void add_retained(work *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_leaks *out = w->out;

    for (uint32_t i = 0; i < a->count; i++) {
        site_use *use;

        if (a->freed[i] != MV_NEVER)
            continue;
        out->live_bytes += a->block[i];
        if (w->out->is_leaked[i]) {
            out->leaked_bytes += a->block[i];
            continue;
        }
        use = use_of(w, i);
        use->retained_bytes += a->block[i];
        use->retained++;
        out->retained_bytes += a->block[i];
        if (i < a->preexisting)
            out->preexisting_bytes += a->block[i];
    }
}

/* ---- rows of the report ------------------------------------------------------------------ */

static int by_leaked(const void *a, const void *b)
{
    const mv_leak *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->first_event > y->first_event) - (x->first_event < y->first_event);
}

static int by_retained(const void *a, const void *b)
{
    const mv_retained *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->stack.row > y->stack.row) - (x->stack.row < y->stack.row);
}

/* The row of each group, numbered as groups first occur; MV_NO_ROW: none yet. */
static uint32_t *no_rows(work *w)
{
    uint32_t *row = mv_push_array(w->scratch, uint32_t, w->sites.groups);

    for (uint32_t g = 0; row && g < w->sites.groups; g++)
        row[g] = MV_NO_ROW;
    return row;
}

static void merge_leak(mv_leak *leak, const site_use *use, mv_stack_id stack, uint64_t *biggest)
{
    bool is_first = leak->blocks == 0;

    leak->bytes += use->leaked_bytes;
    leak->blocks += use->leaked;
    leak->bytes_per_step += use->bytes_per_step;
    if (is_first || use->first_event < leak->first_event)
        leak->first_event = use->first_event;
    if (is_first || use->last_event > leak->last_event)
        leak->last_event = use->last_event;
    if (use->growth.confidence > leak->confidence)
        leak->confidence = use->growth.confidence;
    if (is_first || use->leaked_bytes > *biggest) {
        *biggest = use->leaked_bytes;
        leak->stack = stack;
    }
}

/* ---- why each leaks ---------------------------------------------------------------------- */

/* Blocks a step that modules without hooks leave behind: the mark of a kept graph. */
static uint32_t blocks_kept_by_modules(const work *w)
{
    uint32_t kept = 0;

    for (uint32_t s = 0; s < w->sites.count; s++)
        if (w->uses[s].leaked > 0 &&
            mv_module_path_of(w->trace, w->sites.stack[s]) == MV_MODULE_PLAIN)
            kept += w->uses[s].growth.most;
    return kept;
}

static bool explain(work *w, const uint32_t *leak_of)
{
    mv_leak_signs *signs = mv_push_array(w->scratch, mv_leak_signs, w->out->count);
    uint32_t kept = blocks_kept_by_modules(w);

    if (!signs ||
        !mv_leak_signs_find(w->scratch, w->trace, w->lives, &w->sites, w->out, leak_of, signs))
        return false;
    for (uint32_t k = 0; k < w->out->count; k++) {
        mv_leak *leak = &w->out->leaks[k];

        signs[k].kept_by_modules = kept;
        leak->lines = 1;
        leak->kind = mv_leak_kind_of(w->trace, w->sites.kinds, leak->stack, &signs[k]);
        leak->culprit = mv_culprit_frame(w->trace, w->sites.kinds, leak->stack);
    }
    return true;
}

static bool advise(work *w)
{
    for (uint32_t k = 0; k < w->out->count; k++) {
        mv_leak *leak = &w->out->leaks[k];

        leak->evidence = mv_leak_evidence(leak->kind);
        leak->advice = mv_leak_advice(w->arena, w->trace, leak);
        if (!leak->advice)
            return false;
    }
    return true;
}

/* ---- one graph, one entry ---------------------------------------------------------------- */

/* The frames that a graph's blocks have in common: from whoever called the modules outwards. A
 * block that was made there without a module (a loss) has the whole stack in common. */
typedef struct {
    const mv_frame_id *frames;
    uint32_t count;
    mv_leak leak;
} graph_part;

static graph_part graph_part_of(const work *w, const mv_leak *leak)
{
    uint32_t count, from;
    const mv_frame_id *frames = mv_stack_frames(w->trace, leak->stack, &count);

    from = mv_graph_owner(w->trace, w->sites.kinds, leak->stack);
    if (from == count)
        for (from = 0; from < count && w->sites.kinds[frames[from].row] != MV_FRAME_USER;)
            from++;
    return (graph_part){frames + from, count - from, *leak};
}

static int by_frames(const graph_part *a, const graph_part *b)
{
    uint32_t count = a->count < b->count ? a->count : b->count;

    for (uint32_t i = 0; i < count; i++)
        if (a->frames[i].row != b->frames[i].row)
            return a->frames[i].row < b->frames[i].row ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

/* Parts of one graph are neighbours, the one that has a graph's kind and most bytes first. */
static int by_graph(const void *left, const void *right)
{
    const graph_part *a = left, *b = right;
    int order = by_frames(a, b);

    if (order != 0)
        return order;
    if (mv_leak_is_graph(a->leak.kind) != mv_leak_is_graph(b->leak.kind))
        return mv_leak_is_graph(a->leak.kind) ? -1 : 1;
    return by_leaked(&a->leak, &b->leak);
}

static void join(mv_leak *graph, const mv_leak *part)
{
    graph->bytes += part->bytes;
    graph->blocks += part->blocks;
    graph->bytes_per_step += part->bytes_per_step;
    graph->lines += part->lines;
    if (part->first_event < graph->first_event)
        graph->first_event = part->first_event;
    if (part->last_event > graph->last_event)
        graph->last_event = part->last_event;
    if (part->confidence > graph->confidence)
        graph->confidence = part->confidence;
}

/* What a part of a graph may be: other reasons stand for themselves. */
static bool joins_graph(const mv_leak *leak)
{
    return mv_leak_is_graph(leak->kind) || leak->kind == MV_LEAK_UNKNOWN ||
           leak->kind == MV_LEAK_LOSS;
}

static bool join_graphs(work *w)
{
    mv_leaks *out = w->out;
    graph_part *parts = mv_push_array(w->scratch, graph_part, out->count);
    mv_leak *graph = NULL;
    uint32_t count = 0;

    if (!parts)
        return false;
    for (uint32_t k = 0; k < out->count; k++)
        parts[k] = graph_part_of(w, &out->leaks[k]);
    qsort(parts, out->count, sizeof *parts, by_graph);
    for (uint32_t k = 0; k < out->count; k++) {
        const graph_part *part = &parts[k];

        if (k == 0 || by_frames(part - 1, part) != 0)
            graph = NULL;
        if (graph && joins_graph(&part->leak)) {
            join(graph, &part->leak);
            continue;
        }
        out->leaks[count] = part->leak;
        if (!graph && mv_leak_is_graph(part->leak.kind) && part->count > 0) {
            graph = &out->leaks[count];
            graph->culprit = part->frames[0];
        }
        count++;
    }
    out->count = count;
    return true;
}

/* The row of each site's leak. */
static uint32_t *leaks_of_sites(work *w, const uint32_t *row_of)
{
    uint32_t *leak_of = mv_push_array(w->scratch, uint32_t, w->sites.count);

    for (uint32_t s = 0; leak_of && s < w->sites.count; s++)
        leak_of[s] = w->uses[s].leaked ? row_of[w->sites.group[s]] : MV_NO_ROW;
    return leak_of;
}

static bool list_leaks(work *w)
{
    uint32_t *row_of = no_rows(w), *leak_of, sites = 0;
    uint64_t *biggest;

    for (uint32_t s = 0; s < w->sites.count; s++)
        sites += w->uses[s].leaked > 0;
    w->out->leaks = mv_push_array(w->arena, mv_leak, sites);
    biggest = mv_push_array(w->scratch, uint64_t, sites);
    if (!row_of || !w->out->leaks || !biggest)
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++) {
        uint32_t *row = &row_of[w->sites.group[s]];

        if (w->uses[s].leaked == 0)
            continue;
        if (*row == MV_NO_ROW)
            *row = w->out->count++;
        merge_leak(&w->out->leaks[*row], &w->uses[s], w->sites.stack[s], &biggest[*row]);
    }
    leak_of = leaks_of_sites(w, row_of);
    if (!leak_of || !explain(w, leak_of) || !join_graphs(w))
        return false;
    qsort(w->out->leaks, w->out->count, sizeof *w->out->leaks, by_leaked);
    return advise(w);
}

static bool list_retained(work *w)
{
    uint32_t *row_of = no_rows(w), sites = 0;
    uint64_t *biggest;
    mv_leaks *out = w->out;

    for (uint32_t s = 0; s < w->sites.count; s++)
        sites += w->uses[s].retained > 0;
    out->retained = mv_push_array(w->arena, mv_retained, sites);
    biggest = mv_push_array(w->scratch, uint64_t, sites);
    if (!row_of || !out->retained || !biggest)
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++) {
        const site_use *use = &w->uses[s];
        uint32_t *row = &row_of[w->sites.group[s]];

        if (use->retained == 0)
            continue;
        if (*row == MV_NO_ROW)
            *row = out->retained_count++;
        if (out->retained[*row].blocks == 0 || use->retained_bytes > biggest[*row]) {
            biggest[*row] = use->retained_bytes;
            out->retained[*row].stack = w->sites.stack[s];
        }
        out->retained[*row].bytes += use->retained_bytes;
        out->retained[*row].blocks += use->retained;
    }
    qsort(out->retained, out->retained_count, sizeof *out->retained, by_retained);
    return true;
}

/* ---- the verdict ------------------------------------------------------------------------- */

static uint32_t most_occasions(const work *w, uint32_t *alive)
{
    uint32_t most = 0;

    *alive = 0;
    for (uint32_t s = 0; s < w->sites.count; s++) {
        *alive += w->uses[s].alive;
        if (w->uses[s].occasions > most)
            most = w->uses[s].occasions;
    }
    return most;
}

static void decide(work *w, bool doubtful)
{
    mv_leaks *out = w->out;
    uint32_t alive, occasions = most_occasions(w, &alive);
    bool complete = w->lives->history == MV_HISTORY_COMPLETE;

    out->verdict = MV_VERDICT_CLEAN;
    if (out->count > 0) {
        out->verdict = MV_VERDICT_LEAK;
        out->why = "these lines keep more memory with every step, up to the end of the trace";
    } else if (w->lives->events.count == 0) {
        out->verdict = MV_VERDICT_UNKNOWN;
        out->why = "the file has no events: memory history was not recorded";
    } else if (alive == 0 && (complete || out->steps.count > 0)) {
        out->why = "nothing that was allocated in the trace is alive at its end";
    } else if (out->steps.count > 0 && doubtful) {
        out->verdict = MV_VERDICT_UNKNOWN;
        out->why = "memory was kept in several steps, but there are too few to tell growth "
                   "from warm-up";
    } else if (out->steps.count > 0) {
        out->why = "no line keeps memory step after step";
    } else if (occasions < OCCASIONS_TO_WORRY && complete) {
        out->why = "no steps were found, but no line kept memory on more than two occasions";
    } else {
        out->verdict = MV_VERDICT_UNKNOWN;
        out->why = "no steps were found in the trace: mark them with "
                   "torch.profiler.record_function(f'step {i}')";
    }
}

static bool find(work *w)
{
    bool doubtful = false;

    w->uses = mv_push_array(w->scratch, site_use, w->sites.count);
    w->out->is_leaked = mv_push_array(w->arena, uint8_t, w->lives->allocs.count);
    if (!w->uses || !w->out->is_leaked)
        return false;
    count_uses(w);
    if (w->out->steps.count > 0) {
        if (!gather(w))
            return false;
        doubtful = judge_sites(w);
    }
    add_retained(w);
    if (!list_leaks(w) || !list_retained(w))
        return false;
    decide(w, doubtful);
    return true;
}

mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err)
{
    mv_arena scratch;
    mv_lives before;
    work w = {.arena = arena, .scratch = &scratch, .trace = trace, .lives = &before, .out = out};
    mv_code code;

    *out = (mv_leaks){.why = "", .exit_event = mv_exit_event(trace, lives)};
    code = mv_steps_find(arena, trace, lives, &out->steps, err);
    if (code != MV_OK)
        return code;
    mv_arena_init(&scratch, arena->budget);
    code = mv_lives_before_exit(&scratch, trace, lives, &before, err);
    if (code == MV_OK)
        code = mv_sites_find(&scratch, trace, &w.sites, err);
    if (code == MV_OK && !find(&w))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "leaks");
    mv_arena_release(&scratch);
    return code;
}

const char *mv_leak_verdict_name(mv_leak_verdict verdict)
{
    return verdict_names[verdict <= MV_VERDICT_LEAK ? verdict : MV_VERDICT_UNKNOWN];
}

const char *mv_leak_kind_name(mv_leak_kind kind)
{
    return kind_names[kind < MV_LEAK_KIND_COUNT ? kind : MV_LEAK_UNKNOWN];
}

const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size)
{
    return leak->culprit.row == MV_NO_ROW ? mv_culprit_label(trace, kinds, leak->stack, out, size)
                                          : mv_frame_label(trace, leak->culprit, out, size);
}
