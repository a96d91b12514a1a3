#include "analyze/fragmentation/fragmentation_advice.h"

#include <stdio.h>

#include "analyze/levels/levels.h"
#include "analyze/oom/last_failure.h"
#include "analyze/replay/release.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

#define MIB ((uint64_t)1 << 20)

#define WORTH_A_WORD (64 * MIB) /* savings below this are not worth a change */
#define MANY_SIZES   6          /* this many sizes of requests suggest that shapes vary */
#define OLD_SHARE    10         /* blocks younger than 1/10 of the events are short-lived */
#define MOST_LINES   2

/* Large requests for which no hole was large enough, by size. */
typedef struct {
    uint32_t count, distinct;
    uint64_t least, most;
} missed_sizes;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_window window;
    mv_fragmentation *f;
    mv_block_rules rules;
    missed_sizes missed;
    mv_trials trials; /* trials; open if f->is_replayed */
    mv_advice spare;  /* receives advice that does not fit into f->advice */
    bool failed;
} adviser;

__attribute__((format(printf, 3, 4))) static mv_advice *advise(adviser *a, uint64_t bytes,
                                                               const char *format, ...)
{
    mv_fragmentation *f = a->f;
    mv_advice *advice =
        f->advice_count < MV_MOST_ADVICE ? &f->advice[f->advice_count++] : &a->spare;
    va_list args;

    va_start(args, format);
    *advice = (mv_advice){.call = "",
                          .text = mv_arena_vprintf(a->arena, format, args),
                          .bytes = bytes,
                          .stack = MV_NO_STACK};
    va_end(args);
    a->failed = a->failed || !advice->text;
    return advice;
}

/* Returns a copy of the string in the arena, or "" when out of memory. */
static const char *keep(adviser *a, const char *text)
{
    a->failed = a->failed || !text;
    return text ? text : "";
}

static const char *failed_requests(adviser *a)
{
    return keep(a, mv_trials_failures(&a->trials));
}

/* Whether the culprit of a stack is a line that the user is able to change. */
static bool has_line(const adviser *a, mv_stack_id stack)
{
    mv_frame_id frame = mv_culprit_frame(a->trace, a->sites->kinds, stack);

    return frame.row != MV_NO_ROW && a->sites->kinds[frame.row] <= MV_FRAME_PACKAGE;
}

/* ---- lines of code ----------------------------------------------------------------------- */

static bool is_old(const adviser *a, const mv_pin *line)
{
    return mv_pin_age(line, a->f->at.event) * OLD_SHARE >= (uint64_t)(uint32_t)(a->f->at.event + 1);
}

/* Whether a line's blocks are to blame. These must be old, small blocks that strand a substantial
 * part of all stranded memory and of the excess. */
static bool is_to_blame(const adviser *a, const mv_pin *line)
{
    return line->stranded >= WORTH_A_WORD / 2 && line->stranded >= a->f->pins.stranded / 5 &&
           line->stranded >= a->f->beyond / 5 && line->stranded >= line->bytes / 2 &&
           has_line(a, line->stack) && is_old(a, line);
}

/* Advises a separate pool for the line's blocks, if this saves memory. */
static void about_line(adviser *a, const mv_pin *line, mv_err *err)
{
    char stranded[MV_SIZE_TEXT], own[MV_SIZE_TEXT], saves[MV_SIZE_TEXT], label[256], gain[128] = "";
    mv_trial apart = {0};
    mv_advice *advice;

    if (a->f->is_replayed) {
        if (mv_trials_try_line(&a->trials, a->sites, line->group, &apart, err) != MV_OK) {
            a->failed = true;
            return;
        }
        if (a->f->ran_out_of_memory || !mv_trials_helps(&a->trials, &apart))
            return;
        if (mv_trials_record_failures(&a->trials))
            snprintf(gain, sizeof gain,
                     "; in a pool of their own %s would have been met (replayed)",
                     failed_requests(a));
        else
            snprintf(gain, sizeof gain,
                     "; in a pool of their own %s less would have been reserved (replayed)",
                     mv_size_text(saves, (uint64_t)apart.saves));
    }
    advice = advise(
        a, line->stranded,
        "%s keeps %s in %u block%s that strand%s %s in %u segment%s%s: allocate them before the "
        "large tensors around them, gather them in one buffer allocated early, or move them to the "
        "CPU",
        mv_culprit_label(a->trace, a->sites->kinds, line->stack, label, sizeof label),
        mv_size_text(own, line->bytes), line->blocks, mv_plural(line->blocks),
        line->blocks == 1 ? "s" : "", mv_size_text(stranded, line->stranded), line->segments,
        mv_plural(line->segments), gain);
    advice->stack = line->stack;
    advice->is_replayed = a->f->is_replayed;
    advice->saves = apart.saves;
}

/* ---- plausible settings ------------------------------------------------------------------ */

static void find_missed(adviser *a)
{
    const mv_segment_growths *g = &a->f->growths;
    uint64_t *sizes = mv_push_array(a->arena, uint64_t, g->count);
    missed_sizes *m = &a->missed;

    a->failed = a->failed || !sizes;
    for (uint32_t i = 0; sizes && i < g->count; i++)
        if (g->rows[i].reason == MV_REASON_NO_HOLE && g->rows[i].request > MV_SMALL_REQUEST)
            sizes[m->count++] = g->rows[i].request;
    if (m->count == 0)
        return;
    mv_sort_rows(a->arena, sizes, m->count, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < m->count; i++)
        m->distinct += i == 0 || sizes[i] != sizes[i - 1];
    m->least = sizes[0];
    m->most = sizes[m->count - 1];
}

static uint64_t missed_bytes(const adviser *a)
{
    return a->f->growths.bytes[MV_REASON_NO_HOLE] + a->f->failed;
}

/* Whether the requests for which there was no hole have many sizes. */
static bool sizes_vary(const adviser *a)
{
    return a->missed.count >= 8 && a->missed.distinct >= MANY_SIZES &&
           missed_bytes(a) >= WORTH_A_WORD;
}

static bool rounds_much(const adviser *a)
{
    const mv_heap_sums *b = &a->f->bytes;

    return b->rounding >= WORTH_A_WORD && b->rounding >= (b->allocated + b->pending) / 10;
}

static bool rounds_by_setting(const adviser *a)
{
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        if (a->rules.divisions[i] > 1)
            return true;
    return false;
}

static bool has_much_whole(const adviser *a)
{
    return a->f->whole >= WORTH_A_WORD && a->f->whole >= a->f->bytes.reserved / 4;
}

/* Returns the kinds of settings that the figures suggest. */
static uint32_t plausible(const adviser *a)
{
    uint32_t set = 0;

    if (rounds_much(a) && rounds_by_setting(a))
        set |= MV_TRY_ROUNDUP;
    if (!a->f->fragmented)
        return set;
    set |= a->rules.expandable ? 0 : MV_TRY_EXPANDABLE;
    set |= sizes_vary(a) ? MV_TRY_ROUNDUP : 0;
    set |= a->f->growths.bytes[MV_REASON_SPLIT_LIMIT] >= WORTH_A_WORD ? MV_TRY_NO_LIMIT : 0;
    set |= a->f->whole >= WORTH_A_WORD ? MV_TRY_GARBAGE : 0;
    return set;
}

/* ---- settings that save memory ----------------------------------------------------------- */

/* Returns the line with the most bytes in segments that were added because no hole was large
 * enough. */
static const char *line_most_added_for(adviser *a, char *label, size_t size)
{
    const mv_segment_growths *g = &a->f->growths;
    uint64_t *bytes = mv_push_array(a->arena, uint64_t, a->sites->groups);
    mv_stack_id stack = MV_NO_STACK;
    uint64_t most = 0;

    a->failed = a->failed || !bytes;
    for (uint32_t i = 0; bytes && i < g->count; i++) {
        uint32_t group = a->sites->group[mv_site_of(a->sites, g->rows[i].stack)];
        if (g->rows[i].reason != MV_REASON_NO_HOLE || !has_line(a, g->rows[i].stack))
            continue;
        bytes[group] += g->rows[i].segment_bytes;
        if (bytes[group] > most) {
            most = bytes[group];
            stack = g->rows[i].stack;
        }
    }
    return most ? mv_culprit_label(a->trace, a->sites->kinds, stack, label, size) : NULL;
}

/* Writes why a setting helps. The string begins with a full stop, or is "". */
static void explain(adviser *a, uint32_t change, char *out, size_t size)
{
    const mv_segment_growths *g = &a->f->growths;
    uint32_t added = g->segments[MV_REASON_NO_HOLE] + (a->f->failed > 0);
    char label[256], least[MV_SIZE_TEXT], most[MV_SIZE_TEXT];
    const char *line;

    *out = 0;
    if (change == MV_TRY_EXPANDABLE && added) {
        line = line_most_added_for(a, label, sizeof label);
        snprintf(out, size,
                 ". It lets segments grow instead of adding new ones: %u %s added although enough "
                 "memory was free, but scattered%s%s",
                 added, added == 1 ? "was" : "were", line ? ", mostly for " : "", line ? line : "");
    } else if (change == MV_TRY_ROUNDUP && sizes_vary(a)) {
        snprintf(out, size,
                 ". Freed blocks fit again then: the %u large requests that found no hole have %u "
                 "sizes from %s to %s; padding batches and lengths to a few shapes does the same",
                 a->missed.count, a->missed.distinct, mv_size_text(least, a->missed.least),
                 mv_size_text(most, a->missed.most));
    } else if (change == MV_TRY_ROUNDUP) {
        snprintf(out, size, ". %s of the blocks in use are rounding",
                 mv_size_text(most, a->f->bytes.rounding));
    } else if (change == MV_TRY_NO_LIMIT) {
        snprintf(out, size,
                 ". It leaves out max_split_size_mb, which keeps blocks of %s and more from being "
                 "split although they are free",
                 mv_size_text(least, a->rules.max_split));
    } else if (change == MV_TRY_GARBAGE) {
        snprintf(
            out, size,
            ". It only works within a memory limit: torch.cuda.set_per_process_memory_fraction()");
    }
}

static void advise_setting(adviser *a, const mv_trial *trial)
{
    char saves[MV_SIZE_TEXT], is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], why[640];
    const char *about = mv_trials_about(&a->trials, trial->conf);
    bool meets = mv_trials_record_failures(&a->trials);
    mv_advice *advice;

    explain(a, trial->change, why, sizeof why);
    advice = advise(a, (uint64_t)trial->saves,
                    "%s=%s would have reserved %s%s less at the peak%s (replayed): %s%s instead of "
                    "%s%s%s%s",
                    mv_release_conf(a->trace), *trial->conf ? trial->conf : "''", about,
                    mv_size_text(saves, (uint64_t)trial->saves),
                    keep(a, mv_trials_doubts(&a->trials, trial->conf)), about,
                    mv_size_text(is, trial->result.peak.reserved),
                    mv_size_text(was, a->trials.recorded_reserved), meets ? ", with " : "",
                    meets ? failed_requests(a) : "", why);
    advice->setting = trial->conf;
    advice->is_replayed = true;
    advice->saves = trial->saves;
}

/* Advises the settings that save memory, and only the best of each kind. The best setting comes
 * first. Returns the number of advised settings. */
static uint32_t try_set(adviser *a, uint32_t set, mv_err *err)
{
    uint32_t said = 0, count = 0;
    mv_trial_list list;

    if (set == 0)
        return 0;
    if (mv_trials_try_set(&a->trials, set, &list, err) != MV_OK) {
        a->failed = true;
        return 0;
    }
    a->f->tried += list.count;
    for (uint32_t i = 0; i < list.count; i++) {
        const mv_trial *trial = &list.rows[i];
        if ((said & trial->change) || !trial->fits)
            continue;
        if (a->f->ran_out_of_memory || !mv_trials_is_worth(&a->trials, trial->conf, trial->saves)) {
            if (mv_trials_record_failures(&a->trials) && count == 0 && !a->f->meets) {
                a->f->meets = trial->conf;
                a->f->spare = trial->result.spare;
            }
            continue;
        }
        said |= trial->change;
        advise_setting(a, trial);
        count++;
    }
    return count;
}

/* Advises settings. Split limits are tried last, because they rarely help if nothing else does. */
static void about_settings(adviser *a, uint32_t set, mv_err *err)
{
    if (try_set(a, set, err) == 0 && a->f->fragmented && !a->failed)
        try_set(a, MV_TRY_SPLIT_LIMIT, err);
}

/* ---- changes of the program -------------------------------------------------------------- */

/* Returns advice on collectives, which called record_stream() themselves before PyTorch 2.8
 * (ProcessGroupNCCL.cpp) unless this was disabled. */
static const char *collectives_advice(const mv_trace *trace)
{
    enum { KEEP_REFERENCES = 208 };
    mv_release release = mv_release_of(trace);

    return release.kind == MV_WRITER_PYTORCH && release.first < KEEP_REFERENCES
               ? "; for the tensors of collectives, TORCH_NCCL_AVOID_RECORD_STREAMS=1 does so "
                 "before "
                 "PyTorch 2.8"
               : "";
}

/* Advises on blocks that were freed while another stream could still use them. */
static void about_waiting(adviser *a)
{
    const mv_waiting *w = &a->f->waiting;
    const mv_waiting_line *line = w->lines;
    char label[256], size[MV_SIZE_TEXT];
    mv_advice *advice;

    advice = advise(a, line->bytes,
                    "%s %s %s in %u block%s%s. A block that another stream was recorded for "
                    "(tensor.record_stream()) waits until the device has passed that stream's "
                    "work, even if the program has long moved on. Instead of record_stream(), keep "
                    "a reference until the program's stream waits for that work "
                    "(torch.cuda.Stream.wait_event(), Work.wait()), and drop the tensor then%s",
                    mv_culprit_label(a->trace, a->sites->kinds, line->stack, label, sizeof label),
                    line->is_free ? "freed" : "allocated", mv_size_text(size, line->bytes),
                    line->blocks, mv_plural(line->blocks),
                    line->is_free ? "" : "; the line that freed them is not in the file",
                    collectives_advice(a->trace));
    advice->stack = line->stack;
}

static void about_streams(adviser *a)
{
    const mv_segment_growths *g = &a->f->growths;
    char added[MV_SIZE_TEXT];

    if (g->bytes[MV_REASON_PENDING] >= WORTH_A_WORD)
        advise(a, g->bytes[MV_REASON_PENDING],
               "%s were added while freed blocks waited for another stream (record_stream): "
               "synchronise the streams before the tensors are dropped, or allocate on the stream "
               "that uses them",
               mv_size_text(added, g->bytes[MV_REASON_PENDING]));
    if (g->bytes[MV_REASON_STREAM] >= WORTH_A_WORD)
        advise(a, g->bytes[MV_REASON_STREAM],
               "%s were added while memory of another stream was free: a block only serves the "
               "stream that it was allocated on, so let one stream do the large allocations",
               mv_size_text(added, g->bytes[MV_REASON_STREAM]));
    if (g->bytes[MV_REASON_POOL] >= WORTH_A_WORD)
        advise(a, g->bytes[MV_REASON_POOL],
               "%s was added while memory of another pool was free: CUDA graphs and MemPools "
               "share memory only when they share a pool",
               mv_size_text(added, g->bytes[MV_REASON_POOL]));
}

/* Advises on rounding. Requests just above a multiple of 512 bytes waste little memory. Rounding
 * settings waste more, and so do blocks that are not split. */
static void about_rounding(adviser *a)
{
    char size[MV_SIZE_TEXT];

    if (rounds_much(a) && mv_level_is_host(a->trace->origin.level))
        advise(a, a->f->bytes.rounding,
               "%s of the pinned blocks are rounding to powers of two: "
               "%s=pinned_max_round_threshold_mb:N pins requests above N MiB without rounding",
               mv_size_text(size, a->f->bytes.rounding), mv_release_conf(a->trace));
    else if (rounds_much(a))
        advise(a, a->f->bytes.rounding,
               "%s of the blocks in use are rounding: allocate fewer tensors just above a step, or "
               "larger ones that several share",
               mv_size_text(size, a->f->bytes.rounding));
}

static bool is_private(const adviser *a)
{
    uint64_t whole = 0;

    for (uint32_t i = 0; i < a->f->domain_count; i++)
        if (a->f->domains[i].pool.row != MV_DEFAULT_POOL.row)
            whole += a->f->domains[i].whole;
    return whole > a->f->whole / 2;
}

static void about_whole(adviser *a)
{
    char size[MV_SIZE_TEXT];
    mv_advice *advice;

    if (!has_much_whole(a))
        return;
    mv_size_text(size, a->f->whole);
    if (is_private(a))
        advice = advise(a, a->f->whole,
                        "%s is free in private pools: it goes back once the CUDA graphs or "
                        "MemPools that own them are deleted and torch.cuda.empty_cache() is called",
                        size);
    else
        advice = advise(
            a, a->f->whole,
            "%s is in unused segments: torch.cuda.empty_cache() releases it at that moment", size);
    advice->call = "torch.cuda.empty_cache()";
}

/* ---- all advice -------------------------------------------------------------------------- */

/* Opens the trials if there is anything to try. */
static void open_trials(adviser *a, uint32_t set, mv_err *err)
{
    const mv_demand *d = &a->f->demand;
    mv_levels peak = {.reserved = d->reserved, .allocated = d->allocated};
    mv_trials_opts opts = {.end = a->window.end, .ends_early = true, .ahead = set, .peak = &peak};

    if (mv_trials_open(a->arena, a->trace, a->lives, opts, &a->trials, err) != MV_OK) {
        a->failed = true;
        return;
    }
    a->f->is_replayed = mv_trials_are_conclusive(&a->trials);
    a->f->not_replayed = a->f->is_replayed ? NULL : a->trials.trust_why;
    a->f->trust = a->trials.trust;
    a->f->trust_why = a->trials.trust_why;
    if (mv_last_failure_is_out_of_memory(&a->trials, a->sites, &a->f->ran_out_of_memory, err) !=
        MV_OK)
        a->failed = true;
}

/* Notes the results of trials that are not advice, and how certain the results of the advised
 * settings are. */
static void note_trials(adviser *a)
{
    mv_fragmentation *f = a->f;
    char spare[MV_SIZE_TEXT];
    uint32_t gain = 0;

    for (uint32_t i = 0; i < f->advice_count; i++)
        gain += f->advice[i].setting != NULL;
    if (f->meets && f->ran_out_of_memory)
        f->trials_note =
            mv_arena_printf(a->arena,
                            "no setting is advised: %s would have met %s (replayed), but not the "
                            "next requests: memviz oom shows how much is missing",
                            f->meets, failed_requests(a));
    else if (f->meets)
        f->trials_note =
            mv_arena_printf(a->arena,
                            "%s would have met %s (replayed), with %s of the limit to spare; "
                            "memviz oom shows whether the run can continue",
                            f->meets, failed_requests(a), mv_size_text(spare, f->spare));
    else if (f->not_replayed)
        f->trials_note =
            mv_arena_printf(a->arena, "no setting is advised: not replayed: %s", f->not_replayed);
    else if (f->tried && !gain)
        f->trials_note = mv_arena_printf(
            a->arena, "no setting is advised: %u tried (replayed), none saves 1%% or more",
            f->tried);
    if ((gain || f->meets) && f->trust == MV_TRUST_FAIR)
        f->trust_note =
            mv_arena_printf(a->arena, "these replays are fairly certain: %s", f->trust_why);
    a->failed = a->failed || !f->trials_note || !f->trust_note;
}

mv_code mv_fragmentation_advise(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                const mv_sites *sites, mv_fragmentation_opts opts,
                                mv_fragmentation *out, mv_err *err)
{
    adviser a = {.arena = arena,
                 .trace = trace,
                 .lives = lives,
                 .sites = sites,
                 .window = opts.window,
                 .f = out,
                 .rules = mv_block_rules_of(trace)};
    uint32_t set, first;

    find_missed(&a);
    set = plausible(&a);
    if ((out->fragmented || set) && opts.window.end > 0)
        open_trials(&a, set, err);
    for (uint32_t i = 0; out->fragmented && i < out->pins.line_count && i < MOST_LINES; i++)
        if (!a.failed && is_to_blame(&a, &out->pins.lines[i]))
            about_line(&a, &out->pins.lines[i], err);
    if (out->is_replayed && !a.failed)
        about_settings(&a, set, err);
    first = out->advice_count;
    mv_sort_rows(arena, out->advice, first, MV_FALLING(mv_advice, saves),
                 MV_FALLING(mv_advice, bytes));
    if (out->fragmented)
        about_streams(&a);
    if (out->waits)
        about_waiting(&a);
    about_rounding(&a);
    mv_sort_rows(arena, out->advice + first, out->advice_count - first,
                 MV_FALLING(mv_advice, bytes));
    if (out->fragmented)
        about_whole(&a);
    note_trials(&a);
    return a.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "advice") : MV_OK;
}
