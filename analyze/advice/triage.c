#include "analyze/advice/triage.h"

#include "analyze/leaks/driver_growth.h"
#include "analyze/oom/refused_calls.h"
#include "analyze/ranks/summary.h"

#include "base/numbers.h"
#include "base/side_by_side.h"
#include "base/sort.h"
#include "base/text.h"

typedef struct {
    const mv_trace *read, *trace, *whole;
    bool is_level; /* `trace` is not `read` */
    mv_triage *out;
} inquiry;

/* ---- the reports ------------------------------------------------------------------------- */

static mv_code find_peak(const inquiry *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    mv_moment_ask ask = {.kind = MV_MOMENT_PEAK, .window = {0, d->lives.events.count}};
    mv_peak_opts opts = {.window = ask.window, .kinds = q->out->sites.kinds};
    mv_moment peak;

    if (mv_moment_find(arena, &d->lives, ask, &peak, err) != MV_OK)
        return err->code;
    return mv_peak_attribute(arena, q->trace, &d->lives, peak, opts, &d->peak, err);
}

/* What is about PyTorch's allocator, or about all of the device, is asked of the trace as it was
 * read. */
static mv_code lives_as_read(const inquiry *q, const mv_triage_device *d, mv_arena *arena,
                             mv_lives *out, mv_err *err)
{
    *out = d->lives;
    return q->is_level ? mv_lives_find(arena, q->read, d->device, out, err) : MV_OK;
}

static mv_code find_ledger(const inquiry *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    mv_ledger_ask ask = {.when = MV_LEDGER_MOST_USED};
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

static mv_code find_ooms(const inquiry *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
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

static mv_code find_leaks(const inquiry *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    if (mv_leaks_find(arena, q->trace, &d->lives, &d->leaks, err) != MV_OK)
        return err->code;
    return mv_leaks_outlook(arena, q->trace, &d->lives, &d->leaks, MV_NO_BYTES, &d->outlook, err);
}

static mv_code find_whole(const inquiry *q, mv_triage_device *d, mv_arena *arena, mv_err *err)
{
    if (!q->whole)
        return MV_OK;
    if (mv_lives_find(arena, q->whole, d->device, &d->whole_lives, err) != MV_OK)
        return err->code;
    return mv_leaks_find(arena, q->whole, &d->whole_lives, &d->whole_leaks, err);
}

static mv_code find_part(const inquiry *q, mv_triage_device *d, uint32_t part, mv_arena *arena,
                         mv_err *err)
{
    const mv_sites *sites = &q->out->sites;

    switch (part) {
    case MV_TRIAGE_WHATIF:
        d->has_whatif = !q->is_level;
        return q->is_level ? MV_OK
                           : mv_whatif_find(arena, q->read, &d->lives, sites, (mv_whatif_opts){0},
                                            &d->whatif, err);
    case MV_TRIAGE_FRAGMENTATION:
        return mv_fragmentation_find(arena, q->trace, &d->lives, sites,
                                     (mv_fragmentation_opts){.window = MV_ALL_EVENTS},
                                     &d->fragmentation, err);
    case MV_TRIAGE_OOMS:
        return find_ooms(q, d, arena, err);
    case MV_TRIAGE_WHOLE:
        return find_whole(q, d, arena, err);
    case MV_TRIAGE_LEAKS:
        return find_leaks(q, d, arena, err);
    case MV_TRIAGE_PEAK:
        return find_peak(q, d, arena, err);
    case MV_TRIAGE_LEDGER:
        return find_ledger(q, d, arena, err);
    case MV_TRIAGE_TOTALS:
        return mv_totals_find(arena, q->trace, &d->lives, &d->totals, err);
    default:
        return mv_lives_find(arena, q->trace, d->device, &d->lives, err);
    }
}

static void do_part(inquiry *q, uint32_t device, uint32_t part)
{
    mv_triage_device *d = &q->out->devices[device];

    find_part(q, d, part, &d->arenas[part], &d->errs[part]);
}

static void do_lives(void *user, uint32_t i)
{
    do_part(user, i, MV_TRIAGE_LIVES);
}

/* The longest first, of every device. */
static void do_report(void *user, uint32_t i)
{
    inquiry *q = user;

    do_part(q, i % q->out->device_count, i / q->out->device_count);
}

static mv_code first_error(const mv_triage *t, mv_err *err)
{
    for (uint32_t i = 0; i < t->device_count; i++)
        for (uint32_t part = 0; part < MV_TRIAGE_PARTS; part++)
            if (t->devices[i].errs[part].code != MV_OK) {
                *err = t->devices[i].errs[part];
                return err->code;
            }
    return MV_OK;
}

/* ---- the verdicts ------------------------------------------------------------------------ */

/* The first finding of a report with a verdict; NULL: it has none. */
static const mv_finding *first_of(const mv_triage_device *d, mv_report report)
{
    for (uint32_t i = 0; i < d->findings.count; i++) {
        const mv_finding *f = &d->findings.rows[i];
        if (f->report == report && *f->verdict && (report != MV_REPORT_OOM || d->has_ooms))
            return f;
    }
    return NULL;
}

/* Sets row->bytes to those of all findings of the row's kind, and returns how many there are: of
 * the reports, since not all of them are kept as findings. */
static uint32_t count_all(const mv_triage_device *d, mv_triage_row *row)
{
    const mv_driver_growth *driver = d->leaks.driver;
    bool driver_leaks = driver && driver->verdict == MV_VERDICT_LEAK;

    row->bytes = row->finding->bytes;
    switch (row->finding->kind) {
    case MV_FINDING_OOM:
        row->bytes = 0;
        for (uint32_t i = 0; i < d->ooms.count; i++)
            row->bytes += d->ooms.ooms[i].requested;
        return d->ooms.count;
    case MV_FINDING_LEAK:
        row->bytes = d->leaks.leaked_bytes + (driver_leaks ? mv_driver_growth_bytes(driver) : 0);
        return d->leaks.count + driver_leaks;
    default:
        return 1;
    }
}

/* The first finding of a report; those of its kind that follow are counted. */
static void add_row(mv_triage *t, const mv_triage_device *d, mv_report report, mv_telling *words)
{
    mv_triage_row row = {.device = d->device, .finding = first_of(d, report)};
    char more[MV_COUNT_TEXT];
    uint32_t count;

    if (!row.finding)
        return;
    count = count_all(d, &row);
    row.text = row.finding->text;
    if (count > 1)
        row.text = mv_say(words, "%s; %s more", row.text, mv_count_text(more, count - 1));
    t->rows[t->count++] = row;
}

/* As the findings of one device; equal ones in the order of devices. */
static int by_weight(const void *left, const void *right, const void *context)
{
    const mv_triage_row *a = left, *b = right;

    (void)context;
    return mv_finding_by_alarm(a->finding->kind, a->bytes, b->finding->kind, b->bytes);
}

static mv_reports reports_of(const inquiry *q, const mv_triage_device *d)
{
    return (mv_reports){.trace = q->trace,
                        .sites = &q->out->sites,
                        .lives = &d->lives,
                        .leaks = &d->leaks,
                        .ooms = &d->ooms,
                        .fragmentation = &d->fragmentation,
                        .peak = &d->peak,
                        .whatif = d->has_whatif ? &d->whatif : NULL,
                        .ledger = d->has_ledger ? &d->ledger : NULL};
}

/* Leaks of others than PyTorch, where PyTorch's own allocator has none. */
static mv_code add_whole(const inquiry *q, mv_triage_device *d, mv_telling *words, mv_err *err)
{
    mv_triage_device whole = *d;
    mv_reports reports = reports_of(q, d);
    uint32_t count = q->out->count;

    d->has_whole = q->whole && d->leaks.verdict != MV_VERDICT_LEAK &&
                   d->whole_leaks.verdict == MV_VERDICT_LEAK;
    if (!d->has_whole)
        return MV_OK;
    reports.trace = q->whole;
    reports.lives = &d->whole_lives;
    reports.leaks = &d->whole_leaks;
    whole.leaks = d->whole_leaks;
    if (mv_findings_find(&q->out->arena, &reports, &whole.findings, err) != MV_OK)
        return err->code;
    add_row(q->out, &whole, MV_REPORT_LEAKS, words);
    for (uint32_t i = count; i < q->out->count; i++)
        q->out->rows[i].level = "all";
    return MV_OK;
}

static mv_code judge(const inquiry *q, mv_err *err)
{
    mv_triage *t = q->out;
    mv_telling words = {.arena = &t->arena};
    uint64_t most = (uint64_t)t->device_count * (MV_REPORT_COUNT + 1);

    t->rows = mv_push_array(&t->arena, mv_triage_row, most + 1);
    if (!t->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    for (uint32_t i = 0; i < t->device_count; i++) {
        mv_triage_device *d = &t->devices[i];
        mv_reports reports = reports_of(q, d);
        if (mv_findings_find(&t->arena, &reports, &d->findings, err) != MV_OK ||
            add_whole(q, d, &words, err) != MV_OK)
            return err->code;
        for (uint32_t report = 0; report < MV_REPORT_COUNT; report++)
            add_row(t, d, (mv_report)report, &words);
    }
    mv_sort_by(&t->arena, t->rows, t->count, sizeof *t->rows, by_weight, NULL);
    return words.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage") : MV_OK;
}

/* ---- all --------------------------------------------------------------------------------- */

static mv_code open_devices(mv_budget *budget, const mv_trace *trace, uint32_t first, uint32_t end,
                            mv_triage *t, mv_err *err)
{
    t->devices = mv_push_array(&t->arena, mv_triage_device, (uint64_t)(end - first) + 1);
    if (!t->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "triage");
    for (uint32_t device = first; device < end; device++) {
        mv_triage_device *d = &t->devices[t->device_count];
        if (!mv_device_is_used(trace, device))
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

mv_code mv_triage_find(mv_budget *budget, mv_triage_traces traces, uint32_t first, uint32_t end,
                       uint32_t threads, mv_triage *out, mv_err *err)
{
    const mv_trace *trace = traces.trace;
    inquiry q = {.read = traces.read,
                 .trace = trace,
                 .whole = traces.whole,
                 .is_level = trace->origin.level != NULL,
                 .out = out};

    *out = (mv_triage){0};
    mv_arena_init(&out->arena, budget);
    if (open_devices(budget, trace, first, end, out, err) != MV_OK ||
        mv_sites_find(&out->arena, trace, &out->sites, err) != MV_OK)
        return err->code;
    mv_side_by_side(out->device_count, threads, do_lives, &q);
    if (first_error(out, err) != MV_OK)
        return err->code;
    mv_side_by_side(out->device_count * MV_TRIAGE_LIVES, threads, do_report, &q);
    return first_error(out, err) == MV_OK ? judge(&q, err) : err->code;
}

void mv_triage_release(mv_triage *triage)
{
    for (uint32_t i = 0; i < triage->device_count; i++)
        for (uint32_t part = 0; part < MV_TRIAGE_PARTS; part++)
            mv_arena_release(&triage->devices[i].arenas[part]);
    mv_arena_release(&triage->arena);
}
