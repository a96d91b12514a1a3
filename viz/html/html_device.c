/* One device of a page as columns: what lives in it ("0.birth" for allocations, "0.segments.birth"
 * for segments), where segments belong, times and markers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/filter/isolate.h"
#include "analyze/leaks/leak_words.h"
#include "analyze/lives/alive.h"
#include "viz/core/segment_rows.h"
#include "viz/html/html_parts.h"
#include "viz/html/page_sites.h"

enum { LABEL_SIZE = 256, LEAKED = 1, INEXACT = 2, WAS_PENDING = 4, MATCHES = 1, LARGEST = 2 };

typedef struct {
    mv_packed *columns;
    const mv_lives *lives;
    uint32_t number;    /* of the device in the page, which names its columns */
    const char *prefix; /* of the rows' columns: "" or "segments." */
} device;

static void begin_column(device *d, mv_coding coding, const char *name)
{
    mv_packed_open(d->columns, coding, "%u.%s", d->number, name);
}

static void open_of_rows(device *d, mv_coding coding, const char *name)
{
    mv_packed_open(d->columns, coding, "%u.%s%s", d->number, d->prefix, name);
}

/* A moment: 0 is "never", or "before the first event". */
static uint64_t after(uint32_t event)
{
    return event == UINT32_MAX ? 0 : (uint64_t)event + 1;
}

/* ---- rows: allocations, or segments in their place --------------------------------------- */

static void add_lifes(device *d)
{
    const mv_alloc_lives *a = &d->lives->allocs;

    open_of_rows(d, MV_CODING_DELTA, "birth");
    for (uint32_t i = a->preexisting; i < a->count; i++)
        mv_packed_add(d->columns, a->birth[i]);
    mv_packed_close(d->columns);
    /* 0: never freed; else events from birth to free, and 1 */
    open_of_rows(d, MV_CODING_PLAIN, "life");
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t birth = a->birth[i] == MV_BEFORE ? 0 : a->birth[i];
        mv_packed_add(d->columns, a->freed[i] == MV_NEVER ? 0 : (uint64_t)a->freed[i] - birth + 1);
    }
    mv_packed_close(d->columns);
    /* 0: never completed; else events since the free, and 1 */
    open_of_rows(d, MV_CODING_PLAIN, "wait");
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
    open_of_rows(d, MV_CODING_PLAIN, "unit");
    mv_packed_add(d->columns, unit);
    mv_packed_close(d->columns);
    open_of_rows(d, MV_CODING_PLAIN, "block");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, a->block[i] / unit);
    mv_packed_close(d->columns);
    /* zigzag: odd files have requests larger than the block */
    open_of_rows(d, MV_CODING_PLAIN, "slack");
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

    open_of_rows(d, MV_CODING_DELTA, "addr.high");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, a->addr[i] >> 32);
    mv_packed_close(d->columns);
    open_of_rows(d, MV_CODING_PLAIN, "addr.low");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, (uint32_t)a->addr[i]);
    mv_packed_close(d->columns);
}

/* `leaks`: NULL for segments, which neither leak nor wait for a stream. */
static void add_references(device *d, const mv_leaks *leaks)
{
    const mv_alloc_lives *a = &d->lives->allocs;

    open_of_rows(d, MV_CODING_PLAIN, "stack");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, after(a->stack[i].row));
    mv_packed_close(d->columns);
    open_of_rows(d, MV_CODING_PLAIN, "segment");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns, after(a->segment[i]));
    mv_packed_close(d->columns);
    open_of_rows(d, MV_CODING_PLAIN, "flags");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(d->columns,
                      (leaks && leaks->is_leaked[i] ? LEAKED : 0) | (a->inexact[i] ? INEXACT : 0) |
                          (leaks && mv_alloc_was_pending(d->lives, i) ? WAS_PENDING : 0));
    mv_packed_close(d->columns);
}

/* ---- call sites: colours and names as in the other pictures ------------------------------ */

/* A colour that depends on the theme is stored as its name: 1 leak, 2 no stack, 3 no frames. */
static uint64_t colour_of(const mv_page_sites *p, uint32_t caller)
{
    const mv_caller *row = &p->callers.callers[caller];

    if (row->is_leak)
        return 1;
    if (row->frame.row == MV_NO_ROW)
        return 2 + caller;
    return row->colour >> 8;
}

static void add_sites(device *d, const mv_page_sites *p)
{
    const mv_callers *s = &p->callers;
    const mv_alloc_lives *a = &d->lives->allocs;
    mv_packed *c = d->columns;
    char label[LABEL_SIZE];

    open_of_rows(d, MV_CODING_TEXT, "site.label");
    for (uint32_t i = 0; i < s->count; i++) {
        mv_page_site_label(p, &s->callers[i], label, sizeof label);
        mv_packed_add_text(c, (mv_span){(const uint8_t *)label, strlen(label)});
    }
    mv_packed_close(c);
    open_of_rows(d, MV_CODING_PLAIN, "site.colour");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, colour_of(p, i));
    mv_packed_close(c);
    open_of_rows(d, MV_CODING_PLAIN, "site.rank");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->callers[i].rank);
    mv_packed_close(c);
    open_of_rows(d, MV_CODING_PLAIN, "site.frame");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->callers[i].frame.row == MV_NO_ROW ? 0 : s->callers[i].frame.row + 1ull);
    mv_packed_close(c);
    open_of_rows(d, MV_CODING_PLAIN, "site"); /* of each row */
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(c, s->of_alloc[i]);
    mv_packed_close(c);
}

/* What the page shows at first: bits of each row. */
static mv_code add_chosen(device *d, mv_arena *scratch, const mv_html *page,
                          const mv_html_opening *opening, const mv_page_sites *p, mv_err *err)
{
    const mv_alloc_lives *a = &d->lives->allocs;
    uint32_t to = opening->to ? opening->to : d->lives->events.count;
    mv_filter_bits matches, largest;
    mv_code code = MV_OK;

    if (page->filter && p->leaks)
        code = mv_filter_allocs(scratch, p->trace, d->lives, p->leaks, page->filter, &matches, err);
    else if (page->filter)
        code = mv_filter_segments(scratch, p->trace, d->lives, page->filter, &matches, err);
    if (code == MV_OK && page->top)
        code = mv_isolate_largest(scratch, d->lives, opening->from, to, page->top, &largest, err);
    if (code != MV_OK)
        return code;
    open_of_rows(d, MV_CODING_PLAIN, "chosen");
    for (uint32_t i = 0; (page->filter || page->top) && i < a->count; i++) {
        uint32_t row = p->leaks ? i : a->segment[i]; /* filters know segments by their row */
        mv_packed_add(d->columns, (page->filter && mv_filter_has(&matches, row) ? MATCHES : 0) |
                                      (page->top && mv_filter_has(&largest, i) ? LARGEST : 0));
    }
    mv_packed_close(d->columns);
    return MV_OK;
}

static void add_rows(device *d, const mv_page_sites *p)
{
    const mv_leaks *leaks = p->leaks;

    d->lives = p->lives;
    d->prefix = leaks ? "" : "segments.";
    add_lifes(d);
    add_bytes(d);
    add_addresses(d);
    add_references(d, leaks);
    add_sites(d, p);
}

/* ---- places of segments, times, markers -------------------------------------------------- */

static void add_place(device *d, const mv_trace *trace, uint32_t segment, bool is_pool)
{
    const mv_segment_lives *s = &d->lives->segments;
    uint32_t stream = s->stream[segment].row, pool = s->pool[segment].row;
    char text[64] = "";

    if (!is_pool && stream < trace->streams.count)
        snprintf(text, sizeof text, "%" PRIu64, trace->streams.value[stream]);
    else if (is_pool && pool < trace->pools.count)
        snprintf(text, sizeof text, "(%" PRIu64 ", %" PRIu64 ")", trace->pools.a[pool],
                 trace->pools.b[pool]);
    mv_packed_add_text(d->columns, (mv_span){(const uint8_t *)text, strlen(text)});
}

/* Where segments belong, by row of lives->segments: what the column "segment" refers to. */
static void add_places(device *d, const mv_trace *trace)
{
    const mv_segment_lives *s = &d->lives->segments;

    begin_column(d, MV_CODING_PLAIN, "place.kind");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(d->columns, s->kind[i]);
    mv_packed_close(d->columns);
    begin_column(d, MV_CODING_PLAIN, "place.expandable");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(d->columns, s->is_expandable[i]);
    mv_packed_close(d->columns);
    begin_column(d, MV_CODING_TEXT, "place.stream"); /* empty: not known */
    for (uint32_t i = 0; i < s->count; i++)
        add_place(d, trace, i, false);
    mv_packed_close(d->columns);
    begin_column(d, MV_CODING_TEXT, "place.pool"); /* "(0, 0)"; empty: not known */
    for (uint32_t i = 0; i < s->count; i++)
        add_place(d, trace, i, true);
    mv_packed_close(d->columns);
}

static void add_times(device *d)
{
    const mv_events *e = &d->lives->events;
    bool has_times = e->count > 0;

    for (uint32_t i = 0; i < e->count; i++)
        has_times = has_times && e->time_us[i] != MV_NO_TIME;
    begin_column(d, MV_CODING_DELTA, "time");
    for (uint32_t i = 0; has_times && i < e->count; i++)
        mv_packed_add(d->columns, (uint64_t)e->time_us[i]);
    mv_packed_close(d->columns);
}

static void add_ooms(device *d)
{
    const mv_events *e = &d->lives->events;
    mv_packed *c = d->columns;

    begin_column(d, MV_CODING_PLAIN, "oom"); /* event, requested bytes, device's free bytes + 1 (0:
                                              * not known), stack + 1; four numbers each */
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
    begin_column(d, MV_CODING_DELTA, "step");
    for (uint32_t i = 0; i < leaks->steps.count; i++)
        mv_packed_add(d->columns, leaks->steps.at[i]);
    mv_packed_close(d->columns);
}

/* ---- the device -------------------------------------------------------------------------- */

/* Ordinal, events, first and end of the window at first, history, whether all block sizes are
 * exact, and the moment: 0 none is given, 1 before the first event, else the event + 2. */
static void add_facts(device *d, const mv_html *page, const mv_html_opening *opening)
{
    const mv_lives *l = d->lives;
    uint64_t facts[] = {l->device,
                        l->events.count,
                        opening->from,
                        opening->to && opening->to < l->events.count ? opening->to
                                                                     : l->events.count,
                        l->history,
                        l->doubts.inexact_blocks == 0,
                        opening->has_moment ? after(opening->moment) + 1 : 0};
    const char *texts[] = {page->title, l->history_why};

    begin_column(d, MV_CODING_PLAIN, "facts");
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++)
        mv_packed_add(d->columns, facts[i]);
    mv_packed_close(d->columns);
    begin_column(d, MV_CODING_TEXT, "texts"); /* file, source of the history, and the verdict */
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        mv_packed_add_text(d->columns, (mv_span){(const uint8_t *)texts[i], strlen(texts[i])});
}

static mv_code add_verdict(device *d, mv_arena *scratch, mv_html *page, const mv_reports *reports,
                           mv_err *err)
{
    mv_headline headline;
    mv_code code = mv_headline_find(scratch, reports, &headline, err);

    if (code != MV_OK)
        return code;
    mv_packed_add_text(d->columns,
                       (mv_span){(const uint8_t *)headline.line, strlen(headline.line)});
    mv_packed_close(d->columns);
    if (page->devices == 0 || (headline.alarms && !page->has_alarm))
        snprintf(page->verdict, sizeof page->verdict, "%s", headline.line);
    page->has_alarm = page->has_alarm || headline.alarms;
    begin_column(d, MV_CODING_PLAIN, "alarms");
    mv_packed_add(d->columns, headline.alarms);
    mv_packed_close(d->columns);
    return MV_OK;
}

/* The event after which a level is highest: sites are ranked by it. */
static uint32_t highest(const uint64_t *levels, uint32_t count, uint64_t before)
{
    uint32_t event = MV_BEFORE;

    for (uint32_t e = 0; e < count; e++)
        if (levels[e] > before) {
            before = levels[e];
            event = e;
        }
    return event;
}

static mv_code find_peaks(mv_arena *scratch, mv_page_sites *allocs, mv_page_sites *segments,
                          mv_err *err)
{
    mv_series series;
    mv_code code = mv_totals_series(scratch, allocs->lives, &series, err);

    if (code != MV_OK)
        return code;
    allocs->peak_event = highest(series.allocated, series.count, series.before.allocated);
    segments->peak_event = highest(series.reserved, series.count, series.before.reserved);
    return MV_OK;
}

mv_code mv_html_add_device(mv_html *page, const mv_reports *reports, const mv_html_opening *opening,
                           mv_err *err)
{
    const mv_lives *lives = reports->lives;
    device d = {.columns = &page->columns, .number = page->devices};
    mv_page_sites p = {
        .trace = page->trace, .lives = lives, .leaks = reports->leaks, .theme = mv_theme_of(false)};
    mv_page_sites s = p;
    mv_lives segments;
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, page->arena->budget);
    p.frame_kinds = s.frame_kinds = mv_frame_kinds(&scratch, page->trace);
    s.lives = &segments;
    s.leaks = NULL;
    code = find_peaks(&scratch, &p, &s, err);
    if (code == MV_OK)
        code = mv_segment_lives_as_allocs(&scratch, lives, &segments, err);
    if (code == MV_OK &&
        (!p.frame_kinds || !mv_page_sites_find(&scratch, &p) || !mv_page_sites_find(&scratch, &s)))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    if (code == MV_OK) {
        add_rows(&d, &s);
        code = add_chosen(&d, &scratch, page, opening, &s, err);
    }
    if (code == MV_OK) {
        add_rows(&d, &p);
        code = add_chosen(&d, &scratch, page, opening, &p, err);
    }
    if (code == MV_OK) {
        add_places(&d, page->trace);
        add_times(&d);
        add_ooms(&d);
        add_steps(&d, reports->leaks);
        add_facts(&d, page, opening);
        code = add_verdict(&d, &scratch, page, reports, err);
        page->devices++;
    }
    mv_arena_release(&scratch);
    return code;
}
