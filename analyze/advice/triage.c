#include "analyze/advice/triage.h"

#include "analyze/advice/headline.h"
#include "analyze/events/recorder.h"
#include "analyze/leaks/driver_growth.h"
#include "analyze/oom/refused_calls.h"
#include "analyze/ranks/summary.h"
#include "analyze/totals/host_totals.h"

#include "base/numbers.h"
#include "base/parallel_for.h"
#include "base/sort.h"
#include "parse/model/sums.h"

typedef struct {
    const mv_trace *read, *trace;
    bool is_level; /* `trace` is a level other than `read` */
    bool no_whatif;
    uint32_t first, end;
    const mv_lives *joined;
    mv_step_marks marks; /* marks for all levels */
    mv_err step_err;
    mv_triage *out;
} triage_run;

/* ---- the reports ------------------------------------------------------------------------- */

static mv_code find_peak(const triage_run *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = {0, d->lives.events.count}};
    mv_peak_opts opts = {.window = ask.window, .kinds = q->out->sites.kinds};
    mv_moment peak;

    if (mv_moment_find(arena, &d->lives, ask, &peak, err) != MV_OK)
        return err->code;
    return mv_peak_attribute(arena, q->trace, &d->lives, peak, opts, &d->peak, err);
}

/* Finds the lives of the original trace, because reports about PyTorch's allocator or the whole
 * device do not use the level's trace. */
static mv_code lives_as_read(const triage_run *q, const mv_triage_device *d, mv_arena *arena,
                             mv_lives *out, mv_err *err)
{
    *out = d->lives;
    return q->is_level ? mv_lives_find(arena, q->read, d->device, out, err) : MV_OK;
}

static mv_code find_ledger(const triage_run *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    mv_ledger_query ask = {.when = MV_LEDGER_MOST_USED};
    mv_lives lives;

    if (!mv_trace_is_captured(q->read) || d->device >= 64 ||
        !(mv_ledger_devices(q->read) >> d->device & 1))
        return MV_OK;
    if (lives_as_read(q, d, arena, &lives, err) != MV_OK ||
        mv_ledger_find(arena, q->read, &lives, ask, &d->ledger, err) != MV_OK)
        return err->code;
    d->has_ledger = d->ledger.used != MV_NO_BYTES || d->ledger.by_sum > 0;
    return MV_OK;
}

static mv_code find_ooms(const triage_run *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    mv_lives lives;

    if (mv_ooms_are_of_calls(q->trace)) {
        if (mv_refused_calls_find(arena, q->read, &d->lives, &q->out->sites, MV_ALL_EVENTS,
                                  &d->ooms, err) != MV_OK)
            return err->code;
        d->has_ooms = d->ooms.count > 0;
        return MV_OK;
    }
    if (lives_as_read(q, d, arena, &lives, err) != MV_OK ||
        mv_ooms_find(arena, q->read, &lives, &q->out->sites, MV_ALL_EVENTS, &d->ooms, err) != MV_OK)
        return err->code;
    d->has_ooms = !q->is_level || d->ooms.count > 0;
    return MV_OK;
}

static mv_code find_leaks(const triage_run *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    if (mv_leaks_find(arena, q->trace, &d->lives, &d->leaks, err) != MV_OK ||
        mv_low_held_find(arena, q->trace, &d->lives, &d->leaks.floor.all, d->leaks.floor.steps,
                         &d->held, err) != MV_OK ||
        mv_graphs_find(arena, q->trace, &d->lives, q->out->sites.kinds, &d->graphs, err) != MV_OK)
        return err->code;
    return mv_leaks_outlook(arena, q->trace, &d->lives, &d->leaks, MV_NO_BYTES, &d->outlook, err);
}

static mv_code find_part(const triage_run *q, mv_triage_device *d, uint32_t part, mv_arena *arena,
                         mv_err *err)
{
    const mv_sites *sites = &q->out->sites;

    switch (part) {
    case MV_TRIAGE_WHATIF:
        d->has_whatif = !q->is_level && !q->no_whatif;
        return !d->has_whatif ? MV_OK
                              : mv_whatif_find(arena, q->read, &d->lives, sites,
                                               (mv_whatif_opts){0}, &d->whatif, err);
    case MV_TRIAGE_FRAGMENTATION:
        return mv_fragmentation_find(arena, q->trace, &d->lives, sites,
                                     (mv_fragmentation_opts){.window = MV_ALL_EVENTS},
                                     &d->fragmentation, err);
    case MV_TRIAGE_OOMS:
        return find_ooms(q, d, arena, err);
    case MV_TRIAGE_LEAKS:
        return find_leaks(q, d, arena, err);
    case MV_TRIAGE_PEAK:
        return find_peak(q, d, arena, err);
    case MV_TRIAGE_LEDGER:
        return find_ledger(q, d, arena, err);
    case MV_TRIAGE_TOTALS:
        return mv_totals_find(arena, q->trace, &d->lives, &d->totals, err);
    default:
        if (q->joined && q->joined->device == d->device) {
            d->lives = *q->joined;
            return MV_OK;
        }
        return mv_lives_find_ranked(arena, q->trace, d->device, &d->lives, err);
    }
}

static void do_part(triage_run *q, uint32_t device, uint32_t part)
{
    mv_triage_device *d = &q->out->devices[device];

    find_part(q, d, part, &d->arenas[part], &d->errs[part]);
}

static mv_code first_error(const mv_triage *t, mv_err *err)
{
    for (uint32_t i = 0; i < t->device_count; i++)
        for (uint32_t part = 0; part < MV_TRIAGE_PARTS; part++)
            if (t->devices[i].errs[part].code != MV_OK) {
                *err = t->devices[i].errs[part];
                return err->code;
            }
    for (uint32_t i = 0; i < t->other_count; i++)
        if (t->others[i].err.code != MV_OK) {
            *err = t->others[i].err;
            return err->code;
        }
    return MV_OK;
}

/* ---- the verdicts ------------------------------------------------------------------------ */

/* Returns the first finding of a report that is a verdict, or NULL. */
static const mv_finding *first_of(const mv_triage_device *d, mv_report report)
{
    for (uint32_t i = 0; i < d->findings.count; i++) {
        const mv_finding *f = &d->findings.rows[i];
        if (f->report == report && *f->verdict && !f->is_aside &&
            (report != MV_REPORT_OOM || d->has_ooms))
            return f;
    }
    return NULL;
}

/* Sets row->bytes to the total of all findings of the row's kind, and returns the number of these
 * findings. Both are taken from the reports, because not all findings are kept. */
static uint32_t count_all(const mv_triage_device *d, mv_triage_row *row)
{
    const mv_driver_growth *driver = mv_driver_leak(&d->leaks);

    row->bytes = row->finding->bytes;
    switch (row->finding->kind) {
    case MV_FINDING_OOM:
        row->bytes = 0;
        for (uint32_t i = 0; i < d->ooms.count; i++)
            row->bytes += d->ooms.ooms[i].requested;
        return d->ooms.count;
    case MV_FINDING_LEAK:
        row->bytes = d->leaks.leaked_bytes + (driver ? mv_driver_growth_bytes(driver) : 0);
        return d->leaks.count + (driver != NULL);
    default:
        return 1;
    }
}

/* Adds a row for the first finding of a report; its text has the number of further findings of the
 * same kind. */
static void add_row(mv_triage *t, const mv_triage_device *d, mv_report report, mv_text_maker *words)
{
    mv_triage_row row = {.device = d->device, .finding = first_of(d, report)};
    char more[MV_COUNT_TEXT];
    uint32_t count;

    if (!row.finding)
        return;
    row.count = count = count_all(d, &row);
    row.text = row.finding->text;
    if (count > 1)
        row.text = mv_make_text(words, "%s; %s more", row.text, mv_count_text(more, count - 1));
    t->rows[t->count++] = row;
}

/* Adds findings that are not verdicts but deserve a line. */
static void add_asides(mv_triage *t, const mv_triage_device *d)
{
    for (uint32_t i = 0; i < d->findings.count; i++) {
        const mv_finding *f = &d->findings.rows[i];
        if (f->is_aside)
            t->rows[t->count++] = (mv_triage_row){
                .device = d->device, .finding = f, .text = f->text, .bytes = f->bytes};
    }
}

/* Sorts rows in the order of one device's findings, and equal rows by device. */
MV_FINDING_BY_ALARM(by_weight, mv_triage_row, finding->kind)

static mv_reports reports_of(const triage_run *q, const mv_triage_device *d)
{
    return (mv_reports){.trace = q->trace,
                        .sites = &q->out->sites,
                        .lives = &d->lives,
                        .leaks = &d->leaks,
                        .held = &d->held,
                        .graphs = &d->graphs,
                        .ooms = &d->ooms,
                        .fragmentation = &d->fragmentation,
                        .peak = &d->peak,
                        .whatif = d->has_whatif ? &d->whatif : NULL,
                        .ledger = d->has_ledger ? &d->ledger : NULL};
}

/* ---- leaks on other levels --------------------------------------------------------------- */

/* Finds the step marks, which all levels share, in parallel with each level's other work. */
static void do_lives_or_step_marks(void *user, uint32_t i)
{
    triage_run *q = user;

    if (i < q->out->device_count)
        do_part(q, i, MV_TRIAGE_LIVES);
    else
        mv_level_step_marks(&q->out->arena, q->read, &q->marks, &q->step_err);
}

static void do_level(void *user, uint32_t i)
{
    triage_run *q = user;
    mv_triage_level *l = &q->out->levels[i];

    if (mv_level_take_with(&l->arena, &l->trace, l->level, &q->marks, &l->err) == MV_OK)
        mv_sums_check(&l->trace, &l->err);
}

static void do_other(triage_run *q, uint32_t i)
{
    mv_triage_other *o = &q->out->others[i];

    if (mv_lives_find(&o->arena, &o->of->trace, o->device, &o->lives, &o->err) == MV_OK)
        mv_leaks_find(&o->arena, &o->of->trace, &o->lives, &o->leaks, &o->err);
}

static void add_level(mv_budget *budget, const triage_run *q, mv_level level)
{
    mv_triage_level *l = &q->out->levels[q->out->level_count++];

    *l = (mv_triage_level){.level = level, .trace = *q->read, .err.offset = MV_NO_OFFSET};
    mv_arena_init(&l->arena, budget);
}

/* Opens the other levels: the whole device if the reports cover only PyTorch's part of the device,
 * the host, and heaps. */
static mv_code open_levels(mv_budget *budget, const triage_run *q, mv_err *err)
{
    mv_level own = mv_level_default(q->read), level;
    mv_level_list list = mv_levels_of(q->read);

    q->out->levels =
        mv_push_array(&q->out->arena, mv_triage_level, (uint64_t)list.count + MV_LEVEL_HEAP);
    if (!q->out->levels)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    if (own == MV_LEVEL_PYTORCH && q->read->api_calls.count > 0)
        add_level(budget, q, MV_LEVEL_ALL);
    if (own != MV_LEVEL_HOST && q->end == UINT32_MAX && mv_level_has(q->read, MV_LEVEL_HOST))
        add_level(budget, q, MV_LEVEL_HOST);
    for (uint32_t i = 0; i < list.count; i++)
        if (mv_level_read(q->read, list.name[i], &level) && level >= MV_LEVEL_HEAP && level != own)
            add_level(budget, q, level);
    return MV_OK;
}

static mv_code open_others(mv_budget *budget, const triage_run *q, mv_err *err)
{
    mv_triage *t = q->out;
    uint64_t most = 0;

    for (uint32_t i = 0; i < t->level_count; i++) {
        if (t->levels[i].err.code != MV_OK) {
            *err = t->levels[i].err;
            return err->code;
        }
        most += mv_trace_devices(&t->levels[i].trace);
    }
    t->others = mv_push_array(&t->arena, mv_triage_other, most + 1);
    if (!t->others)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    for (uint32_t i = 0; i < t->level_count; i++) {
        const mv_triage_level *l = &t->levels[i];
        uint32_t devices = mv_trace_devices(&l->trace);
        for (uint32_t d = q->first; d < devices && d < q->end; d++) {
            if (!mv_device_is_used(&l->trace, d))
                continue;
            t->others[t->other_count] =
                (mv_triage_other){.of = l, .device = d, .err.offset = MV_NO_OFFSET};
            mv_arena_init(&t->others[t->other_count++].arena, budget);
        }
    }
    return MV_OK;
}

static mv_code find_levels(mv_budget *budget, triage_run *q, uint32_t threads, mv_err *err)
{
    if (q->step_err.code != MV_OK) {
        *err = q->step_err;
        return err->code;
    }
    mv_parallel_for(q->out->level_count, threads, do_level, q);
    return open_others(budget, q, err);
}

/* Returns the leak report on a device of the main level, or NULL. */
static const mv_leaks *leaks_on(const mv_triage *t, uint32_t device)
{
    for (uint32_t i = 0; i < t->device_count; i++)
        if (t->devices[i].device == device)
            return &t->devices[i].leaks;
    return NULL;
}

/* Whether a leak on another level, or a doubt about one, adds something to what the main level
 * shows. Host memory is never device memory. The blocks of a heap are inside memory from CUDA
 * calls, so a leak of the heap may be the device's leak. A doubt is reported if memory seems to
 * grow and there are no other problems. A doubt about host memory is reported even if there is a
 * doubt about a device. */
static bool is_worth_reporting(const mv_triage *t, const mv_triage_other *o)
{
    mv_level level = o->of->level;
    const mv_leaks *own = level == MV_LEVEL_HOST ? NULL : leaks_on(t, o->device);
    uint64_t leaked = own ? own->leaked_bytes : 0;
    bool is_well = true;

    if (o->leaks.verdict != MV_VERDICT_LEAK) {
        for (uint32_t i = 0; i < t->device_count; i++) {
            mv_leak_verdict verdict = t->devices[i].leaks.verdict;
            is_well = is_well && (verdict == MV_VERDICT_CLEAN ||
                                  (level == MV_LEVEL_HOST && verdict != MV_VERDICT_LEAK));
        }
        return is_well && o->leaks.may_grow;
    }
    if (level < MV_LEVEL_HEAP)
        return !own || own->verdict != MV_VERDICT_LEAK;
    for (uint32_t i = 0; i < t->other_count; i++)
        if (t->others[i].of->level == MV_LEVEL_ALL && t->others[i].device == o->device &&
            t->others[i].leaks.leaked_bytes > leaked)
            leaked = t->others[i].leaks.leaked_bytes;
    return o->leaks.leaked_bytes > leaked;
}

const char *mv_triage_memory_of(const mv_trace *trace, mv_text_maker *words)
{
    const char *level = trace->origin.level;

    if (!level || mv_trace_allocator(trace))
        return mv_recorder_of(trace)->allocator;
    if (trace->origin.is_heap)
        return mv_make_text(words, "heap %s", level);
    return mv_level_is_host(level)                            ? "pinned memory"
           : strcmp(level, mv_level_name(MV_LEVEL_CUDA)) == 0 ? "CUDA calls"
                                                              : "";
}

static mv_code add_other(const triage_run *q, mv_triage_other *o, mv_text_maker *words, mv_err *err)
{
    mv_triage *t = q->out;
    mv_reports reports = {.trace = &o->of->trace, .lives = &o->lives, .leaks = &o->leaks};
    mv_triage_device found = {.device = o->device, .leaks = o->leaks};
    const char *memory = mv_triage_memory_of(&o->of->trace, words);
    uint32_t count = t->count;
    mv_sites sites;

    reports.sites = &sites;
    if (mv_sites_find(&t->arena, &o->of->trace, &sites, err) != MV_OK ||
        mv_findings_of_leaks(&t->arena, &reports, &found.findings, err) != MV_OK)
        return err->code;
    add_row(t, &found, MV_REPORT_LEAKS, words);
    for (uint32_t i = count; i < t->count; i++) {
        t->rows[i].level = o->of->trace.origin.level;
        t->rows[i].text =
            mv_make_text(words, "%s%s%s", memory, *memory ? ": " : "", t->rows[i].text);
    }
    return MV_OK;
}

/* Adds the leaks of other levels. If there are any, "no leak" names the main level. */
static mv_code add_others(const triage_run *q, mv_text_maker *words, mv_err *err)
{
    mv_triage *t = q->out;
    uint32_t own = t->count;

    for (uint32_t i = 0; i < t->other_count; i++) {
        mv_triage_other *o = &t->others[i];
        o->is_reported = is_worth_reporting(t, o);
        if (o->is_reported && add_other(q, o, words, err) != MV_OK)
            return err->code;
    }
    for (uint32_t i = 0; i < own && t->count > own; i++)
        if (t->rows[i].finding->report == MV_REPORT_LEAKS &&
            t->rows[i].finding->kind != MV_FINDING_LEAK)
            t->rows[i].text = mv_make_text(words, "%s: %s", mv_triage_memory_of(q->trace, words),
                                           t->rows[i].text);
    return MV_OK;
}

/* ---- pinned memory ------------------------------------------------------------------------- */

static bool looks_at_host(const triage_run *q)
{
    if (mv_level_is_host(q->trace->origin.level))
        return true;
    for (uint32_t i = 0; i < q->out->level_count; i++)
        if (q->out->levels[i].level == MV_LEVEL_HOST)
            return true;
    return false;
}

/* Adds the memory that the host allocator's rounding costs. */
static mv_code add_rounding(const triage_run *q, mv_text_maker *words, mv_err *err)
{
    mv_triage *t = q->out;
    mv_host_totals host = mv_host_totals_of(q->read);
    const char *text = mv_host_rounding_text(&t->arena, &host);
    mv_finding *f = mv_push_struct(&t->arena, mv_finding);

    if (!text || !f)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    if (!*text || !looks_at_host(q))
        return MV_OK;
    *f = (mv_finding){.kind = MV_FINDING_NOTE,
                      .report = MV_REPORT_FRAGMENTATION,
                      .verdict = "rounding",
                      .bytes = host.now.rounding + host.now.powers / 2};
    f->text =
        mv_make_text(words,
                     "pinned memory: %s; pinned_max_round_threshold_mb:N pins requests above N MiB "
                     "without rounding",
                     text);
    t->rows[t->count++] = (mv_triage_row){
        .level = mv_level_name(MV_LEVEL_HOST), .finding = f, .text = f->text, .bytes = f->bytes};
    return MV_OK;
}

/* ---- the whole triage -------------------------------------------------------------------- */

static mv_code build_rows(const triage_run *q, mv_err *err)
{
    mv_triage *t = q->out;
    mv_text_maker words = {.arena = &t->arena};
    uint64_t most = (uint64_t)t->other_count + 1; /* + 1 for a row on the rounding of pinned
                                                   * memory */

    /* each finding becomes at most one row */
    for (uint32_t i = 0; i < t->device_count; i++) {
        mv_triage_device *d = &t->devices[i];
        mv_reports reports = reports_of(q, d);
        if (mv_findings_find(&t->arena, &reports, &d->findings, err) != MV_OK)
            return err->code;
        most += d->findings.count;
    }
    t->rows = mv_push_array(&t->arena, mv_triage_row, most);
    if (!t->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    for (uint32_t i = 0; i < t->device_count; i++) {
        const mv_triage_device *d = &t->devices[i];
        for (uint32_t report = 0; report < MV_REPORT_COUNT; report++)
            add_row(t, d, (mv_report)report, &words);
        add_asides(t, d);
    }
    if (add_others(q, &words, err) != MV_OK || add_rounding(q, &words, err) != MV_OK)
        return err->code;
    mv_sort_by(&t->arena, t->rows, t->count, sizeof *t->rows, by_weight, NULL);
    return words.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage") : MV_OK;
}

/* Runs the report with number `i`. Leaks on other levels come first, then the reports on all
 * devices, slowest report first. */
static void do_report(void *user, uint32_t i)
{
    triage_run *q = user;
    uint32_t others = q->out->other_count;

    if (i < others)
        do_other(q, i);
    else
        do_part(q, (i - others) % q->out->device_count, (i - others) / q->out->device_count);
}

static mv_code open_devices(mv_budget *budget, const triage_run *q, uint32_t end, mv_err *err)
{
    mv_triage *t = q->out;
    uint32_t first = q->first;

    t->devices = mv_push_array(&t->arena, mv_triage_device, (uint64_t)(end - first) + 1);
    if (!t->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    for (uint32_t device = first; device < end; device++) {
        mv_triage_device *d = &t->devices[t->device_count];
        if (!mv_device_is_used(q->trace, device))
            continue;
        d->device = device;
        t->device_count++;
        for (uint32_t part = 0; part < MV_TRIAGE_PARTS; part++) {
            mv_arena_init(&d->arenas[part], budget);
            d->errs[part] = (mv_err){.offset = MV_NO_OFFSET};
        }
    }
    return MV_OK;
}

mv_code mv_triage_find(mv_budget *budget, mv_triage_query ask, uint32_t threads, mv_triage *out,
                       mv_err *err)
{
    uint32_t devices = mv_trace_devices(ask.trace);
    triage_run q = {.read = ask.read,
                    .trace = ask.trace,
                    .is_level = ask.trace->origin.level != NULL,
                    .no_whatif = ask.no_whatif,
                    .first = ask.first,
                    .end = ask.end,
                    .joined = ask.joined,
                    .step_err.offset = MV_NO_OFFSET,
                    .out = out};
    bool has_step_marks;

    *out = (mv_triage){0};
    mv_arena_init(&out->arena, budget);
    if (open_devices(budget, &q, ask.end < devices ? ask.end : devices, err) != MV_OK ||
        (ask.with_others && open_levels(budget, &q, err) != MV_OK) ||
        mv_sites_find(&out->arena, ask.trace, &out->sites, err) != MV_OK)
        return err->code;
    has_step_marks =
        out->level_count > 0 &&
        (ask.read->api_calls.count || ask.read->heap_calls.count || ask.read->host_events.count);
    mv_parallel_for(out->device_count + has_step_marks, threads, do_lives_or_step_marks, &q);
    if (first_error(out, err) != MV_OK || find_levels(budget, &q, threads, err) != MV_OK)
        return err->code;
    mv_parallel_for(out->other_count + out->device_count * MV_TRIAGE_LIVES, threads, do_report, &q);
    return first_error(out, err) == MV_OK ? build_rows(&q, err) : err->code;
}

uint32_t mv_triage_problems(const mv_triage *triage)
{
    uint32_t problems = 0;

    for (uint32_t i = 0; i < triage->count; i++)
        if (mv_headline_problem(triage->rows[i].finding->kind))
            problems += triage->rows[i].count;
    return problems;
}

const mv_triage_row *mv_triage_unknown(const mv_triage *triage)
{
    for (uint32_t i = 0; i < triage->count; i++) {
        const mv_finding *f = triage->rows[i].finding;
        if (f->report == MV_REPORT_LEAKS && f->kind == MV_FINDING_NOTE &&
            mv_headline_unknown(triage->rows[i].text))
            return &triage->rows[i];
    }
    return NULL;
}

const char *mv_triage_badge(mv_arena *arena, const mv_triage *triage, const mv_trace *read)
{
    const mv_triage_row *unknown = mv_triage_unknown(triage);
    uint32_t problems = mv_triage_problems(triage);

    if (problems)
        return mv_arena_printf(arena, "%u: %s", problems,
                               mv_headline_problem(triage->rows[0].finding->kind));
    if (unknown)
        return mv_headline_unknown(unknown->text);
    return read->notes[MV_NOTE_DAMAGED].count ? "fine (file damaged)" : "fine";
}

void mv_triage_release(mv_triage *triage)
{
    for (uint32_t i = 0; i < triage->device_count; i++)
        for (uint32_t part = 0; part < MV_TRIAGE_PARTS; part++)
            mv_arena_release(&triage->devices[i].arenas[part]);
    for (uint32_t i = 0; i < triage->other_count; i++)
        mv_arena_release(&triage->others[i].arena);
    for (uint32_t i = 0; i < triage->level_count; i++)
        mv_arena_release(&triage->levels[i].arena);
    mv_arena_release(&triage->arena);
}
