#include "cli/input/window.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

/* Events 0 to 9 at 1000, 1010 ... 1090 microseconds. */
static const mv_trace *ten_events(void)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 10; i++)
        mvt_alloc(t, .time_us = 1000 + 10 * i, .addr = 0x1000 * (i + 1), .bytes = 512);
    mvt_annotate(t, "step", true, 1015);
    mvt_annotate(t, "step", false, 1025);
    mvt_annotate(t, "step", true, 1050);
    mvt_annotate(t, "ProfilerStep#7", true, 1071);
    mvt_annotate(t, "late", true, 9999);
    return mvt_done(t);
}

Test(window, every_way_to_name_a_moment_is_read)
{
    static const struct {
        const char *x;
        uint32_t event, after;
    } good[] = {
        {"0", 0, 1},
        {"7", 7, 8},
        {"10", 10, 10},
        {"11", 10, 10},
        {"99999999999999999999", 10, 10},
        {"0s", 0, 1},
        {"0.00001s", 1, 2},
        {"11us", 2, 2},
        {"0.05ms", 5, 6},
        {"1.5s", 10, 10},
        {"99min", 10, 10},
        {"@step", 2, 2},
        {"@step#1", 2, 2},
        {"@step#2", 5, 5},
        {"@ProfilerStep#7", 8, 8},
        {"@late", 10, 10},
    };
    static const char *const bad[] = {
        "",        "x",       "-1",     "1.5",     "1 s",           "1h",    "@",    "@none",
        "@step#3", "@step#0", "@step#", "@step#x", "@ProfilerStep", "1e30s", "nans", "0x10"};
    const mv_trace *trace = ten_events();
    mv_position at;
    char why[160];

    cr_assert_eq(mv_position_start_us(trace), 1000);
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect(mv_position_find(trace, 0, good[i].x, &at, why, sizeof why), "%s", good[i].x);
        cr_expect_eq(at.event, good[i].event, "%s: %u", good[i].x, at.event);
        cr_expect_eq(at.after, good[i].after, "%s: %u", good[i].x, at.after);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = 0;
        cr_expect(!mv_position_find(trace, 0, bad[i], &at, why, sizeof why), "%s", bad[i]);
        cr_expect(why[0] != 0);
    }
}

Test(window, times_are_refused_without_times_in_the_file)
{
    mvt_trace *t = mvt_new();
    static const char *const none[] = {"1s", "0s", "@step", "@step#1"};
    mv_window window;
    mv_moment_query ask;
    mv_position at;
    char why[MV_WHY], says[160];

    mvt_alloc(t, .time_us = MV_NO_TIME, .addr = 0x1000, .bytes = 512);
    mvt_annotate(t, "step", true, 1015);
    const mv_trace *trace = mvt_done(t);
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(says, sizeof says, "the events have no times, so %s cannot be found", none[i]);
        cr_expect(!mv_position_find(trace, 0, none[i], &at, why, sizeof why), "%s", none[i]);
        cr_expect_str_eq(why, says);
        cr_expect(!mv_window_read(trace, 0, none[i], NULL, &window, why, sizeof why));
        cr_expect_str_eq(why, says);
        cr_expect(!mv_moment_read(trace, 0, none[i], MV_ALL_EVENTS, &ask, why, sizeof why));
        cr_expect_str_eq(why, says);
    }
    cr_expect(mv_position_find(trace, 0, "1", &at, why, sizeof why));
}

Test(window, a_window_without_events_is_refused)
{
    static const struct {
        const char *from, *to, *why; /* why NULL: the window has events */
    } all[] = {
        {NULL, NULL, NULL},
        {"0", "99999999", NULL},
        {"9", NULL, NULL},
        {NULL, "1", NULL},
        {"0us", "1us", NULL},
        {"@step", "@step#2", NULL},
        {"9", "1min", NULL},
        {"10", NULL, "--from 10 is beyond the end; the file has events 0 to 9, 0 s to 0.000090 s"},
        {"99999999999999999999", NULL, "is beyond the end"},
        {"1s", NULL, "--from 1s is beyond the end"},
        {"@late", NULL, "--from @late is beyond the end"},
        {NULL, "0", "no event is before --to 0; the file has events 0 to 9"},
        {NULL, "0s", "no event is before --to 0s"},
        {"5", "5", "no event is in the window from 5 to before 5"},
        {"11us", "19us", "no event is in the window from 11us to before 19us"},
        {"5", "4", "--from 5 is after --to 4; the file has"},
        {"5s", "1s", "--from 5s is after --to 1s; the file has"},
        {"19us", "11us", "--from 19us is after --to 11us"},
        {"@step#2", "@step", "--from @step#2 is after --to @step"},
        {"80us", "3", "--from 80us is after --to 3"},
    };
    const mv_trace *trace = ten_events();
    char why[MV_WHY];

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const char *from = all[i].from, *to = all[i].to;
        bool is_empty = mv_window_is_empty(trace, 0, 1, from, to, why, sizeof why);
        cr_expect_eq(is_empty, all[i].why != NULL, "%s to %s", from, to);
        cr_expect(!is_empty || strstr(why, all[i].why), "%s to %s: %s", from, to, why);
    }
}

/* A window is valid if any device has events in it. */
Test(window, a_window_is_valid_if_any_device_has_events)
{
    mvt_trace *t = mvt_new();
    char why[MV_WHY];

    for (uint32_t i = 0; i < 10; i++)
        mvt_alloc(t, .device = i < 3 ? 0 : 2, .addr = 0x1000 * (i + 1), .bytes = 512);
    const mv_trace *trace = mvt_done(t);
    cr_expect_not(mv_window_is_empty(trace, 0, 3, "5", NULL, why, sizeof why));
    cr_expect(mv_window_is_empty(trace, 0, 2, "5", NULL, why, sizeof why));
    cr_expect(mv_window_is_empty(trace, 0, 3, "7", NULL, why, sizeof why));
    cr_expect(strstr(why, "device 2 has events 0 to 6"), "%s", why);
    cr_expect(mv_window_is_empty(trace, 1, 2, "0", NULL, why, sizeof why));
    cr_expect(strstr(why, "the file has no events there"), "%s", why);
}

Test(window, missing_annotations_are_named)
{
    static const struct {
        const char *x, *why;
    } all[] = {{"@Foo", "no annotation 'Foo'; the file has: step, ProfilerStep#7, late"},
               {"@step#3", "no annotation 'step#3': 'step' starts 2 times"},
               {"@late#2", "'late' starts 1 time"},
               {"@Foo#2", "no annotation 'Foo#2'; the file has:"}};
    const mv_trace *trace = ten_events(), *bare = mvt_done(mvt_new());
    mv_position at;
    char why[MV_WHY];

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_not(mv_position_find(trace, 0, all[i].x, &at, why, sizeof why));
        cr_expect(strstr(why, all[i].why), "%s: %s", all[i].x, why);
    }
    cr_expect_not(mv_position_find(bare, 0, "@Foo", &at, why, sizeof why));
    cr_expect_str_eq(why, "no annotation 'Foo': the file has none");
}

/* In text and as JSON, a command prints the whole output or none. */
static void expect_refused(const char *command, const char *option)
{
    for (int json = 0; json < 2; json++) {
        mvt_run r = mvt_sh("$MEMVIZ %s %s %s $SNAPS/annotated.pickle; s=$?; ls; exit $s", command,
                           json ? "--json" : "", option);
        const char *end = strchr(r.err, '\n');
        bool has_rows = strcmp(command, "ranks") == 0; /* its rows are the problems it finds */
        cr_expect_eq(r.status, 1, "%s %s: %d", command, option, r.status);
        cr_expect(end && end[1] == 0, "%s %s: %s", command, option, r.err);
        cr_expect(strstr(r.err, "the file has"), "%s %s: %s", command, option, r.err);
        cr_expect(has_rows || r.out_length == 0, "%s %s: %s", command, option, r.out);
    }
}

/* All commands that accept a window. */
LongTest(window, commands_refuse_bad_windows)
{
    static const char *const commands[] = {"trace",
                                           "leaks",
                                           "peak",
                                           "lines",
                                           "fragmentation",
                                           "oom",
                                           "ranks",
                                           "memory -o x.svg",
                                           "segments -o x.svg",
                                           "memory -o x.folded",
                                           "memory -o x.html",
                                           "trace_plot -o x.svg",
                                           "trace_plot -o x.html",
                                           "segment_plot -o x.png",
                                           "view --headless --shot x.png",
                                           "diff $SNAPS/annotated.pickle"};
    static const char *const windows[] = {"--from 5s --to 1s", "--from 0.3s --to 0.1s",
                                          "--from 99999999", "--from @Foo"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        for (unsigned k = 0; k < sizeof windows / sizeof *windows; k++)
            expect_refused(commands[i], windows[k]);
}

LongTest(window, commands_refuse_bad_moments)
{
    static const char *const commands[] = {"peak",
                                           "fragmentation",
                                           "memory -o x.svg",
                                           "segments -o x.folded",
                                           "memory -o x.html",
                                           "segment_plot --view state -o x.svg",
                                           "trace_plot --view state -o x.html",
                                           "export -o x.folded",
                                           "view --headless --shot x.png",
                                           "diff $SNAPS/annotated.pickle",
                                           "ledger"};
    static const char *const moments[] = {"--at 99999999", "--at 99s", "--at @Foo"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        for (unsigned k = 0; k < sizeof moments / sizeof *moments; k++)
            expect_refused(commands[i], moments[k]);
}
