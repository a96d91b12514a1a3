#include "analyze/leaks/leaks.h"
#include "analyze/leaks/driver_growth.h"

#include <string.h>

#include "analyze/code/stack_marks.h"
#include "analyze/events/recorder.h"
#include "analyze/leaks/leak_graphs.h"
#include "analyze/leaks/leak_kind.h"
#include "analyze/leaks/leak_signs.h"
#include "analyze/leaks/leak_state.h"
#include "analyze/leaks/piles.h"
#include "analyze/leaks/program_exit.h"
#include "base/names.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

/* In a trace without steps, the minimum number of separate occasions on which a growing site kept
 * memory. */
#define OCCASIONS_TO_WORRY 3

/* In a trace without steps, this many live blocks of one line are a list or a leak. */
#define BLOCKS_OF_A_LIST 6

/* The minimum number of steps that make a pattern. */
#define STEPS_TO_BE_CLEAN 3

static const char *const verdict_names[] = {"unknown", "clean", "leak"};

static void add_retained(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_leaks *out = w->out;

    for (uint32_t k = 0; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];
        mv_site_use *use;

        if (a->freed[i] != MV_NEVER)
            continue;
        out->live_bytes += a->block[i];
        if (w->out->is_leaked[i]) {
            out->leaked_bytes += a->block[i];
            continue;
        }
        use = mv_leak_use_of(w, i);
        use->retained_bytes += a->block[i];
        use->retained++;
        out->retained_bytes += a->block[i];
        if (i < a->preexisting)
            out->preexisting_bytes += a->block[i];
    }
}

/* ---- rows of the report ------------------------------------------------------------------ */

int mv_leak_order(const void *a, const void *b)
{
    const mv_leak *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->first_event > y->first_event) - (x->first_event < y->first_event);
}

/* Allocates an array with a row number for each group, initially MV_NO_ROW. */
static uint32_t *no_rows(mv_leak_state *w)
{
    uint32_t *row = mv_push_array(w->scratch, uint32_t, w->sites.groups);

    for (uint32_t g = 0; row && g < w->sites.groups; g++)
        row[g] = MV_NO_ROW;
    return row;
}

/* Adds a site to a row of the report. The stack of a library's own thread contains no line of the
 * program, so it is not shown. */
static void merge_leak(mv_leak *leak, const mv_site_use *use, mv_stack_id stack, bool of_thread,
                       uint64_t *biggest)
{
    bool is_first = leak->blocks == 0;

    leak->own_threads += of_thread ? use->leaked_bytes : 0;

    leak->bytes += use->leaked_bytes;
    leak->blocks += use->leaked;
    leak->bytes_per_step += use->bytes_per_step;
    if (is_first || use->first_event < leak->first_event)
        leak->first_event = use->first_event;
    if (is_first || use->last_event > leak->last_event)
        leak->last_event = use->last_event;
    if (use->growth.confidence > leak->confidence)
        leak->confidence = use->growth.confidence;
    if (!of_thread && (!*biggest || use->leaked_bytes > *biggest)) {
        *biggest = use->leaked_bytes;
        leak->stack = stack;
    }
}

/* ---- the cause of each leak -------------------------------------------------------------- */

/* Returns how many blocks per step modules without hooks leave behind, which is a sign of a kept
 * graph. */
static uint32_t blocks_kept_by_modules(const mv_leak_state *w)
{
    uint32_t kept = 0;

    for (uint32_t s = 0; s < w->sites.count; s++)
        if (w->uses[s].leaked > 0 &&
            mv_module_path_of(w->trace, w->sites.stack[s]) == MV_MODULE_PLAIN)
            kept += w->uses[s].growth.most;
    return kept;
}

static bool explain(mv_leak_state *w, const uint32_t *leak_of)
{
    mv_leak_signs *signs = mv_push_array(w->scratch, mv_leak_signs, w->out->count);
    uint32_t kept = blocks_kept_by_modules(w);

    if (!signs || !mv_leak_signs_find(w, leak_of, signs))
        return false;
    for (uint32_t k = 0; k < w->out->count; k++) {
        mv_leak *leak = &w->out->leaks[k];

        signs[k].kept_by_modules = kept;
        signs[k].has_bulks =
            w->bulks[w->sites.group[mv_site_of(&w->sites, leak->stack)]].is_like_garbage;
        leak->lines = 1;
        leak->kind = w->uses[mv_site_of(&w->sites, leak->stack)].is_growing_block
                         ? MV_LEAK_GROWING_BLOCK
                         : mv_leak_kind_of(w->trace, w->sites.kinds, leak->stack, &signs[k]);
        leak->culprit = mv_culprit_frame(w->trace, w->sites.kinds, leak->stack);
    }
    return true;
}

static bool advise(mv_leak_state *w)
{
    for (uint32_t k = 0; k < w->out->count; k++) {
        mv_leak *leak = &w->out->leaks[k];

        leak->library = mv_leak_library(w->arena, w->trace, leak);
        leak->evidence = mv_leak_evidence(w->arena, w->trace, leak);
        leak->advice = mv_leak_advice(w->arena, w->trace, leak);
        if (!leak->evidence || !leak->advice)
            return false;
    }
    return true;
}

/* Returns the row of the leak to which each site belongs. */
static uint32_t *leaks_of_sites(mv_leak_state *w, const uint32_t *row_of)
{
    uint32_t *leak_of = mv_push_array(w->scratch, uint32_t, w->sites.count);

    for (uint32_t s = 0; leak_of && s < w->sites.count; s++)
        leak_of[s] = w->uses[s].leaked ? row_of[w->sites.group[s]] : MV_NO_ROW;
    return leak_of;
}

/* Sets the leak row of each leaked block. `joined` is indexed by leak.found. */
static bool name_blocks(mv_leak_state *w, const uint32_t *leak_of_site, const uint32_t *joined)
{
    mv_leaks *out = w->out;
    uint32_t *row_of = mv_push_array(w->scratch, uint32_t, w->sites.count + (uint64_t)1);

    if (out->count == 0)
        return true;
    out->leak_of = mv_push_array(w->arena, uint32_t, w->lives->allocs.count);
    if (!row_of || !out->leak_of)
        return false;
    for (uint32_t k = 0; k < out->count; k++)
        row_of[out->leaks[k].found] = k;
    for (uint32_t k = 0; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];
        if (out->is_leaked[i])
            out->leak_of[i] =
                row_of[joined[leak_of_site[mv_site_of(&w->sites, w->lives->allocs.stack[i])]]] + 1;
    }
    return true;
}

static bool list_leaks(mv_leak_state *w)
{
    uint32_t *row_of = no_rows(w), *leak_of, *joined, sites = 0;
    uint64_t *biggest;

    for (uint32_t s = 0; s < w->sites.count; s++)
        sites += w->uses[s].leaked > 0;
    w->out->leaks = mv_push_array(w->arena, mv_leak, sites);
    biggest = mv_push_array(w->scratch, uint64_t, sites);
    joined = mv_push_array(w->scratch, uint32_t, sites);
    if (!row_of || !w->out->leaks || !biggest || !joined)
        return false;
    for (uint32_t s = 0; s < w->sites.count; s++) {
        uint32_t *row = &row_of[w->sites.group[s]];

        if (w->uses[s].leaked == 0)
            continue;
        if (*row == MV_NO_ROW)
            *row = w->out->count++;
        w->out->leaks[*row].found = joined[*row] = *row;
        merge_leak(&w->out->leaks[*row], &w->uses[s], w->sites.stack[s], w->of_own_thread[s],
                   &biggest[*row]);
    }
    leak_of = leaks_of_sites(w, row_of);
    if (!leak_of || !explain(w, leak_of) ||
        !mv_leak_graphs_join(w->scratch, w->trace, w->sites.kinds, joined, w->out))
        return false;
    mv_sort_rows(w->scratch, w->out->leaks, w->out->count, MV_FALLING(mv_leak, bytes),
                 MV_RISING(mv_leak, first_event));
    return name_blocks(w, leak_of, joined) && advise(w);
}

static bool list_retained(mv_leak_state *w)
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
        const mv_site_use *use = &w->uses[s];
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
        out->retained[*row].in_progress += use->in_progress_bytes;
        out->retained[*row].blocks += use->retained;
    }
    mv_sort_rows(w->scratch, out->retained, out->retained_count, MV_FALLING(mv_retained, bytes),
                 MV_RISING(mv_retained, stack.row));
    return true;
}

/* ---- the unfinished step ----------------------------------------------------------------- */

/* Whether a stack allocates blocks that outlive steps, such as parameters and optimizer state. */
static bool outlives_steps(const mv_leak_state *w, const uint16_t *marks, mv_stack_id stack)
{
    return stack.row < w->trace->stacks.count &&
           marks[stack.row] & (MV_MARK_PARAMETER | MV_MARK_OPTIMIZER | MV_MARK_STATE);
}

static bool find_in_progress(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const uint16_t *marks = mv_stack_marks(w->scratch, w->trace, w->sites.kinds);

    if (!marks)
        return false;
    for (uint32_t k = w->floor.lasting.count; k-- > a->preexisting;) {
        uint32_t i = w->floor.lasting.row[k];

        if (a->birth[i] < w->out->steps.under_way)
            break;
        if (a->freed[i] != MV_NEVER || w->out->is_leaked[i] ||
            outlives_steps(w, marks, a->stack[i]))
            continue;
        w->out->in_progress.bytes += a->block[i];
        w->out->in_progress.blocks++;
        mv_leak_use_of(w, i)->in_progress_bytes += a->block[i];
    }
    return true;
}

/* ---- the verdict ------------------------------------------------------------------------- */

/* The evidence that decides the verdict if no site grows. */
typedef struct {
    uint32_t alive;     /* number of live blocks, of those born in the trace */
    uint32_t occasions; /* the highest mv_site_use.occasions of any site */
    uint32_t list;      /* site in the program's own code that keeps the most blocks, provided that
                      * these are at least BLOCKS_OF_A_LIST; or MV_NO_ROW */
    uint32_t born;      /* number of blocks born in the trace, alive or freed */
    bool has_stacks;    /* at least one allocation has a stack */
    bool comes_back;    /* result of mv_floor_comes_back: a line recurs, and the lowest level of
                      * allocated bytes does not rise */
} no_growth;

/* Counts the runs of allocations, each within one outermost module call. */
static uint32_t count_calls(const mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint32_t calls = 0, before = MV_NO_ROW;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t place = mv_outer_of(&w->outer, a->stack[i]);

        calls += place != before && place != MV_NO_ROW && w->outer.kind[place] == MV_OUTER_CALL;
        before = place;
    }
    return calls;
}

static bool look_without_growth(mv_leak_state *w, no_growth *o)
{
    uint32_t most = BLOCKS_OF_A_LIST - 1;

    *o = (no_growth){.list = MV_NO_ROW,
                     .born = w->lives->allocs.count - w->lives->allocs.preexisting};
    for (uint32_t s = 0; s < w->sites.count; s++) {
        uint32_t place = mv_outer_of(&w->outer, w->sites.stack[s]);

        if (w->uses[s].alive > most && place != MV_NO_ROW &&
            w->outer.kind[place] != MV_OUTER_CALL) {
            most = w->uses[s].alive;
            o->list = s;
        }
        o->alive += w->uses[s].alive;
        if (w->uses[s].occasions > o->occasions)
            o->occasions = w->uses[s].occasions;
    }
    for (uint32_t k = 0; k < w->sites.stacks; k++)
        o->has_stacks = o->has_stacks || (w->stacks[k].births > 0 && k != MV_EMPTY_STACK.row);
    /* in a program with steps, a third of the recording may be shorter than one step; and if events
     * were lost, they may have contained steps */
    return w->out->steps.count > 0 || w->out->steps.under_way < w->lives->events.count ||
           w->lives->history == MV_HISTORY_TRUNCATED ||
           mv_floor_comes_back(w->scratch, w->lives, &w->outer, &o->comes_back);
}

#define RECORD_STEPS "record seven steps or more"

static const char *mark_steps(const mv_leak_state *w)
{
    return mv_recorder_of(w->trace)->steps;
}

static void set_verdict(mv_leaks *out, mv_leak_verdict verdict, const char *why, const char *settle)
{
    out->verdict = verdict;
    out->why = why;
    out->settle = settle;
}

static void set_unknown(mv_leaks *out, const char *lacks, const char *why, const char *settle)
{
    set_verdict(out, MV_VERDICT_UNKNOWN, why, settle);
    out->lacks = lacks;
}

/* Explains which stacks are missing. Older blocks and frees may have stacks even if the allocations
 * have none. */
static const char *nameless_text(const mv_leak_state *w, const no_growth *o)
{
    if (w->trace->frames.count == 0)
        return "the recording has no stacks";
    return o->has_stacks ? "the memory kept has no stacks"
                         : "the allocations in these events have no stacks";
}

static const char *why_nameless(mv_leak_state *w, const no_growth *o)
{
    const mv_leak_floor *f = &w->out->floor;
    const char *what = nameless_text(w, o);
    char rise[MV_SIZE_TEXT], last[MV_SIZE_TEXT];

    if (f->steps < 2 || f->last <= f->first)
        return mv_arena_printf(w->arena, "%s, so no line can be judged", what);
    return mv_arena_printf(
        w->arena, "the floor rises by %s to %s over %u steps, but %s, so no line can be named",
        mv_size_text(rise, f->last - f->first), mv_size_text(last, f->last), f->steps, what);
}

/* Decides the verdict if nothing was allocated in these events. There is then no line to evaluate,
 * with or without stacks. */
static void decide_without_births(mv_leak_state *w)
{
    const mv_recorder *recorder = mv_recorder_of(w->trace);
    bool is_cut = w->lives->history == MV_HISTORY_TRUNCATED;
    const char *why = "nothing was allocated in these events";

    if (is_cut)
        why = mv_arena_printf(w->arena, "%s: %s", why, w->lives->history_why);
    if (is_cut && w->lives->events.count == 1)
        set_unknown(w->out, "no history", why, recorder->events);
    else
        set_unknown(w->out, "no allocations", why, is_cut ? recorder->more : RECORD_STEPS);
}

static const char *why_list(mv_leak_state *w, uint32_t site)
{
    char label[160];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[site], label, sizeof label);
    return mv_arena_printf(w->arena,
                           "no steps were found; %u blocks of %s are alive, which a growing list "
                           "or a leak would explain",
                           w->uses[site].alive, label);
}

/* Decides the verdict if a module call, or the end of an optimizer's step, shows that the program
 * has steps. Two calls may belong to one complete step and the unfinished step. */
static void decide_with_calls(mv_leak_state *w)
{
    const char *settle = mv_arena_printf(w->arena, RECORD_STEPS ", or %s", mark_steps(w));
    uint32_t calls = count_calls(w);

    if (calls <= 2)
        set_unknown(w->out, "one step at most",
                    mv_arena_printf(w->arena,
                                    "the recording shows one step at most, within %s of the model",
                                    calls == 2 ? "two calls" : "one call"),
                    settle);
    else
        set_unknown(w->out, "no steps found", "no steps were found in the trace", settle);
}

static void decide_without_steps(mv_leak_state *w, const no_growth *o)
{
    bool is_cut = w->lives->history == MV_HISTORY_TRUNCATED;
    mv_leaks *out = w->out;

    if (o->comes_back)
        set_verdict(
            out, MV_VERDICT_CLEAN,
            "no steps were found, but the lowest allocated total did not rise from the middle "
            "third of the recording to the last",
            "");
    else if (out->steps.count > 0)
        set_unknown(out, "only two steps",
                    "only two steps ended within the recording, too few to show a pattern",
                    is_cut ? mv_recorder_of(w->trace)->more : RECORD_STEPS);
    else if (is_cut)
        set_unknown(
            out, "too few steps",
            w->trace->notes[MV_NOTE_LOST_EVENTS].count > 0
                ? "the recording contains fewer than two steps, because events were lost"
                : "the recording contains fewer than two steps, since older events are lost",
            mv_recorder_of(w->trace)->more);
    else if (out->steps.under_way < w->lives->events.count)
        decide_with_calls(w);
    else if (o->list != MV_NO_ROW)
        set_unknown(out, "no steps found", why_list(w, o->list), mark_steps(w));
    else if (o->occasions < OCCASIONS_TO_WORRY && w->lives->history == MV_HISTORY_COMPLETE)
        set_verdict(out, MV_VERDICT_CLEAN,
                    "no steps were found, but no line kept memory on more than two occasions", "");
    else
        set_unknown(out, "no steps found", "no steps were found in the trace", mark_steps(w));
}

static void decide_with_waiting(mv_leak_state *w)
{
    const mv_bulks *b = &w->bulks[w->sites.group[w->waiting]];
    char label[160];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[w->waiting], label, sizeof label);
    set_unknown(w->out, "the next bulk free",
                mv_arena_printf(w->arena,
                                "%u blocks of %s are alive, but blocks of this line were freed all "
                                "at once before, %u time%s",
                                w->uses[w->waiting].alive, label, b->times, mv_plural(b->times)),
                b->of_collector ? "call gc.collect() before the recording ends"
                                : "record until they are freed, or twice as long");
}

/* Whether frees are missing from the recording. A line that seems to keep blocks may then have
 * freed them, so no line is evaluated. */
static bool is_unsure(const mv_leak_state *w)
{
    return w->lives->events.count > 0 && mv_fact_find(w->trace, MV_FACT_UNSURE);
}

/* Explains why a floor that is highest in the last step is not a trend. */
static const char *why_highest(mv_leak_state *w, uint32_t first, uint32_t last)
{
    const uint64_t *least = w->floor.least;
    uint64_t most = least[first], fall = 0;
    uint32_t rises = 0;
    char text[MV_SIZE_TEXT];

    if (least[last + 1] < least[last])
        return "; the floor falls again after the last whole step";
    for (uint32_t b = first + 1; b <= last; b++) {
        rises += least[b] > least[b - 1];
        most = least[b] > most ? least[b] : most;
        fall = most - least[b] > fall ? most - least[b] : fall;
    }
    if (fall > 0)
        return mv_arena_printf(w->arena, "; the floor fell by up to %s in between",
                               mv_size_text(text, fall));
    if (rises <= 2)
        return rises == 1 ? "; the floor rose once" : "; the floor rose twice";
    return mv_arena_printf(w->arena, "; the floor rose in %u of %u steps", rises, last - first);
}

/* Explains why the floor is higher in the last step than in the first although nothing grows; "" if
 * it is not higher. */
static const char *why_risen(mv_leak_state *w)
{
    const mv_leak_floor *f = &w->out->floor;
    uint32_t last = w->out->steps.count - 1, first = last + 1 - f->steps, step = first;

    if (w->rises_by)
        return mv_arena_printf(w->arena, "; the floor rises by %s", w->rises_by);
    if (f->last <= f->first)
        return "";
    while (step < last && w->floor.least[step] < w->floor.least[last])
        step++;
    if (step == last)
        return why_highest(w, first, last);
    return mv_arena_printf(w->arena, "; the floor was as high in step %u of %u", step,
                           w->out->steps.count);
}

/* Names the line that keeps memory although the floor does not rise. */
static const char *offset_line_text(mv_leak_state *w)
{
    const mv_site_use *use = &w->uses[w->offset];
    char label[160], text[MV_SIZE_TEXT];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[w->offset], label, sizeof label);
    return mv_arena_printf(w->arena, "%s keeps memory step after step (%s in %u blocks)", label,
                           mv_size_text(text, use->retained_bytes), use->retained);
}

static const char *why_clean(mv_leak_state *w)
{
    const char *risen = why_risen(w), *kept = "no line keeps memory step after step";

    if (w->offset != MV_NO_ROW)
        kept = mv_arena_printf(w->arena, "%s, but as much is freed elsewhere", offset_line_text(w));
    return risen ? mv_arena_printf(w->arena, "%s%s", kept, risen) : NULL;
}

static void decide_with_hidden(mv_leak_state *w)
{
    set_unknown(w->out, "steady steps",
                mv_arena_printf(w->arena,
                                "%s, hidden from the floor because other lines hold less and less",
                                offset_line_text(w)),
                "record until no line holds less than before");
}

/* Decides the verdict if a line occasionally keeps a block. */
static void decide_with_seldom(mv_leak_state *w)
{
    const mv_site_use *use = &w->uses[w->seldom];
    char label[160];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[w->seldom], label, sizeof label);
    set_unknown(
        w->out, "too few blocks",
        mv_arena_printf(w->arena,
                        "%s frees most of its blocks but seems to keep one now and then: %u "
                        "freed, %u alive, too few to distinguish growth from chance",
                        label, use->freed, use->alive),
        RECORD_STEPS);
}

static void decide(mv_leak_state *w, const no_growth *o)
{
    mv_leaks *out = w->out;
    bool complete = w->lives->history == MV_HISTORY_COMPLETE;

    if (is_unsure(w))
        set_unknown(
            out, "missing events",
            "events are missing that may have freed some blocks, so the memory kept is uncertain",
            mv_recorder_of(w->trace)->more);
    else if (out->count > 0)
        set_verdict(out, MV_VERDICT_LEAK,
                    "these lines keep more memory with every step, up to the end of the trace", "");
    else if (w->lives->events.count == 0)
        set_unknown(out, "no history",
                    w->trace->notes[MV_NOTE_LOST_EVENTS].count > 0 ? w->lives->history_why
                                                                   : "the file has no events",
                    mv_recorder_of(w->trace)->events);
    else if (w->lives->is_missing_allocs)
        set_unknown(out, "no allocations",
                    "allocations were not recorded (skip_actions), so no line can be named",
                    "record events of all kinds");
    else if (o->alive == 0 && (complete || out->steps.count > 0))
        set_verdict(out, MV_VERDICT_CLEAN,
                    "nothing that was allocated in the trace is alive at its end", "");
    else if (o->born == 0)
        decide_without_births(w);
    else if (w->is_nameless || !o->has_stacks)
        set_unknown(out, "no stacks", why_nameless(w, o), mv_recorder_of(w->trace)->stacks);
    else if (out->steps.count > 0 && w->is_doubtful)
        set_unknown(
            out, "too few steps",
            "memory was kept in several steps, but too few to distinguish growth from warm-up",
            RECORD_STEPS);
    else if (w->loop)
        set_unknown(
            out, "steps",
            mv_arena_printf(w->arena, "each of the inferred steps keeps memory, but %s", w->loop),
            mark_steps(w));
    else if (w->waiting != MV_NO_ROW)
        decide_with_waiting(w);
    else if (w->follows)
        set_unknown(out, "steps of one size", w->follows, "record steps with inputs of one size");
    else if (w->slowing != MV_NO_ROW || out->floor.rises)
        set_unknown(out, "the floor rises", mv_floor_risen_why(w),
                    "record longer: a cache stops growing once it is full");
    else if (w->is_hidden)
        decide_with_hidden(w);
    else if (out->steps.count > 0 && w->seldom != MV_NO_ROW)
        decide_with_seldom(w);
    else if (out->steps.count >= STEPS_TO_BE_CLEAN)
        set_verdict(out, MV_VERDICT_CLEAN, why_clean(w), "");
    else
        decide_without_steps(w, o);
}

static bool looks_like_growth(const mv_leaks *out, const no_growth *o)
{
    const mv_leak_floor *f = &out->floor;

    return out->verdict == MV_VERDICT_UNKNOWN &&
           ((f->steps >= 2 && f->last > f->first) || o->list != MV_NO_ROW);
}

static bool measure_floor(mv_leak_state *w, mv_err *err)
{
    const mv_steps *steps = &w->out->steps;
    uint32_t first = mv_growth_first_bin(steps->count);

    if (mv_floor_find(w->arena, w->lives, steps, &w->floor, err) != MV_OK)
        return false;
    w->out->floor = (mv_leak_floor){.all = w->floor};
    if (steps->count > first)
        w->out->floor = (mv_leak_floor){.first = w->floor.least[first],
                                        .last = w->floor.least[steps->count - 1],
                                        .steps = steps->count - first,
                                        .all = w->floor};
    w->explained = mv_push_array(w->scratch, int64_t, (uint64_t)w->floor.bins + 1);
    w->is_explained = mv_push_array(w->scratch, uint8_t, w->lives->allocs.count);
    return w->explained && w->is_explained && mv_floor_without_set_up(w);
}

/* ---- the pieces --------------------------------------------------------------------------- */

typedef enum { FIND_STEPS, FIND_FLOOR, FIND_PILES, FIND_GROWTH, FINISH } piece;

struct mv_leak_search {
    mv_leak_state state;
    const mv_lives *lives; /* the lives including the program's exit */
    mv_lives before;       /* the lives without the exit */
    mv_arena scratch;
    piece next;
};

mv_leak_search *mv_leak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_leaks *out)
{
    mv_leak_search *s = mv_push_struct(arena, mv_leak_search);

    if (!s)
        return NULL;
    *out =
        (mv_leaks){.lacks = "", .why = "", .settle = "", .exit_event = mv_exit_event(trace, lives)};
    *s = (mv_leak_search){.lives = lives};
    mv_arena_init(&s->scratch, arena->budget);
    s->state = (mv_leak_state){.arena = arena,
                               .scratch = &s->scratch,
                               .trace = trace,
                               .lives = &s->before,
                               .waiting = MV_NO_ROW,
                               .seldom = MV_NO_ROW,
                               .slowing = MV_NO_ROW,
                               .offset = MV_NO_ROW,
                               .out = out};
    s->next = FIND_STEPS;
    return s;
}

static mv_code find_steps(mv_leak_search *s, mv_err *err)
{
    mv_leak_state *w = &s->state;
    mv_code code = mv_steps_find(w->arena, w->trace, s->lives, &w->out->steps, err);

    if (code == MV_OK)
        code = mv_lives_before_exit(&s->scratch, w->trace, s->lives, &s->before, err);
    return code == MV_OK ? mv_sites_find(&s->scratch, w->trace, &w->sites, err) : code;
}

static bool find_floor(mv_leak_state *w, mv_err *err)
{
    w->uses = mv_push_array(w->scratch, mv_site_use, w->sites.count);
    w->out->is_leaked = mv_push_array(w->arena, uint8_t, w->lives->allocs.count);
    return w->uses && w->out->is_leaked &&
           mv_outer_find(w->scratch, w->trace, w->sites.kinds, &w->outer) &&
           measure_floor(w, err) && mv_leak_sites_count(w);
}

static bool find_growth(mv_leak_state *w)
{
    if (w->out->floor.rises && !mv_floor_without_gone(w))
        return false;
    if (w->out->floor.rises && !mv_made_once_explain(w))
        return false;
    if (w->out->steps.count > 0 && !is_unsure(w) && !mv_leak_sites_evaluate(w))
        return false;
    add_retained(w);
    return true;
}

static bool finish(mv_leak_state *w)
{
    no_growth o;

    if (!find_in_progress(w) || !mv_own_threads_join(w) || !list_leaks(w) || !list_retained(w) ||
        !mv_older_find(w) || !look_without_growth(w, &o))
        return false;
    decide(w, &o);
    if (!mv_folded_lines_find(w) || !mv_folded_time_check(w))
        return false;
    w->out->may_grow = looks_like_growth(w->out, &o);
    return w->out->why != NULL;
}

mv_code mv_leak_search_some(mv_leak_search *s, bool *again, mv_err *err)
{
    mv_leak_state *w = &s->state;
    bool has_memory = true;

    *again = s->next != FINISH;
    switch (s->next++) {
    case FIND_STEPS:
        return find_steps(s, err);
    case FIND_FLOOR:
        has_memory = find_floor(w, err);
        break;
    case FIND_PILES:
        has_memory = mv_piles_find(w);
        break;
    case FIND_GROWTH:
        has_memory = find_growth(w);
        break;
    case FINISH:
        has_memory = finish(w);
        break;
    }
    if (!has_memory)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "leaks");
    return *again ? MV_OK : mv_driver_growth_join(w->arena, w->trace, s->lives, w->out, err);
}

void mv_leak_search_end(mv_leak_search *s)
{
    if (s)
        mv_arena_release(&s->scratch);
}

mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err)
{
    mv_leak_search *s = mv_leak_search_begin(arena, trace, lives, out);
    mv_code code = MV_OK;

    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "leaks");
    for (bool again = true; code == MV_OK && again;)
        code = mv_leak_search_some(s, &again, err);
    mv_leak_search_end(s);
    return code;
}

mv_leak_verdict mv_leak_verdict_join(mv_leak_verdict a, mv_leak_verdict b)
{
    if (a == MV_VERDICT_LEAK || b == MV_VERDICT_LEAK)
        return MV_VERDICT_LEAK;
    return a == MV_VERDICT_CLEAN && b == MV_VERDICT_CLEAN ? MV_VERDICT_CLEAN : MV_VERDICT_UNKNOWN;
}

const char *mv_leak_verdict_name(mv_leak_verdict verdict)
{
    return verdict_names[verdict <= MV_VERDICT_LEAK ? verdict : MV_VERDICT_UNKNOWN];
}

MV_NAMES(mv_leak_kind_name, mv_leak_kind, MV_LEAK_KIND_LIST, MV_SECOND, "unknown")

const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size)
{
    return leak->culprit.row == MV_NO_ROW ? mv_culprit_label(trace, kinds, leak->stack, out, size)
                                          : mv_frame_label(trace, leak->culprit, out, size);
}
