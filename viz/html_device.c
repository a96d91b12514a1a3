/* One device of a page: its allocations, segments, times and markers as columns "0.birth". */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viz/html_parts.h"
#include "viz/painter.h"
#include "viz/verdict.h"

enum { LABEL_SIZE = 256, LEAKED = 1, INEXACT = 2 };

typedef struct {
    mv_packed *columns;
    const mv_lives *lives;
    uint32_t number; /* of the device in the page, which names its columns */
} device;

static void open(device *d, mv_coding coding, const char *name)
{
    mv_packed_open(d->columns, coding, "%u.%s", d->number, name);
}

/* A moment: 0 is "never", or "before the first event". */
static uint64_t after(uint32_t event)
{
    return event == UINT32_MAX ? 0 : (uint64_t)event + 1;
}

/* ---- allocations ------------------------------------------------------------------------- */

static void add_lifes(device *d)
{
    const mv_alloc_lives *a = &d->lives->allocs;

    open(d, MV_CODING_DELTA, "birth");
    for (uint32_t i = a->preexisting; i < a->count; i++)
        mv_packed_add(d->columns, a->birth[i]);
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "life"); /* 0: never freed; else events from birth to free, and 1 */
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t birth = a->birth[i] == MV_BEFORE ? 0 : a->birth[i];
        mv_packed_add(d->columns, a->freed[i] == MV_NEVER ? 0 : (uint64_t)a->freed[i] - birth + 1);
    }
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "wait"); /* 0: never completed; else events since the free, and 1 */
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, a->completed[i] == MV_NEVER
                                      ? 0
                                      : (uint64_t)a->completed[i] - a->freed[i] + 1);
    mv_packed_close(d->columns);
}

static void add_bytes(device *d)
{
    const mv_alloc_lives *a = &d->lives->allocs;
    uint64_t unit = 512;

    for (uint32_t i = 0; i < a->count; i++)
        if (a->block[i] % unit)
            unit = 1;
    open(d, MV_CODING_PLAIN, "unit");
    mv_packed_add(d->columns, unit);
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "block");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, a->block[i] / unit);
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "slack"); /* zigzag: odd files ask for more than the block has */
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t slack = a->block[i] - a->requested[i];
        mv_packed_add(d->columns, slack << 1 ^ (0 - (slack >> 63)));
    }
    mv_packed_close(d->columns);
}

/* In two halves: a browser's numbers are exact to 53 bits. */
static void add_addresses(device *d)
{
    const mv_alloc_lives *a = &d->lives->allocs;

    open(d, MV_CODING_DELTA, "addr.high");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, a->addr[i] >> 32);
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "addr.low");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, (uint32_t)a->addr[i]);
    mv_packed_close(d->columns);
}

static void add_references(device *d, const mv_leaks *leaks)
{
    const mv_alloc_lives *a = &d->lives->allocs;

    open(d, MV_CODING_PLAIN, "stack");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, after(a->stack[i].row));
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "segment");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, after(a->segment[i]));
    mv_packed_close(d->columns);
    open(d, MV_CODING_PLAIN, "flags");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns,
                      (leaks->is_leaked[i] ? LEAKED : 0) | (a->inexact[i] ? INEXACT : 0));
    mv_packed_close(d->columns);
}

/* ---- segments, times, markers ------------------------------------------------------------ */

static void add_segments(device *d, const mv_trace *trace)
{
    const mv_segment_lives *s = &d->lives->segments;
    mv_packed *c = d->columns;

    open(d, MV_CODING_PLAIN, "segment.birth");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, after(s->birth[i]));
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "segment.death");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, after(s->death[i]));
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "segment.size");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->size[i]);
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "segment.kind");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->kind[i]);
    mv_packed_close(c);
    open(d, MV_CODING_TEXT, "segment.place"); /* "stream 0, pool (0, 0)" */
    for (uint32_t i = 0; i < s->count; i++) {
        char text[96];
        int at = snprintf(
            text, sizeof text, "stream %" PRIu64,
            s->stream[i].row < trace->streams.count ? trace->streams.value[s->stream[i].row] : 0);
        if (s->pool[i].row < trace->pools.count)
            at += snprintf(text + at, sizeof text - (size_t)at, ", pool (%" PRIu64 ", %" PRIu64 ")",
                           trace->pools.a[s->pool[i].row], trace->pools.b[s->pool[i].row]);
        mv_packed_add_text(c, (mv_span){(const uint8_t *)text, (uint64_t)at});
    }
    mv_packed_close(c);
}

static void add_times(device *d)
{
    const mv_events *e = &d->lives->events;
    bool has_times = e->count > 0;

    for (uint32_t i = 0; i < e->count; i++)
        has_times = has_times && e->time_us[i] != MV_NO_TIME;
    open(d, MV_CODING_DELTA, "time");
    for (uint32_t i = 0; has_times && i < e->count; i++)
        mv_packed_add(d->columns, (uint64_t)e->time_us[i]);
    mv_packed_close(d->columns);
}

static void add_ooms(device *d)
{
    const mv_events *e = &d->lives->events;
    mv_packed *c = d->columns;

    open(d, MV_CODING_PLAIN, "oom"); /* event, bytes asked for, device's free bytes and 1 (0: not
                                      * known), stack and 1; four numbers each */
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->action[i] != MV_ACTION_OOM)
            continue;
        mv_packed_add(c, i);
        mv_packed_add(c, e->size[i]);
        mv_packed_add(c, e->addr[i] == MV_NO_BYTES ? 0 : e->addr[i] + 1);
        mv_packed_add(c, after(e->stack[i].row));
    }
    mv_packed_close(c);
}

static void add_steps(device *d, const mv_leaks *leaks)
{
    open(d, MV_CODING_DELTA, "step");
    for (uint32_t i = 0; i < leaks->steps.count; i++)
        mv_packed_add(d->columns, leaks->steps.at[i]);
    mv_packed_close(d->columns);
}

/* ---- call sites: colours and names as in the other pictures ------------------------------ */

/* A colour that depends on the theme stands as its name: 1 leak, 2 no stack, 3 no frames. */
static uint64_t colour_of(const mv_painter *p, uint32_t caller)
{
    const mv_caller *row = &p->callers.callers[caller];

    if (row->is_leak)
        return 1;
    if (row->frame.row == MV_NO_ROW)
        return 2 + caller;
    return row->colour >> 8;
}

static void add_sites(device *d, const mv_painter *p)
{
    const mv_callers *s = &p->callers;
    const mv_alloc_lives *a = &d->lives->allocs;
    mv_packed *c = d->columns;
    char label[LABEL_SIZE];

    open(d, MV_CODING_TEXT, "site.label");
    for (uint32_t i = 0; i < s->count; i++) {
        mv_caller_label(p, &s->callers[i], label, sizeof label);
        mv_packed_add_text(c, (mv_span){(const uint8_t *)label, strlen(label)});
    }
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "site.colour");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, colour_of(p, i));
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "site.rank");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->callers[i].rank);
    mv_packed_close(c);
    open(d, MV_CODING_PLAIN, "site"); /* of each allocation */
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(c, s->of_alloc[i]);
    mv_packed_close(c);
}

/* ---- the device -------------------------------------------------------------------------- */

/* Ordinal, events, allocations from before the first event, first and end of the window that the
 * page opens on, history, whether all block sizes are exact, legend's rows. */
static void add_facts(device *d, const mv_html *page, uint32_t from, uint32_t to, uint32_t named)
{
    const mv_lives *l = d->lives;
    uint64_t facts[] = {l->device,
                        l->events.count,
                        l->allocs.preexisting,
                        from,
                        to && to < l->events.count ? to : l->events.count,
                        l->history,
                        l->doubts.inexact_blocks == 0,
                        named};
    const char *texts[] = {page->title, l->history_why};

    open(d, MV_CODING_PLAIN, "facts");
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++)
        mv_packed_add(d->columns, facts[i]);
    mv_packed_close(d->columns);
    open(d, MV_CODING_TEXT, "texts"); /* file, ground of the history, and the verdict */
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        mv_packed_add_text(d->columns, (mv_span){(const uint8_t *)texts[i], strlen(texts[i])});
}

static void add_verdict(device *d, mv_html *page, const mv_painter *p)
{
    char line[MV_HTML_VERDICT];
    const mv_leaks *leaks = p->opts->leaks;

    mv_verdict_line(p->trace, p->frame_kinds, leaks, line, sizeof line);
    mv_packed_add_text(d->columns, (mv_span){(const uint8_t *)line, strlen(line)});
    mv_packed_close(d->columns);
    if (page->devices == 0 || (leaks->count > 0 && !page->has_leak))
        memcpy(page->verdict, line, sizeof line);
    page->has_leak = page->has_leak || leaks->count > 0;
}

static void add_columns(device *d, const mv_leaks *leaks, const mv_trace *trace)
{
    add_lifes(d);
    add_bytes(d);
    add_addresses(d);
    add_references(d, leaks);
    add_segments(d, trace);
    add_times(d);
    add_ooms(d);
    add_steps(d, leaks);
}

/* Where the most bytes are allocated: what sites are ranked by. */
static mv_code find_peak(mv_arena *scratch, const mv_lives *lives, uint32_t *event, mv_err *err)
{
    mv_series series;
    mv_code code = mv_totals_series(scratch, lives, &series, err);
    uint64_t most;

    *event = MV_BEFORE;
    if (code != MV_OK)
        return code;
    most = series.before.allocated;
    for (uint32_t e = 0; e < series.count; e++)
        if (series.allocated[e] > most) {
            most = series.allocated[e];
            *event = e;
        }
    return MV_OK;
}

mv_code mv_html_add_device(mv_html *page, const mv_lives *lives, const mv_leaks *leaks,
                           uint32_t from, uint32_t to, mv_err *err)
{
    device d = {.columns = &page->columns, .lives = lives, .number = page->devices};
    mv_timeline_opts opts = {.leaks = leaks, .title = page->title};
    mv_painter p = {
        .trace = page->trace, .lives = lives, .opts = &opts, .theme = mv_theme_of(false)};
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, page->arena->budget);
    code = find_peak(&scratch, lives, &p.peak_event, err);
    p.frame_kinds = mv_frame_kinds(&scratch, page->trace);
    if (code == MV_OK && (!p.frame_kinds || !mv_callers_find(&scratch, &p)))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    if (code == MV_OK) {
        add_columns(&d, leaks, page->trace);
        add_sites(&d, &p);
        add_facts(&d, page, from, to, p.callers.named);
        add_verdict(&d, page, &p);
        page->devices++;
    }
    mv_arena_release(&scratch);
    return code;
}
