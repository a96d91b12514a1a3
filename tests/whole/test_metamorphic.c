/* Changes that must not change an answer: when the run was, where its code is, how its functions
 * are spelled, where its memory was, on which device it ran, and what other devices did. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/in_process.h"

static const char *const reports[] = {
    "leaks", "peak", "peak --at end --target 64MiB", "fragmentation", "oom", "lines", "stats"};

static const char *const names[] = {
    "leak_in_training", "leak_hidden_state", "leak_loss_list", "eval_without_no_grad",
    "gpt_train",        "annotated",         "streams",        "frag_pinned_by_small",
    "oom_fragmented",   "profiler_steps",    "resnet_all",
};

typedef struct {
    mv_arena *arena;
    mv_trace trace;
    mv_span plain, changed; /* files: as it was, and as it was made */
} specimen;

static void begin(specimen *s, const char *name)
{
    s->arena = mvt_arena_new();
    s->trace = mvt_load(s->arena, name);
    s->plain = mvt_snapshot_of(s->arena, &s->trace);
}

static void change(specimen *s)
{
    s->changed = mvt_snapshot_of(s->arena, &s->trace);
}

/* The report on these bytes as the file "f". */
static char *report_of(mv_span file, const char *report, const char *options)
{
    mvt_folder_put("f", file);
    mvt_run r = mvt_here("$MEMVIZ %s %s f", report, options);
    cr_assert_eq(r.status, 0, "%s %s: %d: %s", report, options, r.status, r.err);
    return r.out;
}

/* `text` with each `from` replaced by `to`, which is not longer. */
static char *replace(char *text, const char *from, const char *to)
{
    char *out = text;

    for (const char *in = text; *in;)
        if (*from && strncmp(in, from, strlen(from)) == 0) {
            out = mempcpy(out, to, strlen(to));
            in += strlen(from);
        } else {
            *out++ = *in++;
        }
    *out = 0;
    return text;
}

/* Both files under one name give the same report, except that `from` in the changed file's report
 * is `to` in the other. */
static void expect_same(specimen *s, const char *options, const char *from, const char *to,
                        const char *what)
{
    for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++) {
        char *plain = report_of(s->plain, reports[i], "");
        char *changed = report_of(s->changed, reports[i], options);
        mvt_same_text(plain, replace(changed, from, to), "%s: %s", reports[i], what);
    }
    mv_arena_release(s->arena);
}

#define EACH_NAME(i) for (unsigned i = 0; i < sizeof names / sizeof *names; i++)

/* ---- when -------------------------------------------------------------------------------- */

LongTest(metamorphic, times_are_relative)
{
    EACH_NAME(i)
    {
        const int64_t hour = 3600 * 1000000ll;
        specimen s;

        begin(&s, names[i]);
        mv_events e = mv_trace_events(&s.trace, 0);
        for (uint32_t k = 0; k < e.count; k++)
            e.time_us[k] += hour;
        for (uint32_t k = 0; k < s.trace.annotations.count; k++)
            s.trace.annotations.time_us[k] += hour;
        change(&s);
        expect_same(&s, "", "", "", names[i]);
    }
}

/* ---- where the code lies, and how it is spelled ------------------------------------------ */

LongTest(metamorphic, folders_do_not_matter)
{
    EACH_NAME(i)
    {
        specimen s;

        begin(&s, names[i]);
        for (uint32_t k = 0; k < s.trace.strings.count; k++) {
            char *text = s.trace.strings.bytes + s.trace.strings.at[k];
            if (strncmp(text, "/workspace/", 11) == 0)
                memcpy(text, "/home/user/", 11);
            else if (strncmp(text, "/venv/", 6) == 0)
                memcpy(text, "/opt2/", 6);
        }
        change(&s);
        expect_same(&s, "", "", "", names[i]);
    }
}

/* "forward" becomes "Q.forward", as a capture has it. */
static void qualify_functions(specimen *s)
{
    mv_strings *from = &s->trace.strings, to = {0};
    uint64_t bytes = from->at[from->count];

    to.at = mv_push_array(s->arena, uint64_t, 2 * (uint64_t)from->count + 1);
    to.bytes = mv_push_array(s->arena, char, 2 * bytes + 2 * (uint64_t)from->count);
    cr_assert(to.at && to.bytes);
    memcpy(to.at, from->at, (from->count + 1) * sizeof *to.at);
    memcpy(to.bytes, from->bytes, bytes);
    to.count = from->count;
    for (uint32_t k = 0; k < from->count; k++) {
        uint64_t length = from->at[k + 1] - from->at[k];
        char *text = to.bytes + to.at[to.count];
        memcpy(text, "Q.", 2);
        memcpy(text + 2, from->bytes + from->at[k], length);
        to.at[to.count + 1] = to.at[to.count] + 2 + length;
        to.count++;
    }
    for (uint32_t k = 0; k < s->trace.frames.count; k++)
        if (s->trace.frames.line[k] > 0 &&
            strstr(mv_string_text(&s->trace, s->trace.frames.file[k]), ".py"))
            s->trace.frames.function[k].row += from->count;
    *from = to;
}

LongTest(metamorphic, functions_may_be_qualified)
{
    EACH_NAME(i)
    {
        specimen s;

        begin(&s, names[i]);
        qualify_functions(&s);
        change(&s);
        for (unsigned k = 0; k < sizeof reports / sizeof *reports; k++) {
            char *plain = report_of(s.plain, reports[k], "--json");
            char *changed = report_of(s.changed, reports[k], "--json");
            mvt_same_text(plain, replace(changed, "Q.", ""), "%s: %s", reports[k], names[i]);
        }
        mv_arena_release(s.arena);
    }
}

/* ---- where the memory was, and on which device ------------------------------------------- */

LongTest(metamorphic, addresses_do_not_matter)
{
    EACH_NAME(i)
    {
        const uint64_t by = (uint64_t)5 << 40;
        specimen s;

        begin(&s, names[i]);
        mv_events e = mv_trace_events(&s.trace, 0);
        for (uint32_t k = 0; k < e.count; k++)
            if (e.action[k] <= MV_ACTION_SEGMENT_UNMAP)
                e.addr[k] += by;
        for (uint32_t k = 0; k < s.trace.segments.count; k++)
            s.trace.segments.address[k] += by;
        for (uint32_t k = 0; k < s.trace.blocks.count; k++)
            s.trace.blocks.address[k] += by;
        change(&s);
        expect_same(&s, "", "", "", names[i]);
    }
}

LongTest(metamorphic, the_device_may_be_any)
{
    EACH_NAME(i)
    {
        mv_device devices[2] = {0};
        specimen s;

        begin(&s, names[i]);
        devices[1] = s.trace.devices[0];
        s.trace.devices = devices;
        s.trace.device_count = 2;
        for (uint32_t k = 0; k < s.trace.segments.count; k++)
            s.trace.segments.device[k] = 1;
        for (uint32_t k = 0; k < s.trace.annotations.count; k++)
            if (s.trace.annotations.device[k] == 0)
                s.trace.annotations.device[k] = 1;
        change(&s);
        expect_same(&s, "--device 1", "device 1", "device 0", names[i]);
    }
}

static char *without_empty_lines(char *text)
{
    char *out = text;

    for (const char *in = text; *in; in++)
        if (*in != '\n' || (out > text && out[-1] != '\n'))
            *out++ = *in;
    *out = 0;
    return text;
}

/* A device's report is the same whether or not the file has another one. */
Test(metamorphic, devices_do_not_mix)
{
    mv_device none = {0}, both[2];
    uint32_t kept = 0;
    specimen s;

    begin(&s, "two_devices");
    cr_assert_eq(s.trace.device_count, 2);
    for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++) {
        char *first = report_of(s.plain, reports[i], "--device 0");
        char *second = report_of(s.plain, reports[i], "--device 1");
        char *all = report_of(s.plain, reports[i], ""), *each;
        cr_assert_geq(asprintf(&each, "%s\n%s", first, second), 0);
        mvt_same_text(without_empty_lines(each), without_empty_lines(all), "%s", reports[i]);
        free(each);
    }
    both[0] = s.trace.devices[0];
    both[1] = none;
    s.trace.devices = both;
    while (kept < s.trace.segments.count && s.trace.segments.device[kept] == 0)
        kept++;
    cr_assert_lt(kept, s.trace.segments.count);
    s.trace.blocks.count = s.trace.segments.first_block[kept];
    s.trace.segments.count = kept;
    change(&s);
    for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++) {
        char *plain = report_of(s.plain, reports[i], "--device 0");
        char *changed = report_of(s.changed, reports[i], "--device 0");
        mvt_same_text(plain, changed, "%s without device 1", reports[i]);
    }
    mv_arena_release(s.arena);
}

/* ---- which part of the run --------------------------------------------------------------- */

/* A window of the whole trace changes nothing. */
LongTest(metamorphic, a_window_of_everything_is_the_trace)
{
    EACH_NAME(i)
    {
        for (unsigned k = 0; k < sizeof reports / sizeof *reports; k++) {
            if (strcmp(reports[k], "stats") == 0)
                continue;
            mvt_run all = mvt_here("$MEMVIZ %s $SNAPS/%s.pickle", reports[k], names[i]);
            mvt_run window = mvt_here("$MEMVIZ %s --from 0 --to 99999999 $SNAPS/%s.pickle",
                                      reports[k], names[i]);
            cr_expect_eq(all.status + window.status, 0, "%s %s", all.err, window.err);
            mvt_same_text(all.out, window.out, "%s: %s", reports[k], names[i]);
        }
    }
}
