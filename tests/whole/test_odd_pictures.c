/* Every command that draws, on almost empty inputs and on inputs that no program makes. The result
 * must be a true picture that names the missing data, or one clear line if there is nothing to
 * draw. */

#include "parse/model/sums.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

static void make_empty(mvt_trace *t)
{
    (void)t;
}

static void make_one_alloc(mvt_trace *t)
{
    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "f:a.py:1");
}

static void make_one_segment(mvt_trace *t)
{
    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 2 << 20, .stack = "f:a.py:1");
}

static void make_one_free(mvt_trace *t)
{
    mvt_free_completed(t, .addr = 0x1000, .bytes = 512);
}

static void make_one_oom(mvt_trace *t)
{
    mvt_oom(t, .addr = 12345, .bytes = (uint64_t)80 << 30, .stack = "f:a.py:1");
}

static void make_state_only(mvt_trace *t)
{
    mvt_segment(t, .addr = 1 << 21, .bytes = 2 << 20, .small = true, .pool_a = 3);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_INACTIVE);
}

static void make_no_stacks(mvt_trace *t)
{
    mvt_segment_alloc(t, .addr = 1 << 24, .bytes = 20 << 20);
    for (uint64_t i = 0; i < 8; i++)
        mvt_alloc(t, .addr = (1 << 24) + (i << 21), .bytes = 2 << 20);
    mvt_final_heap(t);
}

/* Requests of 0 bytes still have a block of 512 bytes. */
static void make_zero_sizes(mvt_trace *t)
{
    for (uint64_t i = 1; i < 6; i++) {
        mvt_segment_alloc(t, .addr = i << 21, .stack = "f:a.py:1");
        mvt_alloc(t, .addr = i << 21, .stack = "f:a.py:1");
    }
    mvt_free(t, .addr = 1 << 21);
}

static void make_zero_heap(mvt_trace *t)
{
    mvt_segment(t, .addr = 1 << 21, .small = true);
    mvt_block(t, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
}

/* Their sums are just below 1 EiB, the size at which files are refused. */
static void make_vast_sizes(mvt_trace *t)
{
    for (uint64_t i = 1; i < 6; i++) {
        mvt_segment_alloc(t, .addr = i << 21, .bytes = MV_SUM_LIMIT / 6 + i, .stack = "f:a.py:1");
        mvt_alloc(t, .addr = i << 21, .bytes = MV_SUM_LIMIT / 6 - i, .stack = "g:b.py:1");
    }
}

static void make_frees_alone(mvt_trace *t)
{
    for (uint64_t i = 1; i < 9; i++)
        mvt_event(t, i % 2 ? MV_ACTION_FREE_REQUESTED : MV_ACTION_FREE_COMPLETED,
                  (mvt_event_args){.addr = i << 12, .bytes = 512});
}

/* The bytes reserved before the first event are the maximum. */
static void make_segment_freed_first(mvt_trace *t)
{
    mvt_segment_free(t, .addr = 1 << 24, .bytes = 20 << 20);
    mvt_alloc(t, .addr = 1 << 21, .bytes = 512, .stack = "f:a.py:1");
    mvt_segment(t, .addr = 1 << 21, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = (2 << 20) - 512, .state = MV_BLOCK_INACTIVE);
}

/* The same, with no memory left: the peak of allocations is before the first event as well. */
static void make_all_freed(mvt_trace *t)
{
    mvt_free_requested(t, .addr = 1 << 24, .bytes = 512);
    mvt_free_completed(t, .addr = 1 << 24, .bytes = 512);
    mvt_segment_free(t, .addr = 1 << 24, .bytes = 20 << 20);
}

/* Texts that are markup, control characters, invalid UTF-8, or longer than any picture. */
static void make_odd_names(mvt_trace *t)
{
    static char stack[6000];
    size_t length = (size_t)snprintf(stack, sizeof stack,
                                     "</title><script>\x01\x1b[31m\xff\xfe&quot;:<a>.py:1;");

    memset(stack + length, 'x', sizeof stack - length - 8);
    memcpy(stack + sizeof stack - 8, ":y.py:2", 8);
    mvt_segment_alloc(t, .addr = 1 << 24, .bytes = 20 << 20, .stack = stack);
    mvt_annotate(t, stack, true, 0);
    mvt_mark(t, stack, 0);
    mvt_alloc(t, .addr = 1 << 24, .bytes = 3 << 20, .stack = stack);
    mvt_annotate(t, stack, false, 0);
    mvt_final_heap(t);
}

static const struct {
    const char *name;
    void (*make)(mvt_trace *t);
    const char *snapshot; /* a real file instead */
    bool is_nothing;      /* one line, and no picture */
    const char *says;     /* in trace_plot's picture */
} inputs[] = {
    {"empty", make_empty, NULL, true, NULL},
    {"one_alloc", make_one_alloc, NULL, false, "1 event"},
    {"one_segment", make_one_segment, NULL, false, "reserved 2.00 MiB"},
    {"one_free", make_one_free, NULL, false, "1 event"},
    {"one_oom", make_one_oom, NULL, false, "out of memory: requested 80.0 GiB"},
    {"state_only", make_state_only, NULL, false, "no events recorded"},
    {"no_stacks", make_no_stacks, NULL, false, "(no stack)"},
    {"zero_sizes", make_zero_sizes, NULL, false, "peak allocated about 2.50 KiB"},
    {"zero_heap", make_zero_heap, NULL, false, "0 B · reserved 0 B"},
    {"vast_sizes", make_vast_sizes, NULL, false, "peak allocated"},
    {"frees_alone", make_frees_alone, NULL, false, "8 events"},
    {"segment_freed_first", make_segment_freed_first, NULL, false, "peak reserved"},
    {"all_freed", make_all_freed, NULL, false, "3 events"},
    {"odd_names", make_odd_names, NULL, false, "2 events"},
    {"truncated", NULL, "ring", false, "history truncated"},
    {"late", NULL, "late_start", false, "recording began late"},
    {"two_devices", NULL, "two_devices", false, "device 1 of 2"},
    {"pools", NULL, "graph_trees", false, "peak allocated"},
};

static const char *const commands[] = {
    "trace_plot",
    "trace_plot --view pools",
    "segment_plot",
    "segment_plot --by line",
    "segment_plot --view state",
    "memory",
    "segments",
};

static const char *const options[] = {
    "-o x.svg",
    "-o x.png",
    "--size 1x1 -o x.png",
    "--size 1x1 --theme dark -o x.svg",
    "--size 3x900 --filter 'a size>0' -o x.png",
    "--top 1 --filter -zzz -o x.svg",
    "-o x.html",
    "--top 1 --filter 'a size>0' -o x.html",
};

/* The remaining options of each command: those that the next command does not use. */
static void draw(const char *path, bool is_nothing, const char *name, const char *says)
{
    char *picture;
    size_t length;

    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (size_t o = c % 2; o < sizeof options / sizeof *options; o += 2) {
            mvt_run r = mvt_here("$MEMVIZ %s -q %s %s", commands[c], options[o], path);
            const char *what = mvt_format("%s: %s %s", name, commands[c], options[o]);
            if (is_nothing) {
                cr_expect_eq(r.status, 1, "%s: %d", what, r.status);
                cr_expect(strstr(r.err, "nothing to draw"), "%s: %s", what, r.err);
                cr_expect_eq(mvt_count_lines(r.err), 1, "%s: one line: %s", what, r.err);
                cr_expect_eq(r.out_length, 0);
                continue;
            }
            cr_expect_eq(r.status, 0, "%s: %d: %s", what, r.status, r.err);
            picture = mvt_take(strstr(options[o], "x."), &length);
            cr_assert_not_null(picture, "%s: no file", what);
            bool is_svg = length > 100 && memcmp(picture, "<svg ", 5) == 0 &&
                          strcmp(picture + length - 7, "</svg>\n") == 0;
            bool is_png = length > 60 && memcmp(picture, "\x89PNG\r\n\x1a\n", 8) == 0;
            bool is_page = length > 100 && memcmp(picture, "<!DOCTYPE html>", 15) == 0 &&
                           strcmp(picture + length - 8, "</html>\n") == 0;
            cr_expect(is_svg || is_png || is_page, "%s: no picture", what);
            cr_expect_lt(length, 5000000, "%s", what);
            cr_expect(c + o > 0 || strstr(picture, says), "%s does not say %s", what, says);
        }
}

static void draw_input(size_t i)
{
    if (inputs[i].snapshot) {
        const char *path = mvt_format("$SNAPS/%s.pickle", inputs[i].snapshot);
        draw(path, false, inputs[i].name, inputs[i].says);
    } else {
        mvt_trace *t = mvt_new();
        inputs[i].make(t);
        draw(mvt_temp_file(mvt_snapshot_bytes(t)), inputs[i].is_nothing, inputs[i].name,
             inputs[i].says);
    }
}

/* Three tests, which run in parallel. */
enum { INPUTS = sizeof inputs / sizeof *inputs };

LongTest(odd_pictures, almost_empty_files_have_true_pictures)
{
    for (size_t i = 0; i < 5; i++)
        draw_input(i);
}

LongTest(odd_pictures, impossible_recordings_have_true_pictures)
{
    for (size_t i = 5; i < 12; i++)
        draw_input(i);
}

LongTest(odd_pictures, partial_recordings_have_true_pictures)
{
    for (size_t i = 12; i < INPUTS; i++)
        draw_input(i);
}
