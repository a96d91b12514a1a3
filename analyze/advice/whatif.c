#include "analyze/advice/whatif.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/code/culprit.h"
#include "analyze/fragmentation/fragmentation.h"
#include "analyze/oom/last_failure.h"
#include "base/size.h"

#define WASTE 0.25

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_whatif *out;
    bool lacks_memory; /* the last failed request lacked memory, as the report on out-of-memory
                        * events says */
    bool out_of_memory;
} asking;

__attribute__((format(printf, 2, 3))) static const char *say(asking *a, const char *format, ...)
{
    char text[512];
    const char *kept;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text)
        length = sizeof text - 1;
    kept = length < 0 ? NULL : mv_arena_text(a->arena, text, (uint64_t)length);
    a->out_of_memory = a->out_of_memory || !kept;
    return kept ? kept : "";
}

/* ---- runs -------------------------------------------------------------------------------- */

static mv_code run_built_in(asking *a, mv_err *err)
{
    mv_trial_list list;

    a->out->ranked = true;
    if (mv_trials_try_set(&a->out->trials, MV_TRY_ALL, &list, err) != MV_OK)
        return err->code;
    a->out->runs = list.rows;
    a->out->run_count = list.count;
    return MV_OK;
}

static mv_code run_all(asking *a, const mv_whatif_opts *opts, mv_err *err)
{
    mv_code code = MV_OK;

    if (opts->conf_count == 0)
        return mv_trials_can_tell(&a->out->trials) ? run_built_in(a, err) : MV_OK;
    a->out->runs = mv_push_array(a->arena, mv_trial, opts->conf_count);
    if (!a->out->runs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < opts->conf_count && code == MV_OK; i++)
        code =
            mv_trials_try(&a->out->trials, opts->conf[i], &a->out->runs[a->out->run_count++], err);
    return code;
}

/* ---- the line that pins ------------------------------------------------------------------ */

/* Whether it is worth looking for a line that pins memory. */
static bool is_wasteful(const mv_whatif *w)
{
    return w->trials.recorded_ooms > 0 ||
           (double)w->trials.recorded_allocated < (1 - WASTE) * (double)w->trials.recorded_reserved;
}

static mv_code find_line(asking *a, mv_err *err)
{
    mv_whatif_line *line = &a->out->line;
    mv_fragmentation f;
    if (!mv_trials_can_tell(&a->out->trials) || !is_wasteful(a->out))
        return MV_OK;
    if (mv_fragmentation_find(a->arena, a->trace, a->lives, a->sites,
                              (mv_fragmentation_opts){.window = MV_ALL_EVENTS, .no_advice = true},
                              &f, err) != MV_OK)
        return err->code;
    if (!f.fragmented || f.pins.line_count == 0 || f.pins.stranded == 0 ||
        f.pins.lines[0].stranded < f.pins.stranded / 2)
        return MV_OK;
    line->found = true;
    line->pin = f.pins.lines[0];
    line->stranded = f.pins.stranded;
    return mv_trials_try_line(&a->out->trials, a->sites, line->pin.group, &line->apart, err);
}

/* ---- advice ------------------------------------------------------------------------------ */

static void add_advice(asking *a, const char *setting, int64_t saves, mv_stack_id stack,
                       const char *text)
{
    if (a->out->advice_count < MV_MOST_WHATIF_ADVICE)
        a->out->advice[a->out->advice_count++] = (mv_whatif_advice){setting, text, saves, stack};
}

/* The best run except the recorded one; NULL when none is worth it. */
static const mv_trial *best_run(const asking *a)
{
    const mv_trial *best = NULL;

    for (uint32_t i = 0; i < a->out->run_count; i++) {
        const mv_trial *run = &a->out->runs[i];
        if (!run->is_recorded && (!best || mv_trial_order(run, best) < 0))
            best = run;
    }
    return best && mv_trials_helps(&a->out->trials, best) ? best : NULL;
}

static void advise_setting(asking *a, const mv_trial *run)
{
    char is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], saves[MV_SIZE_TEXT];
    const char *conf = *run->conf ? run->conf : "the default settings";
    const char *text;

    if (a->out->trials.recorded_ooms > 0)
        text = say(a,
                   "With %s the request that failed would have been met, within %s reserved, and "
                   "with %s of the limit to spare. What the program would have asked for next is "
                   "not in the trace: memviz oom says how much that may be.",
                   conf, mv_size_text(is, run->result.peak.reserved),
                   mv_size_text(saves, run->result.spare));
    else
        text = say(a,
                   "With %s the peak of reserved memory falls from %s to %s (%s less), with %llu "
                   "calls for device memory instead of %llu.",
                   conf, mv_size_text(was, a->out->trials.recorded_reserved),
                   mv_size_text(is, run->result.peak.reserved),
                   mv_size_text(saves, (uint64_t)run->saves),
                   (unsigned long long)run->result.counts.segment_allocs,
                   (unsigned long long)a->out->trials.recorded_segment_allocs);
    add_advice(a, run->conf, run->saves, MV_NO_STACK, text);
}

static void advise_line(asking *a)
{
    const mv_whatif_line *line = &a->out->line;
    char label[256], pinned[MV_SIZE_TEXT], bytes[MV_SIZE_TEXT], is[MV_SIZE_TEXT];
    bool meets = a->out->trials.recorded_ooms > 0 && line->apart.fits;

    add_advice(
        a, "", line->apart.saves, line->pin.stack,
        say(a,
            "%u blocks of %s (%s in all) keep %s of free memory from being given back. "
            "Allocate them before the large ones, or in a torch.cuda.MemPool of their own: "
            "%sthe peak of reserved memory would be %s.",
            line->pin.blocks,
            mv_culprit_label(a->trace, a->sites->kinds, line->pin.stack, label, sizeof label),
            mv_size_text(bytes, line->pin.bytes), mv_size_text(pinned, line->pin.stranded),
            meets ? "the request that failed would be met, and " : "",
            mv_size_text(is, line->apart.result.peak.reserved)));
}

/* Whether a pool of its own for the line's blocks is worth a change of the program. */
static bool line_is_worth(const asking *a)
{
    const mv_whatif_line *line = &a->out->line;

    if (!line->found || (a->out->trials.recorded_ooms == 0 && !line->apart.fits))
        return false;
    return a->out->trials.recorded_ooms > 0
               ? line->apart.fits
               : mv_trials_is_worth(&a->out->trials, NULL, line->apart.saves);
}

static void advise(asking *a)
{
    const mv_trial *best;
    bool line_helps;

    if (a->out->trials.trust >= MV_TRUST_LOW) {
        a->out->advice_none = a->out->trials.trust == MV_TRUST_NONE
                                  ? "no advice: there is nothing to replay"
                                  : "no advice: the replay cannot tell";
        return;
    }
    best = best_run(a);
    line_helps = line_is_worth(a);
    if (a->lacks_memory) {
        a->out->advice_none =
            best ? say(a,
                       "%s would have met the request that failed, but not what would have come "
                       "next: memviz oom says how much is lacking",
                       *best->conf ? best->conf : "the default settings")
                 : "no setting that was tried meets the request that failed";
        return;
    }
    if (line_helps && (!best || a->out->line.apart.saves > best->saves))
        advise_line(a);
    if (best)
        advise_setting(a, best);
    if (line_helps && best && a->out->line.apart.saves <= best->saves)
        advise_line(a);
    if (a->out->advice_count == 0)
        a->out->advice_none = a->out->trials.recorded_ooms > 0
                                  ? "no setting that was tried meets the request that failed"
                                  : "no setting that was tried saves 1% or more";
}

/* ---- all --------------------------------------------------------------------------------- */

mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err)
{
    asking a = {.arena = arena, .trace = trace, .lives = lives, .sites = sites, .out = out};
    mv_code code;

    *out = (mv_whatif){0};
    code = mv_trials_open(arena, trace, lives, (mv_trials_opts){.capacity = opts.capacity},
                          &out->trials, err);
    if (code == MV_OK && out->trials.trust != MV_TRUST_NONE)
        code = run_all(&a, &opts, err);
    if (code == MV_OK)
        code = find_line(&a, err);
    if (code == MV_OK)
        code = mv_last_failure_lacks_memory(&out->trials, sites, &a.lacks_memory, err);
    if (code != MV_OK)
        return code;
    advise(&a);
    return a.out_of_memory ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") : MV_OK;
}
