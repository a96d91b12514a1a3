#include "analyze/advice/findings.h"

#include "analyze/advice/recording.h"
#include "analyze/code/labels.h"
#include "analyze/leaks/driver_growth.h"
#include "analyze/leaks/leak_words.h"
#include "analyze/leaks/pile_words.h"
#include "analyze/peak/peak_words.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/sort.h"

typedef struct {
    mv_text_maker words;
    const mv_reports *of;
    mv_findings *out;
    uint32_t capacity;
} findings_builder;

MV_NAMES(mv_finding_name, mv_finding_kind, MV_FINDING_LIST, MV_SECOND, "")

MV_NAMES(mv_report_name, mv_report, MV_REPORT_LIST, MV_SECOND, "")

static const char *size_of(findings_builder *g, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    return mv_make_text(&g->words, "%s", mv_size_text(text, bytes));
}

static const char *number_of(findings_builder *g, uint64_t number)
{
    char text[MV_COUNT_TEXT];

    return mv_make_text(&g->words, "%s", mv_count_text(text, number));
}

/* Returns "1 block", "1,200 blocks". */
static const char *blocks_of(findings_builder *g, uint32_t blocks)
{
    return mv_make_text(&g->words, "%s block%s", number_of(g, blocks), mv_plural(blocks));
}

static mv_finding finding(mv_finding_kind kind, mv_report report, const char *verdict,
                          uint64_t bytes)
{
    return (mv_finding){.kind = kind,
                        .report = report,
                        .verdict = verdict,
                        .bytes = bytes,
                        .culprit = "",
                        .advice = "",
                        .stack = MV_NO_STACK,
                        .category = MV_NO_ROW};
}

static void add(findings_builder *g, mv_finding f)
{
    if (g->out->count < g->capacity)
        g->out->rows[g->out->count++] = f;
    else
        g->words.failed = true;
}

/* Adds a finding whose sentence consists of the title and the reason. */
static void add_text(findings_builder *g, mv_finding f, const char *title, const char *what)
{
    f.title = title;
    f.what = what;
    f.text = !*what                ? title
             : strstr(title, ": ") ? mv_make_text(&g->words, "%s (%s)", title, what)
                                   : mv_make_text(&g->words, "%s: %s", title, what);
    add(g, f);
}

static void add_note(findings_builder *g, mv_report report, uint64_t bytes, const char *title,
                     const char *what)
{
    add_text(g, finding(MV_FINDING_NOTE, report, "", bytes), title, what);
}

static void set_place(mv_finding *f, uint32_t event, uint32_t first, uint32_t last)
{
    f->has_place = true;
    f->event = event;
    f->first = first;
    f->last = last;
}

static void blame(findings_builder *g, mv_finding *f, mv_stack_id stack)
{
    const uint8_t *kinds = g->of->sites->kinds;
    char label[256];

    f->stack = stack;
    f->culprit = mv_make_text(&g->words, "%s",
                              mv_culprit_label(g->of->trace, kinds, stack, label, sizeof label));
}

static void count_blocks(mv_finding *f, mv_finding_blocks of, uint64_t bytes, uint32_t blocks)
{
    f->of = of;
    f->held = bytes;
    f->blocks = blocks;
}

static void count_pin(mv_finding *f, const mv_pins *pins, const mv_pin *line)
{
    count_blocks(f, pins ? MV_BLOCKS_OF_PINS : MV_BLOCKS_OF_LINE, line->bytes, line->blocks);
    f->pins = pins;
}

/* ---- out of memory ----------------------------------------------------------------------- */

/* Describes the blocks that strand memory: "14 blocks (238 MiB) of train.py:61 strand 165 MiB in 3
 * segments". */
static const char *stranded_by(findings_builder *g, const mv_finding *f, const mv_pin *line)
{
    return mv_make_text(&g->words, "%s (%s) of %s strand%s %s in %s segment%s",
                        blocks_of(g, line->blocks), size_of(g, line->bytes), f->culprit,
                        line->blocks == 1 ? "s" : "", size_of(g, line->stranded),
                        number_of(g, line->segments), mv_plural(line->segments));
}

static void add_oom(findings_builder *g, const mv_oom *oom)
{
    bool has_pins = oom->verdict != MV_OOM_CAPACITY && oom->pins.line_count > 0;
    const mv_pin *line = has_pins ? oom->pins.lines : oom->holder_count > 0 ? oom->holders : NULL;
    const char *verdict = mv_oom_verdict_name(oom->verdict);
    mv_finding f = finding(MV_FINDING_OOM, MV_REPORT_OOM, verdict, oom->requested);
    char label[256];

    mv_culprit_label(g->of->trace, g->of->sites->kinds, oom->stack, label, sizeof label);
    f.title = mv_make_text(&g->words, "%s requested at %s: %s", size_of(g, oom->requested), label,
                           verdict);
    f.text = mv_make_text(&g->words, "%s; %s", f.title, oom->why);
    f.what = mv_make_text(&g->words, "%s; largest hole %s, %s free in total", oom->why,
                          size_of(g, oom->largest_hole), size_of(g, oom->bytes.free));
    f.advice = oom->advice;
    f.is_about_heap = has_pins;
    set_place(&f, mv_oom_moment(oom), line ? line->oldest : 0, mv_oom_moment(oom));
    if (line) {
        blame(g, &f, line->stack);
        count_pin(&f, has_pins ? &oom->pins : NULL, line);
        f.what = has_pins
                     ? mv_make_text(&g->words, "%s; %s", f.what, stranded_by(g, &f, line))
                     : mv_make_text(&g->words, "%s; %s in %s held by %s", f.what,
                                    size_of(g, line->bytes), blocks_of(g, line->blocks), f.culprit);
    }
    add(g, f);
}

#define RETRIED "each of these requests was tried twice, and cached memory was released in between"

static void add_ooms(findings_builder *g)
{
    const mv_ooms *found = g->of->ooms;

    for (uint32_t i = 0; i < found->count && i < MV_MOST_FINDINGS; i++)
        add_oom(g, &found->ooms[i]);
    if (found->count > MV_MOST_FINDINGS)
        add_note(g, MV_REPORT_OOM, 0,
                 mv_make_text(&g->words, "%s more request%s failed",
                              number_of(g, found->count - MV_MOST_FINDINGS),
                              mv_plural(found->count - MV_MOST_FINDINGS)),
                 "memviz oom lists them all");
    if (found->count && found->retries)
        add_note(g, MV_REPORT_OOM, found->released, found->retried, RETRIED);
}

/* ---- leaks ------------------------------------------------------------------------------- */

static void add_leak(findings_builder *g, const mv_leak *leak)
{
    uint32_t events = g->of->lives->events.count, exit = g->of->leaks->exit_event;
    mv_finding f = finding(MV_FINDING_LEAK, MV_REPORT_LEAKS, mv_leak_verdict_name(MV_VERDICT_LEAK),
                           leak->bytes);
    char label[256];

    f.advice = leak->advice;
    f.culprit =
        mv_make_text(&g->words, "%s",
                     mv_leak_label(g->of->trace, g->of->sites->kinds, leak, label, sizeof label));
    f.title = mv_make_text(&g->words, "%s a step, %s at the end", size_of(g, leak->bytes_per_step),
                           size_of(g, leak->bytes));
    f.text = mv_make_text(&g->words, "%s: %s", f.culprit, f.title);
    f.what = mv_make_text(&g->words,
                          "%s from event %s to %s %s alive at the end, confidence %.2f%s%s%s%s",
                          blocks_of(g, leak->blocks), number_of(g, leak->first_event),
                          number_of(g, leak->last_event), leak->blocks == 1 ? "is" : "are",
                          leak->confidence, leak->kind == MV_LEAK_UNKNOWN ? "" : "; ",
                          leak->kind == MV_LEAK_UNKNOWN ? "" : mv_leak_kind_name(leak->kind),
                          leak->kind == MV_LEAK_UNKNOWN ? "" : ": ", leak->evidence);
    f.stack = leak->stack;
    f.leak = (uint32_t)(leak - g->of->leaks->leaks);
    count_blocks(&f, MV_BLOCKS_OF_LEAK, leak->bytes, leak->blocks);
    set_place(&f, (exit < events ? exit : events) - 1, leak->first_event, events);
    add(g, f);
}

/* Adds driver memory that grows because objects are never destroyed. */
static void add_driver(findings_builder *g, const mv_driver_growth *grown)
{
    uint64_t bytes = mv_driver_growth_bytes(grown);
    mv_finding f =
        finding(MV_FINDING_LEAK, MV_REPORT_LEAKS, mv_leak_verdict_name(MV_VERDICT_LEAK), bytes);

    f.culprit = grown->label;
    f.title = mv_make_text(&g->words, "%s of driver memory for %s %s", size_of(g, bytes),
                           number_of(g, (uint32_t)grown->objects), grown->what);
    f.text = mv_make_text(&g->words, "%s: %s", grown->label, f.title);
    f.what = grown->why;
    f.advice = grown->advice;
    set_place(&f, g->of->lives->events.count - 1, 0, g->of->lives->events.count);
    add(g, f);
}

static void add_pile(findings_builder *g, const mv_pile *pile, uint32_t more)
{
    bool is_garbage = pile->cause == MV_PILE_OF_CYCLES;
    mv_finding f = finding(MV_FINDING_NOTE, MV_REPORT_LEAKS, is_garbage ? "garbage" : "piles_up",
                           pile->at_peak);
    char text[200];

    f.is_aside = true;
    blame(g, &f, pile->stack);
    f.title = mv_make_text(&g->words, "%s: up to %s of %s", f.culprit, size_of(g, pile->bytes),
                           is_garbage ? "garbage" : "garbage or list items");
    f.text = mv_make_text(&g->words, "%s; %s", f.title, mv_pile_text(pile, text, sizeof text));
    if (more)
        f.text = mv_make_text(&g->words, "%s; %s more", f.text, number_of(g, more));
    f.what = mv_make_text(&g->words, "%s; %s", text, pile->evidence);
    f.advice = pile->advice;
    add(g, f);
}

/* Adds the largest case of memory that piles up. Memory that is all freed at one line of the
 * program was most likely kept in a list, which `memviz leaks` shows. */
static void add_piles(findings_builder *g)
{
    const mv_leaks *found = g->of->leaks;
    const mv_pile *first = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < found->pile_count; i++)
        if (found->piles[i].proof != MV_PILE_ONE_PLACE) {
            first = first ? first : &found->piles[i];
            count++;
        }
    if (first)
        add_pile(g, first, count - 1);
}

/* Adds memory that remains although the program offloads its model or sleeps. At its low points,
 * such a program holds less memory than its parameters and optimizer state take at the peak. Other
 * programs keep these at every low point, which is not worth a finding. */
static void add_held(findings_builder *g, const mv_low_held *held)
{
    mv_finding f = finding(MV_FINDING_NOTE, MV_REPORT_LEAKS, "held", held->bytes);
    char text[MV_LOW_TEXT];

    if (held->count == 0 ||
        held->bytes >= g->of->peak->category_bytes[MV_CATEGORY_PARAMETER] +
                           g->of->peak->category_bytes[MV_CATEGORY_OPTIMIZER_STATE])
        return;
    f.is_aside = true;
    blame(g, &f, held->lines[0].stack);
    f.title = f.text = mv_make_text(
        &g->words, "%s", mv_low_held_text(g->of->trace, g->of->sites->kinds, held, text));
    f.what = mv_make_text(&g->words, "the least in each of the last %u whole steps", held->points);
    f.advice = "memviz peak --at low shows all that is held then";
    add(g, f);
}

/* The size of PyTorch's smallest segment (kSmallBuffer in CUDACachingAllocator.cpp): PyTorch never
 * returns less than this to the device. */
#define LEAST_RETURNED ((uint64_t)2 << 20)

static void add_graphs(findings_builder *g, const mv_graphs *graphs)
{
    mv_finding f = finding(MV_FINDING_NOTE, MV_REPORT_STATS, "graphs", 0);

    for (uint32_t i = 0; i < graphs->pool_count; i++)
        f.bytes += graphs->pools[i].left == MV_NO_BYTES ? 0 : graphs->pools[i].left;
    if (f.bytes < LEAST_RETURNED)
        return;
    f.is_aside = true;
    f.title = f.text = mv_make_text(&g->words, "%s served only CUDA graphs that were destroyed",
                                    size_of(g, f.bytes));
    f.what = "it stays reserved in their pools, as after profiling captures";
    f.advice = "once no graph of the pool exists, torch.cuda.empty_cache() returns it";
    add(g, f);
}

static void add_leaks(findings_builder *g)
{
    const mv_leaks *found = g->of->leaks;

    if (mv_driver_leak(found))
        add_driver(g, found->driver);

    for (uint32_t i = 0; i < found->count && i < MV_MOST_FINDINGS; i++)
        add_leak(g, &found->leaks[i]);
    if (found->count > MV_MOST_FINDINGS)
        add_note(g, MV_REPORT_LEAKS, 0,
                 mv_make_text(&g->words, "%u more leak%s", found->count - MV_MOST_FINDINGS,
                              mv_plural(found->count - MV_MOST_FINDINGS)),
                 "memviz leaks lists them all");
    add_piles(g);
    if (g->of->held && found->verdict != MV_VERDICT_LEAK)
        add_held(g, g->of->held);
    if (g->of->graphs)
        add_graphs(g, g->of->graphs);
}

/* Returns "after event 417". */
static const char *moment_of(findings_builder *g, uint32_t event)
{
    return event == MV_BEFORE ? "before the first event"
                              : mv_make_text(&g->words, "after event %s", number_of(g, event));
}

/* ---- fragmentation ----------------------------------------------------------------------- */

static void add_fragmentation(findings_builder *g)
{
    const mv_fragmentation *found = g->of->fragmentation;
    const mv_pin *line = found->pins.line_count ? &found->pins.lines[0] : NULL;
    mv_finding f = finding(MV_FINDING_FRAGMENTED, MV_REPORT_FRAGMENTATION,
                           mv_fragmentation_verdict_name(found), found->beyond);

    if (!found->fragmented)
        return;
    f.title = found->figures;
    f.text = mv_make_text(&g->words, "%s: %s", found->figures, found->why);
    f.what = mv_make_text(&g->words,
                          "%s; %s, %s is stranded next to blocks in use, %s is in unused segments",
                          found->why, moment_of(g, found->at.event), size_of(g, found->stranded),
                          size_of(g, found->whole));
    f.advice = found->advice_count ? found->advice[0].text : found->trials_note;
    f.is_about_heap = true;
    set_place(&f, found->at.event, 0, found->at.event);
    if (line) {
        blame(g, &f, line->stack);
        count_pin(&f, &found->pins, line);
        f.what = mv_make_text(&g->words, "%s; %s", f.what, stranded_by(g, &f, line));
    } else if (found->growths.count) {
        blame(g, &f, found->growths.rows[0].stack);
    }
    add(g, f);
}

/* Adds the finding that most unallocated memory was freed but waits for a stream. */
static void add_waiting(findings_builder *g)
{
    const mv_fragmentation *found = g->of->fragmentation;
    mv_finding f = finding(MV_FINDING_WAITING, MV_REPORT_FRAGMENTATION,
                           mv_fragmentation_verdict_name(found), found->waiting.bytes);

    if (!found->waits)
        return;
    blame(g, &f, found->waiting.lines[0].stack);
    f.title = mv_make_text(&g->words, "%s of %s reserved waits for streams", size_of(g, f.bytes),
                           size_of(g, found->bytes.reserved));
    f.text = mv_make_text(&g->words, "%s reserved: %s; most of it %s at %s",
                          size_of(g, found->bytes.reserved), found->why,
                          found->waiting.lines[0].is_free ? "freed" : "allocated", f.culprit);
    f.what = found->why;
    f.advice = found->advice_count ? found->advice[0].text : "";
    f.is_about_heap = true;
    set_place(&f, found->at.event, 0, found->at.event);
    count_blocks(&f, MV_BLOCKS_WAITING, found->waiting.bytes, found->waiting.blocks);
    add(g, f);
}

/* ---- the peak ---------------------------------------------------------------------------- */

/* Returns HELD for a file that contains only a heap state, because a file without a run has no
 * peak. */
static mv_finding_kind kind_of_peak(const findings_builder *g)
{
    return mv_recording_is_state_only(g->of->lives) ? MV_FINDING_HELD : MV_FINDING_PEAK;
}

/* Whether the peak's figures are exact for the run, or lower bounds. */
static const char *verdict_of_peak(const findings_builder *g)
{
    return g->of->lives->history == MV_HISTORY_COMPLETE ? "exact" : "at_least";
}

static void place_at_peak(const findings_builder *g, mv_finding *f)
{
    set_place(f, g->of->peak->at.event, 0, g->of->lives->events.count);
    f->is_about_heap = kind_of_peak(g) == MV_FINDING_HELD;
}

/* Adds a site of the peak. `label` distinguishes it from other sites with the same culprit. */
static void add_site(findings_builder *g, const mv_peak_site *site, const char *label)
{
    const mv_attribution *peak = g->of->peak;
    uint64_t all = peak->at.bytes.allocated;
    bool is_known = site->category != MV_CATEGORY_UNKNOWN;
    mv_finding f = finding(kind_of_peak(g), MV_REPORT_PEAK, verdict_of_peak(g), site->bytes);

    blame(g, &f, site->stack);
    f.culprit = label;
    f.title =
        mv_make_text(&g->words, "%s of %s, %.0f %%%s%s", size_of(g, site->bytes), size_of(g, all),
                     all ? 100.0 * (double)site->bytes / (double)all : 0, is_known ? ", " : "",
                     is_known ? peak->categories.name[site->category] : "");
    f.text = mv_make_text(&g->words, "%s: %s", label, f.title);
    if (f.kind == MV_FINDING_HELD)
        f.what =
            mv_make_text(&g->words, "%s at the moment of the snapshot", blocks_of(g, site->blocks));
    else
        f.what = mv_make_text(&g->words, "%s at the peak; without %s the peak would be %s lower",
                              blocks_of(g, site->blocks), site->blocks == 1 ? "it" : "them",
                              size_of(g, site->marginal));
    f.advice = mv_category_advice(site->category);
    f.category = site->category;
    count_blocks(&f, MV_BLOCKS_OF_LINE, site->bytes, site->blocks);
    place_at_peak(g, &f);
    if (f.kind == MV_FINDING_HELD && !is_known)
        f.advice = "";
    add(g, f);
}

/* Labels of `count` sites, as in `memviz peak`: sites may differ only in their category. */
static const char **labels_of(findings_builder *g, const mv_peak_site *const *sites, uint32_t count)
{
    mv_labelled *rows = mv_push_array(g->words.arena, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = g->of->trace,
                                .kinds = g->of->sites->kinds,
                                .stack = sites[i]->stack,
                                .key = sites[i]->category,
                                .bytes = sites[i]->bytes};
    return rows ? mv_labels_find(g->words.arena, rows, count, false) : NULL;
}

/* Adds the bytes that belong to no site, and puts them first if no site has as many bytes. */
static void add_unattributed(findings_builder *g, mv_finding_kind kind)
{
    mv_finding f = finding(kind, MV_REPORT_PEAK, verdict_of_peak(g), g->of->peak->unattributed);

    f.text = f.title =
        mv_make_text(&g->words, "%s %s has no stack", size_of(g, f.bytes),
                     kind_of_peak(g) == MV_FINDING_PEAK ? "of the peak" : "of held memory");
    f.what = "they were allocated before recording began, or their stacks were not recorded";
    f.advice =
        mv_recording_is_state_only(g->of->lives) ? "" : mv_recording_stack_advice(g->of->trace);
    count_blocks(&f, MV_BLOCKS_OF_LINE, f.bytes,
                 g->of->peak->unattributed_blocks); /* MV_NO_STACK */
    place_at_peak(g, &f);
    add(g, f);
}

/* Adds the memory of compiled programs, which no line of the program can free. */
static void add_executables(findings_builder *g, mv_finding_kind kind)
{
    const mv_attribution *peak = g->of->peak;
    mv_finding f = finding(kind, MV_REPORT_PEAK, verdict_of_peak(g),
                           peak->category_bytes[MV_CATEGORY_EXECUTABLE]);
    uint64_t all = peak->at.bytes.allocated;

    if (f.bytes == 0)
        return;
    f.category = MV_CATEGORY_EXECUTABLE;
    f.title = mv_make_text(&g->words, "%s of %s, %.0f %%, executable", size_of(g, f.bytes),
                           size_of(g, all), 100.0 * (double)f.bytes / (double)all);
    f.text = mv_make_text(&g->words, "compiled programs and their constants: %s", f.title);
    f.what = "their device is not in the profile: all are counted on the first one";
    f.advice = mv_category_advice(f.category);
    for (uint32_t i = 0; i < peak->count; i++)
        if (peak->sites[i].category == MV_CATEGORY_EXECUTABLE)
            count_blocks(&f, MV_BLOCKS_OF_CATEGORY, f.held + peak->sites[i].bytes,
                         f.blocks + peak->sites[i].blocks);
    place_at_peak(g, &f);
    add(g, f);
}

static void add_peak(findings_builder *g)
{
    const mv_attribution *peak = g->of->peak;
    const mv_peak_site *sites[MV_PEAK_FINDINGS];
    const char **labels;
    uint64_t programs = peak->category_bytes[MV_CATEGORY_EXECUTABLE], most;
    uint32_t count = 0;
    bool is_first;

    for (uint32_t i = 0; i < peak->count && count < MV_PEAK_FINDINGS; i++)
        if (peak->sites[i].category != MV_CATEGORY_EXECUTABLE)
            sites[count++] = &peak->sites[i];
    labels = labels_of(g, sites, count);
    most = count ? sites[0]->bytes : 0;
    is_first = peak->unattributed > most;
    g->words.failed = g->words.failed || !labels;
    if (is_first)
        add_unattributed(g, kind_of_peak(g));
    if (programs > most)
        add_executables(g, kind_of_peak(g));
    for (uint32_t i = 0; labels && i < count; i++)
        add_site(g, sites[i], labels[i]);
    if (!is_first && peak->unattributed >= peak->at.bytes.allocated / 4 && peak->unattributed)
        add_unattributed(g, MV_FINDING_NOTE);
    if (programs <= most)
        add_executables(g, programs >= peak->at.bytes.allocated / 4 ? MV_FINDING_NOTE
                                                                    : kind_of_peak(g));
}

/* ---- the device, and other settings ------------------------------------------------------- */

static void add_device(findings_builder *g)
{
    const mv_ledger *ledger = g->of->ledger;
    bool is_known = ledger->used != MV_NO_BYTES;
    uint64_t all = is_known ? ledger->used : ledger->by_sum, others = all;
    mv_finding f;

    for (uint32_t i = 0; i < ledger->count; i++)
        if (ledger->by[i].is_framework)
            others -= ledger->by[i].bytes < others ? ledger->by[i].bytes : others;
    f = finding(MV_FINDING_DEVICE, MV_REPORT_LEDGER,
                !is_known || ledger->is_missing_calls ? "unknown"
                : others > all / 2                    ? "outside_pytorch"
                                                      : "pytorch",
                others);
    f.title = f.text = ledger->verdict;
    f.what = ledger->basis;
    add(g, f);
}

static void add_whatif(findings_builder *g)
{
    const mv_whatif *w = g->of->whatif;
    const mv_whatif_advice *a = w->advice_count ? &w->advice[0] : NULL;
    bool is_known = w->trials.trust < MV_TRUST_LOW && (a || !w->trials.unexplained);
    bool is_fine = is_known && w->trials.recorded_ooms == 0;
    mv_finding f = finding(a         ? MV_FINDING_WHATIF
                           : is_fine ? MV_FINDING_FINE
                                     : MV_FINDING_NOTE,
                           MV_REPORT_WHATIF,
                           a          ? "helps"
                           : is_known ? "none"
                                      : "unknown",
                           a && a->saves > 0 ? (uint64_t)a->saves : 0);

    if (w->trials.trust == MV_TRUST_NONE)
        return;
    f.title = f.text = w->verdict;
    f.what = a ? a->text : w->trials.trust_why;
    add(g, f);
}

/* ---- missing data, absence of problems --------------------------------------------------- */

static const char *history_title(const mv_trace *trace, mv_history_kind kind)
{
    if (trace->notes[MV_NOTE_LOST_EVENTS].count > 0)
        return "the history has gaps";
    return kind == MV_HISTORY_LATE        ? "recording began late"
           : kind == MV_HISTORY_TRUNCATED ? "earlier events are lost"
                                          : "no events were recorded";
}

static void add_doubts(findings_builder *g)
{
    const mv_lives *lives = g->of->lives;
    int64_t residual = lives->doubts.residual;
    const char *text = mv_residual_text(g->words.arena, lives);
    mv_finding f = finding(MV_FINDING_NOTE, MV_REPORT_INFO, mv_history_name(lives->history), 0);

    f.advice = mv_recording_advice(g->of->trace, lives);
    if (lives->history != MV_HISTORY_COMPLETE)
        add_text(g, f, history_title(g->of->trace, lives->history), lives->history_why);
    g->words.failed = g->words.failed || !text;
    if (text && *text)
        add_note(g, MV_REPORT_INFO, residual < 0 ? 0 - (uint64_t)residual : (uint64_t)residual,
                 residual ? "the file contradicts itself" : "free events are missing", text);
}

/* Adds the finding that there is no leak. The unfinished last step is not part of the verdict. */
static void add_no_leak(findings_builder *g)
{
    const mv_leaks *leaks = g->of->leaks;
    bool is_clean = leaks->verdict == MV_VERDICT_CLEAN;
    mv_finding f = finding(is_clean ? MV_FINDING_FINE : MV_FINDING_NOTE, MV_REPORT_LEAKS,
                           mv_leak_verdict_name(leaks->verdict), 0);
    char why[512], under_way[128];

    if (leaks->verdict == MV_VERDICT_LEAK)
        return;
    mv_leaks_why(leaks, why, sizeof why);
    mv_leaks_under_way(leaks, under_way, sizeof under_way);
    f.title = is_clean ? "no leak" : "leaks unknown";
    f.text = mv_make_text(&g->words, "%s: %s", f.title, why);
    f.what = mv_make_text(&g->words, "%s%s%s", why, *under_way ? "; " : "", under_way);
    add(g, f);
}

static void add_not_fragmented(findings_builder *g)
{
    const mv_fragmentation *found = g->of->fragmentation;

    if (!found->fragmented && !found->waits && !found->is_unseen)
        add_text(g,
                 finding(found->is_known ? MV_FINDING_FINE : MV_FINDING_NOTE,
                         MV_REPORT_FRAGMENTATION,
                         found->is_known ? mv_fragmentation_verdict_name(found) : "unknown", 0),
                 mv_make_text(&g->words, "fragmentation %s: %s", found->answer, found->figures),
                 found->why);
}

static void add_no_oom(findings_builder *g)
{
    const mv_ooms *ooms = g->of->ooms;

    if (ooms->count == 0 && ooms->retries)
        add_text(g, finding(MV_FINDING_NOTE, MV_REPORT_OOM, "retries", ooms->released),
                 mv_make_text(&g->words, "%s: slow", ooms->retried), RETRIED);
    else if (ooms->count == 0)
        add_text(g,
                 finding(ooms->is_known ? MV_FINDING_FINE : MV_FINDING_NOTE, MV_REPORT_OOM,
                         ooms->is_known ? "none" : "unknown", 0),
                 ooms->verdict, ooms->why);
}

/* ---- all findings ------------------------------------------------------------------------ */

int mv_finding_by_alarm(mv_finding_kind a, uint64_t bytes_a, mv_finding_kind b, uint64_t bytes_b)
{
    bool is_waste_a = a >= MV_FINDING_LEAK && a <= MV_FINDING_WAITING;
    bool is_waste_b = b >= MV_FINDING_LEAK && b <= MV_FINDING_WAITING;

    if (is_waste_a && is_waste_b)
        return (bytes_a < bytes_b) - (bytes_a > bytes_b);
    return (a > b) - (a < b);
}

/* Equally serious findings keep the order in which they were found: by event, or by rank in the
 * report. */
MV_FINDING_BY_ALARM(by_alarm, mv_finding, kind)

const char *mv_failure_may_be_caught(mv_text_maker *words, uint32_t count)
{
    char at[MV_OOM_AT_TEXT];

    return mv_make_text(
        words,
        "the program may have caught the error and retried; memviz peak --at %s shows "
        "who held memory then",
        mv_oom_at_text(at, count));
}

/* Adds the failed requests of another tool's file, which does not record how much memory was
 * free. */
static void add_failures(findings_builder *g)
{
    const mv_events *e = &g->of->lives->events;
    uint32_t count = 0, last = 0;
    mv_finding f;

    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_OOM) {
            count++;
            last = i;
        }
    if (count == 0)
        return;
    f = finding(MV_FINDING_NOTE, MV_REPORT_INFO, "failed requests", e->size[last]);
    set_place(&f, last, 0, last);
    add_text(g, f,
             mv_make_text(&g->words, "%s request%s failed, the last one of %s", number_of(g, count),
                          mv_plural(count), size_of(g, e->size[last])),
             mv_failure_may_be_caught(&g->words, count));
}

static mv_code start(mv_arena *arena, const mv_reports *reports, mv_findings *out,
                     findings_builder *g, mv_err *err)
{
    *g = (findings_builder){.words.arena = arena,
                            .of = reports,
                            .out = out,
                            .capacity = 2 * MV_MOST_FINDINGS + MV_PEAK_FINDINGS + 20};
    *out = (mv_findings){.rows = mv_push_array(arena, mv_finding, g->capacity)};
    return out->rows ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "findings");
}

static mv_code finish(mv_arena *arena, findings_builder *g, mv_err *err)
{
    mv_sort_by(arena, g->out->rows, g->out->count, sizeof *g->out->rows, by_alarm, NULL);
    return g->words.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "findings") : MV_OK;
}

mv_code mv_findings_of_leaks(mv_arena *arena, const mv_reports *reports, mv_findings *out,
                             mv_err *err)
{
    findings_builder g;

    if (start(arena, reports, out, &g, err) != MV_OK)
        return err->code;
    add_leaks(&g);
    add_no_leak(&g);
    return finish(arena, &g, err);
}

mv_code mv_findings_find(mv_arena *arena, const mv_reports *reports, mv_findings *out, mv_err *err)
{
    findings_builder g;

    if (start(arena, reports, out, &g, err) != MV_OK)
        return err->code;
    if (mv_trace_allocator(reports->trace)) {
        add_failures(&g);
    } else {
        add_ooms(&g);
        add_fragmentation(&g);
        add_waiting(&g);
        if (g.of->whatif)
            add_whatif(&g);
        add_not_fragmented(&g);
        add_no_oom(&g);
    }
    add_leaks(&g);
    if (reports->ledger)
        add_device(&g);
    add_doubts(&g);
    add_peak(&g);
    add_no_leak(&g);
    return finish(arena, &g, err);
}
