#include "analyze/advice/headline.h"

#include <stdio.h>

#include "analyze/advice/triage.h"
#include "analyze/leaks/driver_growth.h"
#include "analyze/levels/levels.h"
#include "base/size.h"
#include "base/sort.h"

typedef struct {
    mv_text_maker words;
    const mv_reports *of;
    mv_headline *out;
} heading;

static void add(heading *h, mv_headline_row row)
{
    h->out->rows[h->out->count++] = row;
    h->out->alarms += row.level == MV_HEADLINE_ALARM;
}

/* Lists the reasons of the failed requests, each reason once, in order of the failures: "capacity,
 * stream or pool". */
static void list_reasons(const mv_ooms *found, char *out, size_t size)
{
    static const char *const names[MV_OOM_VERDICT_COUNT] = {
        [MV_OOM_CAPACITY] = "capacity",
        [MV_OOM_FRAGMENTATION] = "fragmentation",
        [MV_OOM_STREAM_OR_POOL] = "stream or pool",
        [MV_OOM_PENDING_FREE] = "pending free",
        [MV_OOM_OUTSIDE] = "outside PyTorch",
        [MV_OOM_OTHERS] = "outside",
        [MV_OOM_UNKNOWN] = "unknown",
    };
    uint32_t seen = 0;

    *out = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        uint32_t bit = 1u << found->ooms[i].verdict;
        if (!(seen & bit))
            mv_text_append(out, size, "%s%s", *out ? ", " : "", names[found->ooms[i].verdict]);
        seen |= bit;
    }
}

static void add_ooms(heading *h)
{
    const mv_ooms *found = h->of->ooms;
    char reasons[160], times[32] = "";
    mv_headline_row row = {.kind = MV_FINDING_OOM};

    if (found->count == 0) {
        row.level = found->is_known ? MV_HEADLINE_FINE : MV_HEADLINE_UNKNOWN;
        row.text = found->is_known ? "no request failed" : "no failed request recorded";
        row.why = found->why;
        add(h, row);
        return;
    }
    list_reasons(found, reasons, sizeof reasons);
    if (found->count > 1)
        snprintf(times, sizeof times, " %u times", found->count);
    row.level = MV_HEADLINE_ALARM;
    row.bytes = found->ooms[0].requested;
    row.text = mv_make_text(&h->words, "out of memory%s: %s", times, reasons);
    row.why = found->ooms[0].why;
    add(h, row);
}

/* Returns where a leak is: " at train.py:74", " (no stack)", " in backward of linear
 * (AddmmBackward0)". */
static const char *place_of(heading *h, const mv_trace *trace, const char *label,
                            mv_frame_id culprit)
{
    char line[32] = "";
    const char *end;

    if (culprit.row < trace->frames.count)
        snprintf(line, sizeof line, ":%lld", (long long)trace->frames.line[culprit.row]);
    end = *line ? strstr(label, line) : NULL;
    if (end)
        return mv_make_text(&h->words, " at %.*s", (int)(end - label + (int)strlen(line)), label);
    return mv_make_text(&h->words, "%s%s", *label == '(' ? " " : " in ", label);
}

/* Returns the text if no leak was found. A file with several levels of memory may leak on another
 * level, so the text names the level. */
static const char *clean_text(heading *h)
{
    const mv_trace *trace = h->of->trace;
    const char *memory = "";

    if (trace && mv_levels_of(mv_trace_as_read(trace)).count > 1)
        memory = mv_triage_memory_of(trace, &h->words);
    return *memory ? mv_make_text(&h->words, "%s: no leak", memory) : "no leak";
}

static void add_leaks(heading *h)
{
    const mv_leaks *found = h->of->leaks;
    const mv_driver_growth *driver = mv_driver_leak(found);
    uint64_t driver_bytes = driver ? mv_driver_growth_bytes(driver) : 0;
    uint32_t count = found->count + (driver != NULL);
    char size[MV_SIZE_TEXT], label[256], more[32] = "";
    mv_headline_row row = {.kind = MV_FINDING_LEAK, .why = found->why};

    if (count == 0) {
        row.level = found->verdict == MV_VERDICT_CLEAN ? MV_HEADLINE_FINE : MV_HEADLINE_UNKNOWN;
        row.text = row.level == MV_HEADLINE_FINE
                       ? clean_text(h)
                       : mv_make_text(&h->words, "leaks unknown: %s", found->lacks);
        add(h, row);
        return;
    }
    if (count > 1)
        snprintf(more, sizeof more, ", %u more", count - 1);
    row.level = MV_HEADLINE_ALARM;
    row.bytes = found->leaked_bytes + driver_bytes;
    if (found->count > 0) {
        const mv_leak *leak = found->leaks;
        mv_leak_label(h->of->trace, h->of->sites->kinds, leak, label, sizeof label);
        row.text = mv_make_text(&h->words, "leak %s%s%s", mv_size_text(size, leak->bytes),
                                place_of(h, h->of->trace, label, leak->culprit), more);
    } else {
        row.text = mv_make_text(
            &h->words, "leak %s of driver memory%s", mv_size_text(size, driver_bytes),
            place_of(h, mv_trace_as_read(h->of->trace), driver->label, driver->culprit));
    }
    add(h, row);
}

static void add_fragmentation(heading *h)
{
    const mv_fragmentation *found = h->of->fragmentation;
    char size[MV_SIZE_TEXT];
    mv_headline_row row = {
        .kind = MV_FINDING_FRAGMENTED, .bytes = found->beyond, .why = found->why};

    if (found->waits) {
        row.kind = MV_FINDING_WAITING;
        row.level = MV_HEADLINE_ALARM;
        row.bytes = found->waiting.bytes;
        row.text = mv_make_text(&h->words, "waiting for streams: %s",
                                mv_size_text(size, found->waiting.bytes));
    } else if (!found->fragmented) {
        row.level = found->is_known ? MV_HEADLINE_FINE : MV_HEADLINE_UNKNOWN;
        row.text = mv_make_text(&h->words, "fragmentation %s", found->answer);
        row.bytes = 0;
    } else {
        row.level = MV_HEADLINE_ALARM;
        row.bytes = found->beyond ? found->beyond : found->stranded;
        row.text = found->beyond ? mv_make_text(&h->words, "fragmented: %s beyond the need",
                                                mv_size_text(size, found->beyond))
                                 : mv_make_text(&h->words, "fragmented: %s in holes",
                                                mv_size_text(size, found->stranded));
    }
    add(h, row);
}

static bool is_of_other(const mv_reports *reports)
{
    return reports->trace && mv_trace_allocator(reports->trace);
}

/* Sorts in the order of findings: failed requests first, then the alarms with the most bytes. Rows
 * that are not alarms keep their order. */
static int by_alarm(const void *left, const void *right, const void *context)
{
    const mv_headline_row *a = left, *b = right;
    bool is_alarm_a = a->level == MV_HEADLINE_ALARM, is_alarm_b = b->level == MV_HEADLINE_ALARM;
    bool is_oom_a = a->kind == MV_FINDING_OOM, is_oom_b = b->kind == MV_FINDING_OOM;

    (void)context;
    if (is_alarm_a != is_alarm_b)
        return is_alarm_a ? -1 : 1;
    if (!is_alarm_a)
        return 0;
    if (is_oom_a != is_oom_b)
        return is_oom_a ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

mv_code mv_headline_find(mv_arena *arena, const mv_reports *reports, mv_headline *out, mv_err *err)
{
    heading h = {.words.arena = arena, .of = reports, .out = out};
    bool is_pytorch = !is_of_other(reports);
    uint32_t shown;

    *out = (mv_headline){.line = ""};
    if (reports->leaks)
        add_leaks(&h);
    if (reports->fragmentation && is_pytorch && !reports->fragmentation->is_unseen)
        add_fragmentation(&h);
    if (reports->ooms && is_pytorch) {
        add_ooms(&h);
    } else if (reports->ooms) {
        /* a file of another tool does not record how much memory was free */
        uint32_t count = h.of->ooms->count;
        if (count > 0)
            add(&h, (mv_headline_row){.kind = MV_FINDING_OOM,
                                      .level = MV_HEADLINE_UNKNOWN,
                                      .text = mv_make_text(&h.words, "%u request%s failed", count,
                                                           mv_plural(count)),
                                      .why = mv_failure_may_be_caught(&h.words, count)});
    }
    mv_sort_by(arena, out->rows, out->count, sizeof *out->rows, by_alarm, NULL);
    shown = out->alarms ? out->alarms : out->count;
    for (uint32_t i = 0; i < shown; i++)
        out->line =
            mv_make_text(&h.words, "%s%s%s", out->line, i ? " \xc2\xb7 " : "", out->rows[i].text);
    return h.words.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "headline") : MV_OK;
}

const char *mv_headline_unknown(const char *text)
{
    static const char unknown[] = "leaks unknown";

    return strstr(text, unknown) ? unknown : NULL;
}

const char *mv_headline_problem(mv_finding_kind kind)
{
    static const char *const names[MV_FINDING_COUNT] = {[MV_FINDING_OOM] = "out of memory",
                                                        [MV_FINDING_LEAK] = "leak",
                                                        [MV_FINDING_FRAGMENTED] = "fragmented",
                                                        [MV_FINDING_WAITING] = "waiting"};

    return kind < MV_FINDING_COUNT ? names[kind] : NULL;
}

uint32_t mv_headline_problems(const mv_reports *reports)
{
    bool has_ooms = reports->ooms && !is_of_other(reports);

    return (has_ooms ? reports->ooms->count : 0) + (reports->leaks ? reports->leaks->count : 0) +
           (reports->leaks && mv_driver_leak(reports->leaks)) +
           (reports->fragmentation &&
            (reports->fragmentation->fragmented || reports->fragmentation->waits));
}

const char *mv_headline_badge(mv_arena *arena, const mv_reports *reports,
                              const mv_headline *headline)
{
    if (headline->count == 0)
        return "";
    if (headline->alarms > 0)
        return mv_arena_printf(arena, "%u: %s", mv_headline_problems(reports),
                               mv_headline_problem(headline->rows[0].kind));
    for (uint32_t i = 0; i < headline->count; i++) {
        const mv_headline_row *row = &headline->rows[i];
        if (row->level == MV_HEADLINE_UNKNOWN) /* the first unknown in the order leaks,
                                                * fragmentation, failed requests */
            return row->kind == MV_FINDING_OOM ? "fine (file damaged)" : row->text;
    }
    return reports->trace->notes[MV_NOTE_DAMAGED].count ? "fine (file damaged)" : "fine";
}
