/* Pages: what is in the file, read back by a decoder of its own, and that no text of a trace
 * becomes markup. scripts/test-html checks what a browser makes of them. */
#include <unistd.h>
#include <zlib.h>

#include "analyze/code/culprit.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"
#include "viz/core/segment_rows.h"
#include "viz/html/html.h"
#include "viz/pictures/icicle.h"
#include "viz/scene/fullness_scale.h"
#include "viz/scene/palette.h"

typedef struct {
    const char *text;   /* the file, NUL-terminated */
    const char *around; /* the file without the text between the columns' tags */
    uint8_t *bytes;     /* the columns, inflated */
    uint64_t length;
} opened;

/* ---- the decoder ------------------------------------------------------------------------- */

static const char columns_tag[] = "<script type=\"text/plain\" id=\"columns\">";

static uint32_t sextet(char c)
{
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);

    cr_assert(c && at, "'%c' is no digit of base64", c);
    return (uint32_t)(at - digits);
}

static uint64_t decode_base64(const char *text, uint64_t length, uint8_t *out)
{
    uint64_t at = 0;

    cr_assert_eq(length % 4, 0);
    for (uint64_t i = 0; i < length; i += 4) {
        unsigned pads = i + 4 < length ? 0 : (text[i + 3] == '=') + (text[i + 2] == '=');
        uint32_t bits = 0;
        for (unsigned j = 0; j < 4; j++)
            bits = bits << 6 | (j < 4 - pads ? sextet(text[i + j]) : 0);
        for (unsigned j = 0; j < 3 - pads; j++)
            out[at++] = (uint8_t)(bits >> (16 - 8 * j));
    }
    return at;
}

static void inflate_columns(opened *o, const char *from, uint64_t length)
{
    uint8_t *packed = mv_arena_push(mvt_memory(), length + 4, 1);
    uint64_t packed_length = decode_base64(from, length, packed), most = 64u << 20;
    unsigned long made = most;

    o->bytes = mv_arena_push(mvt_memory(), most, 1);
    cr_assert(packed && o->bytes);
    cr_assert_eq(uncompress(o->bytes, &made, packed, packed_length), Z_OK);
    o->length = made;
    cr_assert(made > 4 && memcmp(o->bytes, "MVC1", 4) == 0);
}

static void split(opened *o)
{
    const char *start = strstr(o->text, columns_tag), *stop;
    char *around;

    cr_assert_not_null(start);
    start += sizeof columns_tag - 1;
    stop = strstr(start, "</script>");
    cr_assert_not_null(stop);
    inflate_columns(o, start, (uint64_t)(stop - start));
    around = mv_arena_text(mvt_memory(), o->text, strlen(o->text));
    memmove(around + (start - o->text), stop, strlen(stop) + 1);
    o->around = around;
}

typedef struct {
    const uint8_t *at, *end;
    uint32_t count;
    uint8_t coding;
    uint64_t last;
} column;

static uint32_t u32_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static column find(const opened *o, const char *name)
{
    const uint8_t *at = o->bytes + 4, *end = o->bytes + o->length;

    while (at < end) {
        uint8_t length = *at;
        const uint8_t *head = at + 1 + length;
        uint32_t size = u32_at(head + 5);
        if (length == strlen(name) && memcmp(at + 1, name, length) == 0)
            return (column){head + 9, head + 9 + size, u32_at(head + 1), *head, 0};
        at = head + 9 + size;
    }
    cr_assert_fail("no column %s", name);
    return (column){0};
}

static uint64_t varint(column *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        cr_assert_lt(c->at, c->end);
        value |= (uint64_t)(*c->at & 127) << shift;
        if (*c->at++ < 128)
            return value;
    }
}

static uint64_t next(column *c)
{
    uint64_t value = varint(c);

    if (c->coding == 'd')
        value = c->last += value & 1 ? ~(value >> 1) : value >> 1;
    return value;
}

static mv_span next_text(column *c)
{
    mv_span text = {.length = varint(c)};

    text.data = c->at;
    c->at += text.length;
    cr_assert_leq(c->at, c->end);
    return text;
}

/* ---- pages ------------------------------------------------------------------------------- */

static void write_and_open(opened *o, mv_html *page)
{
    const char *path = mvt_temp_file((mv_span){0});
    mv_sink sink;
    mv_span file;

    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mvt_ok(mv_html_write(page, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    file = mvt_file(mvt_memory(), path);
    o->text = mv_arena_text(mvt_memory(), (const char *)file.data, file.length);
    cr_assert_eq(strlen(o->text), file.length, "a NUL in the page");
    split(o);
}

static void open_page_at(opened *o, const mv_trace *trace, const char *title,
                         const mv_html_opening *opening, mv_lives *lives)
{
    mv_html page;
    mv_sites sites;
    mv_reports reports;
    mv_leaks leaks;

    mv_html_init(&page, mvt_memory(), trace, title);
    *lives = mvt_lives(mvt_memory(), trace, 0);
    mvt_ok(mv_leaks_find(mvt_memory(), trace, lives, &leaks, mvt_err()));
    mvt_ok(mv_sites_find(mvt_memory(), trace, &sites, mvt_err()));
    reports = (mv_reports){.trace = trace, .sites = &sites, .lives = lives, .leaks = &leaks};
    mvt_ok(mv_html_add_device(&page, &reports, opening, mvt_err()));
    write_and_open(o, &page);
}

static void open_page(opened *o, const mv_trace *trace, const char *title, mv_lives *lives)
{
    static const mv_html_opening all = {0};

    open_page_at(o, trace, title, &all, lives);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* ---- packing ----------------------------------------------------------------------------- */

Test(html, any_numbers_are_read_back)
{
    static const uint64_t values[] = {0, 1,          127, 128,       1u << 31,   UINT32_MAX,
                                      1, UINT64_MAX, 0,   INT64_MAX, 1ull << 63, 5};
    mv_packed c;
    opened o = {0};

    mv_packed_init(&c, mvt_memory());
    for (unsigned coding = 0; coding < 2; coding++) {
        mv_packed_open(&c, coding ? MV_CODING_DELTA : MV_CODING_PLAIN, "%u.x", coding);
        for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
            mv_packed_add(&c, values[i]);
        mv_packed_close(&c);
    }
    o.bytes = c.bytes;
    o.length = c.used;
    for (unsigned coding = 0; coding < 2; coding++) {
        column have = find(&o, coding ? "1.x" : "0.x");
        cr_expect_eq(have.count, sizeof values / sizeof *values);
        for (unsigned i = 0; i < have.count; i++)
            cr_expect_eq(next(&have), values[i], "coding %u, value %u", coding, i);
        cr_expect_eq(have.at, have.end);
    }
}

/* Lengths around those at which base64 pads, and a whole output buffer is written. */
Test(html, stream_of_any_length_is_read_back)
{
    for (uint32_t length = 0; length < 400000; length = length < 12 ? length + 1 : length * 3) {
        opened o = {0};
        mv_packed c;
        mv_sink sink;
        uint32_t state = 1;
        const char *path = mvt_temp_file((mv_span){0});
        mv_span file;
        column have;

        mv_packed_init(&c, mvt_memory());
        mv_packed_open(&c, MV_CODING_PLAIN, "x");
        for (uint32_t i = 0; i < length; i++)
            mv_packed_add(&c, (state = state * 1664525 + 1013904223) >> 8);
        mv_packed_close(&c);
        mvt_ok(mv_sink_open(&sink, path, mvt_err()));
        mvt_ok(mv_packed_write(&c, &sink, mvt_err()));
        mvt_ok(mv_sink_commit(&sink, mvt_err()));
        file = mvt_file(mvt_memory(), path);
        inflate_columns(&o, (const char *)file.data, file.length);
        have = find(&o, "x");
        cr_expect_eq(have.count, length);
        state = 1;
        for (uint32_t i = 0; i < length; i++)
            cr_assert_eq(next(&have), (state = state * 1664525 + 1013904223) >> 8);
    }
}

Test(html, lack_of_memory_is_reported)
{
    mv_arena *arena = mvt_arena_of(3u << 20);
    mv_packed c;
    mv_sink sink = {0};
    mv_err err = {0};

    mv_packed_init(&c, arena);
    mv_packed_open(&c, MV_CODING_PLAIN, "x");
    for (uint32_t i = 0; i < 4u << 20; i++)
        mv_packed_add(&c, i);
    mv_packed_close(&c);
    cr_expect_eq(mv_packed_write(&c, &sink, &err), MV_NOMEM);
}

/* ---- what a page holds ------------------------------------------------------------------- */

/* A column of the first device's rows: "0.birth", or "0.segments.birth". */
static column of_rows(const opened *o, bool is_segments, const char *name)
{
    char full[64];

    snprintf(full, sizeof full, "0.%s%s", is_segments ? "segments." : "", name);
    return find(o, full);
}

static void expect_lives(const opened *o, const mv_lives *lives, bool is_segments, const char *name)
{
    const mv_alloc_lives *a = &lives->allocs;
    column birth = of_rows(o, is_segments, "birth"), life = of_rows(o, is_segments, "life");
    column wait = of_rows(o, is_segments, "wait"), unit = of_rows(o, is_segments, "unit");
    column block = of_rows(o, is_segments, "block"), slack = of_rows(o, is_segments, "slack");
    column high = of_rows(o, is_segments, "addr.high"), low = of_rows(o, is_segments, "addr.low");
    column stack = of_rows(o, is_segments, "stack"), segment = of_rows(o, is_segments, "segment");
    uint64_t bytes = next(&unit);

    cr_expect_eq(life.count, a->count, "%s", name);
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t born = i < a->preexisting ? MV_BEFORE : next(&birth), l = next(&life);
        uint64_t freed = l ? (born == MV_BEFORE ? 0 : born) + l - 1 : MV_NEVER, w = next(&wait);
        uint64_t size = next(&block) * bytes, z = next(&slack);
        cr_assert_eq(born, a->birth[i], "%s %u", name, i);
        cr_assert_eq(freed, a->freed[i], "%s %u", name, i);
        cr_assert_eq(w ? freed + w - 1 : MV_NEVER, a->completed[i], "%s %u", name, i);
        cr_assert_eq(size, a->block[i], "%s %u", name, i);
        cr_assert_eq(size - (z & 1 ? ~(z >> 1) : z >> 1), a->requested[i], "%s %u", name, i);
        cr_assert_eq(next(&high) << 32 | next(&low), a->addr[i], "%s %u", name, i);
        cr_assert_eq((uint32_t)(next(&stack) - 1), a->stack[i].row, "%s %u", name, i);
        cr_assert_eq((uint32_t)(next(&segment) - 1), a->segment[i], "%s %u", name, i);
    }
    cr_expect_eq(birth.at, birth.end);
    cr_expect_eq(slack.at, slack.end);
}

/* Segments are in order of birth; what they belong to is at their row of the lives table. */
static void expect_segments(opened *o, const mv_trace *trace, const mv_lives *lives,
                            const char *name)
{
    const mv_segment_lives *s = &lives->segments;
    column kind = find(o, "0.place.kind"), expandable = find(o, "0.place.expandable");
    column stream = find(o, "0.place.stream"), pool = find(o, "0.place.pool");
    mv_lives segments;
    char want[64];

    mvt_ok(mv_segment_lives_as_allocs(mvt_memory(), lives, &segments, mvt_err()));
    expect_lives(o, &segments, true, name);
    cr_expect_eq(kind.count, s->count, "%s", name);
    for (uint32_t i = 0; i < s->count; i++) {
        mv_span have = next_text(&stream);
        cr_assert_eq(next(&kind), s->kind[i], "%s %u", name, i);
        cr_assert_eq(next(&expandable), s->is_expandable[i], "%s %u", name, i);
        snprintf(want, sizeof want, "%llu",
                 (unsigned long long)trace->streams.value[s->stream[i].row]);
        cr_assert(have.length == strlen(want) && !memcmp(have.data, want, have.length));
        have = next_text(&pool);
        want[0] = '\0';
        if (s->pool[i].row < trace->pools.count)
            snprintf(want, sizeof want, "(%llu, %llu)",
                     (unsigned long long)trace->pools.a[s->pool[i].row],
                     (unsigned long long)trace->pools.b[s->pool[i].row]);
        cr_assert(have.length == strlen(want) && !memcmp(have.data, want, have.length));
    }
}

static void expect_text(const opened *o, mv_span *rows, uint64_t row, const mv_trace *trace,
                        mv_string_id want)
{
    mv_span text = mv_string_span(trace, want), have = row ? rows[row - 1] : (mv_span){0};

    (void)o;
    cr_assert_eq(have.length, text.length);
    cr_assert(text.length == 0 || memcmp(have.data, text.data, text.length) == 0);
}

/* Every stack, complete: what each allocation's tooltip can show. */
static void expect_stacks(opened *o, const mv_trace *trace, const char *name)
{
    column strings = find(o, "strings"), function = find(o, "frame.function");
    column file = find(o, "frame.file"), line = find(o, "frame.line");
    column length = find(o, "stack.frames"), frame = find(o, "stack.frame");
    column label = find(o, "frame.label");
    char want_label[256];
    mv_span *rows = mv_push_array(mvt_memory(), mv_span, strings.count), have_label;

    cr_assert_not_null(rows);
    for (uint32_t i = 0; i < strings.count; i++)
        rows[i] = next_text(&strings);
    cr_expect_eq(function.count, trace->frames.count, "%s", name);
    for (uint32_t i = 0; i < function.count; i++) {
        expect_text(o, rows, next(&function), trace, trace->frames.function[i]);
        expect_text(o, rows, next(&file), trace, trace->frames.file[i]);
        cr_assert_eq((int64_t)next(&line) - 1,
                     trace->frames.line[i] < 0 ? -1 : trace->frames.line[i]);
        mv_frame_label(trace, (mv_frame_id){i}, want_label, sizeof want_label);
        have_label = next_text(&label);
        cr_assert(have_label.length == strlen(want_label) &&
                  !memcmp(have_label.data, want_label, have_label.length));
    }
    cr_expect_eq(length.count, trace->stacks.count, "%s", name);
    for (uint32_t i = 0; i < length.count; i++) {
        uint32_t frames;
        const mv_frame_id *want = mv_stack_frames(trace, (mv_stack_id){i}, &frames);
        cr_assert_eq(next(&length), frames, "%s stack %u", name, i);
        for (uint32_t j = 0; j < frames; j++)
            cr_assert_eq(next(&frame), want[j].row, "%s stack %u", name, i);
    }
}

static void expect_times(const opened *o, const mv_lives *lives, const char *name)
{
    column time = find(o, "0.time"), facts = find(o, "0.facts");

    for (uint32_t i = 0; i < time.count; i++)
        cr_assert_eq((int64_t)next(&time), lives->events.time_us[i], "%s %u", name, i);
    cr_expect_eq(next(&facts), lives->device);
    cr_expect_eq(next(&facts), lives->events.count);
    cr_expect_eq(next(&facts), 0);
    cr_expect_eq(next(&facts), lives->events.count);
    cr_expect_eq(next(&facts), lives->history);
    cr_expect_eq(next(&facts), lives->doubts.inexact_blocks == 0);
    cr_expect_eq(next(&facts), 0, "no moment was given");
}

/* The colours of the page are those of the pictures. */
static void expect_palette(const opened *o, const char *name)
{
    const uint8_t package = MV_FRAME_PACKAGE;
    const mv_flame_node node = {.kind = MV_FLAME_FRAME, .depth = 1};
    column palette = find(o, "palette");

    cr_assert_eq(palette.count, 2 * (13 + 10 + MV_FULLNESS_LEVELS), "%s", name);
    for (int dark = 0; dark < 2; dark++) {
        const mv_theme *theme = mv_theme_of(dark);
        uint64_t colours[13 + 10 + MV_FULLNESS_LEVELS];
        for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
            colours[i] = next(&palette);
        cr_expect_eq(colours[0], theme->background >> 8);
        cr_expect_eq(colours[6], theme->reserved >> 8);
        cr_expect_eq(colours[10], theme->leak >> 8);
        cr_expect_eq(colours[12], theme->native >> 8);
        cr_expect_eq(colours[13 + 3], mv_icicle_colour(theme, &package, &node) >> 8);
        for (uint32_t i = 0; i < MV_FULLNESS_LEVELS; i++)
            cr_expect_eq(colours[13 + 10 + i], mv_fullness_colour(i, dark) >> 8);
    }
}

/* Nothing is loaded, nothing is sent, and nothing of the trace is made markup. */
static void expect_alone(const opened *o, const char *name)
{
    static const char *const forbidden[] = {
        "http://",   "https://",       "src=",           "url(",    "@import",    "fetch(",
        "import(",   "XMLHttpRequest", "WebSocket",      "eval(",   "innerHTML",  "outerHTML",
        "Function(", "document.write", "insertAdjacent", "onerror", "sendBeacon",
    };

    for (unsigned i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        cr_expect_null(strstr(o->around, forbidden[i]), "%s: %s", name, forbidden[i]);
    cr_expect_eq(count_of(o->around, "<script"), 2, "%s", name);
    cr_expect_eq(count_of(o->around, "</script>"), 2, "%s", name);
    cr_expect_eq(count_of(o->around, "<style"), 1, "%s", name);
    cr_expect_not_null(strstr(o->around, "default-src 'none'"));
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    mv_lives lives;
    opened o;

    open_page(&o, trace, name, &lives);
    expect_lives(&o, &lives, false, name);
    expect_segments(&o, trace, &lives, name);
    expect_stacks(&o, trace, name);
    expect_times(&o, &lives, name);
    expect_alone(&o, name);
    expect_palette(&o, name);
    cr_expect_lt(strlen(o.text), 1u << 20, "%s: %zu bytes", name, strlen(o.text));
}

Test(html, page_holds_every_snapshot_whole)
{
    mvt_each_snapshot(check_snapshot);
}

/* The moment, the view and the window are those that the caller gave. */
Test(html, page_opens_where_it_is_told)
{
    static const mv_html_opening openings[] = {{.from = 1, .to = 3},
                                               {.has_moment = true, .moment = 2},
                                               {.has_moment = true, .moment = MV_BEFORE}};
    static const uint64_t want[][3] = {{1, 3, 0}, {0, 4, 4}, {0, 4, 1}};

    for (unsigned i = 0; i < 3; i++) {
        mvt_trace *t = mvt_new();
        mv_lives lives;
        opened o;
        column facts;

        mvt_segment_alloc(t, .addr = 0x10000, .bytes = 2 << 20);
        for (unsigned k = 0; k < 3; k++)
            mvt_alloc(t, .addr = 0x10000 + k * 512, .bytes = 512);
        mvt_final_heap(t);
        open_page_at(&o, mvt_done(t), "small", &openings[i], &lives);
        facts = find(&o, "0.facts");
        next(&facts);
        next(&facts);
        cr_expect_eq(next(&facts), want[i][0]);
        cr_expect_eq(next(&facts), want[i][1]);
        next(&facts);
        next(&facts);
        cr_expect_eq(next(&facts), want[i][2]);
    }
}

/* What a filter matches and the largest are marked, of allocations and of segments. */
Test(html, filter_and_largest_are_marked)
{
    static const uint64_t want[] = {0, 3, 0, 1}, want_segments[] = {0, 3};
    mvt_trace *t = mvt_new();
    const mv_trace *trace;
    mv_html page;
    mv_sites sites;
    mv_reports reports;
    mv_lives lives;
    mv_leaks leaks;
    mv_filter filter;
    mv_html_opening opening = {0};
    char why[MV_FILTER_WHY];
    opened o;
    column chosen;

    mvt_segment_alloc(t, .addr = 0x10000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x10000, .bytes = 1024);
    mvt_segment_alloc(t, .addr = 0x1000000, .bytes = 20 << 20);
    mvt_alloc(t, .addr = 0x1000000, .bytes = 8 << 20);
    mvt_alloc(t, .addr = 0x10400, .bytes = 512);
    mvt_alloc(t, .addr = 0x1800000, .bytes = 4 << 20);
    mvt_final_heap(t);
    trace = mvt_done(t);
    mv_html_init(&page, mvt_memory(), trace, "small");
    cr_assert(mv_filter_read(mvt_memory(), "size>3M", &filter, why), "%s", why);
    page.filter = &filter;
    page.filter_text = "size>3M";
    page.top = 1;
    lives = mvt_lives(mvt_memory(), trace, 0);
    mvt_ok(mv_leaks_find(mvt_memory(), trace, &lives, &leaks, mvt_err()));
    mvt_ok(mv_sites_find(mvt_memory(), trace, &sites, mvt_err()));
    reports = (mv_reports){.trace = trace, .sites = &sites, .lives = &lives, .leaks = &leaks};
    mvt_ok(mv_html_add_device(&page, &reports, &opening, mvt_err()));
    write_and_open(&o, &page);
    chosen = find(&o, "0.chosen");
    cr_expect_eq(chosen.count, 4);
    for (unsigned i = 0; i < chosen.count; i++)
        cr_expect_eq(next(&chosen), want[i], "%u", i);
    chosen = find(&o, "0.segments.chosen");
    cr_expect_eq(chosen.count, 2);
    for (unsigned i = 0; i < chosen.count; i++)
        cr_expect_eq(next(&chosen), want_segments[i], "%u", i);
    mv_filter_release(&filter);
}

/* ---- texts that want out ----------------------------------------------------------------- */

static const char hostile[] = "</script><script>hacked()</script>";

Test(html, hostile_names_stay_in_the_columns)
{
    mvt_trace *t = mvt_new();
    const mv_trace *trace;
    mv_lives lives;
    opened o;
    column strings;
    bool found = false;

    mvt_segment_alloc(t, .addr = 0x10000, .bytes = 2 << 20);
    for (unsigned i = 0; i < 8; i++)
        mvt_alloc(t, .addr = 0x10000 + i * 512, .bytes = 512,
                  .stack = "</script><script>hacked()</script>:<!--.py:7;<img src=x>:a'\"b:1");
    mvt_annotate(t, "<svg/onload=hacked()>", true, 0);
    mvt_annotate(t, "<svg/onload=hacked()>", false, 0);
    mvt_final_heap(t);
    trace = mvt_done(t);
    open_page(&o, trace, "</title><script>hacked()</script>&\"'\x01\xff\xed\xa0\x80.pickle",
              &lives);
    cr_expect_null(strstr(o.around, "hacked()</"), "a name got out");
    cr_expect_null(strstr(o.around, "<svg"));
    cr_expect_null(strstr(o.around, "<img"));
    cr_expect_not_null(strstr(o.around, "<title>&lt;/title&gt;&lt;script&gt;hacked()&lt;/script&gt;"
                                        "&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd"));
    expect_alone(&o, "hostile");
    strings = find(&o, "strings");
    for (uint32_t i = 0; i < strings.count; i++) {
        mv_span text = next_text(&strings);
        found = found ||
                (text.length == sizeof hostile - 1 && memcmp(text.data, hostile, text.length) == 0);
    }
    cr_expect(found, "the name is not as it was");
}

/* Pages are mailed: the title named the leak report alone, which said "leaks unknown" of a run that
 * ran out of memory. */
Test(html, the_heading_and_the_title_have_the_verdicts_of_all_reports)
{
    mvt_run oom = mvt_sh("$MEMVIZ trace_plot -o x.html $SNAPS/oom.pickle && cat x.html");
    mvt_run fine = mvt_sh("$MEMVIZ trace_plot -o x.html $SNAPS/gpt_train.pickle && cat x.html");

    cr_expect(
        strstr(oom.out, "oom.pickle \xc2\xb7 out of memory: capacity \xc2\xb7 GPU memory</title>"));
    cr_expect(strstr(oom.out, "<p id=\"verdict\" class=\"alarm\">out of memory: capacity</p>"));
    cr_expect(strstr(fine.out, "<title>gpt_train.pickle \xc2\xb7 GPU memory</title>"));
    cr_expect(strstr(fine.out, "<p id=\"verdict\">no leak \xc2\xb7 fragmentation ok \xc2\xb7 no "
                               "request failed</p>"));
}
