/* Changes that must not change an answer: when the program ran, where its code is, how its
 * functions are spelled, the addresses of its memory, its device, and what other devices did. */
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

enum { REPORTS = sizeof reports / sizeof *reports };

typedef struct {
    mv_arena *arena;
    mv_trace trace;
} specimen;

static void begin(specimen *s, const char *name)
{
    s->arena = mvt_arena_new();
    s->trace = mvt_load(s->arena, name);
}

/* Returns the report on these bytes as the file "f". */
static char *report_of(mv_span file, const char *report, const char *options)
{
    mvt_folder_put("f", file);
    mvt_run r = mvt_here("$MEMVIZ %s %s f", report, options);
    cr_assert_eq(r.status, 0, "%s %s: %d: %s", report, options, r.status, r.err);
    return r.out;
}

/* Returns `text` with each `from` replaced with `to`, which must not be longer. */
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

static void change_times(specimen *s)
{
    const int64_t hour = 3600 * 1000000ll;
    mv_events e = mv_trace_events(&s->trace, 0);

    for (uint32_t k = 0; k < e.count; k++)
        e.time_us[k] += hour;
    for (uint32_t k = 0; k < s->trace.annotations.count; k++)
        s->trace.annotations.time_us[k] += hour;
}

static void change_folders(specimen *s)
{
    for (uint32_t k = 0; k < s->trace.strings.count; k++) {
        char *text = s->trace.strings.bytes + s->trace.strings.at[k];
        if (strncmp(text, "/workspace/", 11) == 0)
            memcpy(text, "/home/user/", 11);
        else if (strncmp(text, "/venv/", 6) == 0)
            memcpy(text, "/opt2/", 6);
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

static void change_addresses(specimen *s)
{
    const uint64_t by = (uint64_t)5 << 40;
    mv_events e = mv_trace_events(&s->trace, 0);

    for (uint32_t k = 0; k < e.count; k++)
        if (e.action[k] <= MV_ACTION_SEGMENT_UNMAP)
            e.addr[k] += by;
    for (uint32_t k = 0; k < s->trace.segments.count; k++)
        s->trace.segments.address[k] += by;
    for (uint32_t k = 0; k < s->trace.blocks.count; k++)
        s->trace.blocks.address[k] += by;
}

static void change_device(specimen *s)
{
    mv_device *devices = mv_push_array(s->arena, mv_device, 2);

    devices[1] = s->trace.devices[0];
    s->trace.devices = devices;
    s->trace.device_count = 2;
    for (uint32_t k = 0; k < s->trace.segments.count; k++)
        s->trace.segments.device[k] = 1;
    for (uint32_t k = 0; k < s->trace.annotations.count; k++)
        if (s->trace.annotations.device[k] == 0)
            s->trace.annotations.device[k] = 1;
}

/* `from` in the report on the changed file corresponds to `to` in the report on the original. */
static const struct {
    const char *what;
    void (*change)(specimen *s);
    const char *options, *from, *to;
} changes[] = {
    {"an hour later", change_times, "", "", ""},
    {"in other folders", change_folders, "", "", ""},
    {"with qualified functions", qualify_functions, "--json", "Q.", ""},
    {"at other addresses", change_addresses, "", "", ""},
    {"on device 1", change_device, "--device 1", "device 1", "device 0"},
};

/* Three tests, which run in parallel. */
static void check_share(unsigned share)
{
    for (unsigned i = share; i < sizeof names / sizeof *names; i += 3) {
        /* The reports on the original file are made once for all of its changes. */
        const char *name = names[i];
        char *plain[REPORTS], *json[REPORTS];
        specimen s;
        begin(&s, name);
        mv_span file = mvt_snapshot_of(s.arena, &s.trace);
        for (unsigned j = 0; j < REPORTS; j++) {
            plain[j] = report_of(file, reports[j], "");
            json[j] = report_of(file, reports[j], "--json");
        }
        for (unsigned c = 0; c < sizeof changes / sizeof *changes; c++) {
            specimen other;
            begin(&other, name);
            changes[c].change(&other);
            file = mvt_snapshot_of(other.arena, &other.trace);
            for (unsigned j = 0; j < REPORTS; j++) {
                char *changed = report_of(file, reports[j], changes[c].options);
                mvt_same_text(changes[c].change == qualify_functions ? json[j] : plain[j],
                              replace(changed, changes[c].from, changes[c].to), "%s: %s %s",
                              reports[j], name, changes[c].what);
            }
            mv_arena_release(other.arena);
        }
        mv_arena_release(s.arena);
    }
}

LongTest(metamorphic, changes_without_meaning_change_no_report)
{
    check_share(0);
}

LongTest(metamorphic, changes_without_meaning_change_no_report_2)
{
    check_share(1);
}

LongTest(metamorphic, changes_without_meaning_change_no_report_3)
{
    check_share(2);
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

/* A device's report must be the same whether or not the file has another device. */
Test(metamorphic, devices_do_not_mix)
{
    mv_device none = {0}, both[2];
    uint32_t kept = 0;
    specimen s;

    begin(&s, "two_devices");
    mv_span file = mvt_snapshot_of(s.arena, &s.trace);
    cr_assert_eq(s.trace.device_count, 2);
    for (unsigned i = 0; i < REPORTS; i++) {
        char *first = report_of(file, reports[i], "--device 0");
        char *second = report_of(file, reports[i], "--device 1");
        char *all = report_of(file, reports[i], ""), *each = mvt_format("%s\n%s", first, second);
        mvt_same_text(without_empty_lines(each), without_empty_lines(all), "%s", reports[i]);
    }
    both[0] = s.trace.devices[0];
    both[1] = none;
    s.trace.devices = both;
    while (kept < s.trace.segments.count && s.trace.segments.device[kept] == 0)
        kept++;
    cr_assert_lt(kept, s.trace.segments.count);
    s.trace.blocks.count = s.trace.segments.first_block[kept];
    s.trace.segments.count = kept;
    mv_span alone = mvt_snapshot_of(s.arena, &s.trace);
    for (unsigned i = 0; i < REPORTS; i++) {
        char *plain = report_of(file, reports[i], "--device 0");
        char *changed = report_of(alone, reports[i], "--device 0");
        mvt_same_text(plain, changed, "%s without device 1", reports[i]);
    }
    mv_arena_release(s.arena);
}

/* A window that covers the whole trace must change nothing. */
LongTest(metamorphic, a_window_of_everything_equals_the_trace)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned k = 0; k < REPORTS; k++) {
            if (strcmp(reports[k], "stats") == 0)
                continue;
            mvt_run all = mvt_here("$MEMVIZ %s $SNAPS/%s.pickle", reports[k], names[i]);
            mvt_run window = mvt_here("$MEMVIZ %s --from 0 --to 99999999 $SNAPS/%s.pickle",
                                      reports[k], names[i]);
            cr_expect_eq(all.status + window.status, 0, "%s %s", all.err, window.err);
            mvt_same_text(all.out, window.out, "%s: %s", reports[k], names[i]);
        }
}
