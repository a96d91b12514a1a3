/* Pages as commands write them: where they are written, and their first view.
 * tests/page/test_viewer_page.c checks their contents. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"

/* Prints a page's first view. */
static const char look[] =
    "sed -n 's/.*id=\"snapshot\" data-name=\"[^\"]*\"\\( data-state=\"\\([^\"]*\\)\"\\)*>.*/\\2/p'";

Test(page, is_written_beside_the_file_when_nothing_else_is_named)
{
    mvt_prints("cp $SNAPS/oom.pickle .; for c in trace_plot segment_plot; do "
               "$MEMVIZ $c oom.pickle && ls && head -c 15 oom.pickle.html; rm *.html; done",
               0,
               "oom.pickle.html\noom.pickle\noom.pickle.html\n<!DOCTYPE html>"
               "oom.pickle.html\noom.pickle\noom.pickle.html\n<!DOCTYPE html>");
}

/* The members of a session (view/state/session.h), without anything that a viewer does anyway. */
LongTest(page, opens_on_the_requested_view)
{
    static const struct {
        const char *command, *want;
    } all[] = {
        {"trace_plot", ""},
        {"trace_plot --from 3 --to 9 --theme dark", "device 0;from 3;to 9;is_dark yes"},
        {"trace_plot --device 0", "device 0"},
        {"trace_plot --at oom", "device 0;cursor 56"},
        {"trace_plot --at 12 --from 3 --to 40", "device 0;from 3;to 40;cursor 12"},
        {"segment_plot --view segments --at 12", "device 0;main segments;cursor 12"},
        {"segment_plot", "main segments"},
        {"trace_plot --view segments --theme light", "main segments;is_dark no"},
        {"segment_plot --view active", ""},
        {"segment_plot --view state", "device 0;main state;cursor 57"},
        {"trace_plot --view state --at oom", "device 0;main state;cursor 56"},
        {"segment_plot --at 12", "device 0;main state;cursor 12"},
        {"memory", "device 0;tab flame;cursor 57;lower_share 0.62"},
        {"memory --at 12 --frames all",
         "device 0;tab flame;cursor 12;has_all_frames yes;lower_share 0.62"},
        {"segments --at 0",
         "device 0;main segments;tab flame;cursor 0;flame_source segments;lower_share 0.62"},
        {"trace_plot --view pools", "main pools"},
        {"trace_plot --filter 'size>1M' --top 3",
         "show isolate;search size&gt;1M size&gt;=104857600"},
        {"trace_plot --filter 'a;b'", "show isolate;search a\\x3bb"},
        {"trace_plot --top 3", "show highlight;search size&gt;=104857600"},
        {"segment_plot --top 3", "main segments;show highlight;search size&gt;=104857600"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ %s $SNAPS/oom.pickle -o x.html >/dev/null && %s x.html",
                           all[i].command, look);
        cr_expect_eq(r.status, 0, "%s: %s", all[i].command, r.err);
        r.out[strcspn(r.out, "\n")] = 0;
        cr_expect_str_eq(r.out, all[i].want, "%s: %s", all[i].command, r.out);
    }
}

/* The device with the most events, as in a window, unless one is named or no other has the
 * moment. */
Test(page, opens_on_a_device)
{
    static const struct {
        const char *command, *want;
    } all[] = {{"trace_plot", ""},
               {"trace_plot --device 1", "device 1"},
               {"trace_plot --from 3", "device 1;from 3;to "},
               {"memory --device 1", "device 1;tab flame;"}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ %s $SNAPS/two_devices.pickle -o x.html >/dev/null && %s x.html",
                           all[i].command, look);
        cr_expect_eq(r.status, 0, "%s: %s", all[i].command, r.err);
        cr_expect(strncmp(r.out, all[i].want, strlen(all[i].want)) == 0, "%s: %s", all[i].command,
                  r.out);
    }
}

Test(page, file_without_events_has_the_moment_before_them)
{
    mvt_run r = mvt_sh("$MEMVIZ memory $SNAPS/no_history.pickle -o x.html && %s x.html", look);

    cr_expect_str_eq(r.out, "x.html\ndevice 0;tab flame;cursor none;lower_share 0.62\n");
}

/* If half of the events are omitted, event 3000 is a different one. The moment must stay where it
 * was. */
Test(page, of_fewer_events_is_noted_and_opens_on_the_same_moment)
{
    mvt_run r =
        mvt_sh("f=$SNAPS/gpt_train.pickle; "
               "$MEMVIZ trace_plot --most-events 4000 --view state --at 3000 $f -o x.html && "
               "%s x.html; sed -n 's/<p id=\"left_out\">/left: /p' x.html; "
               "$MEMVIZ trace_plot -q --most-events 0 $f -o y.html && "
               "$MEMVIZ convert -q $f z.html && cmp y.html z.html",
               look);
    unsigned out = 0, cursor = 0;

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_eq(sscanf(r.err, "memviz: x.html: %u", &out), 1, "%s", r.err);
    cr_expect_not_null(
        strstr(r.err, " of 6,562 events were removed, of small or short-lived blocks"));
    cr_expect_not_null(
        strstr(r.out, " of 6,562 events were removed, of small or short-lived blocks"));
    cr_expect_eq(sscanf(r.out, "x.html\ndevice 0;main state;cursor %u", &cursor), 1, "%s", r.out);
    cr_expect(cursor > 500 && cursor < 3000, "%u", cursor);
}

Test(page, a_filter_longer_than_the_search_is_refused)
{
    mvt_warns("$MEMVIZ trace_plot $SNAPS/oom.pickle -o x.html --filter $(printf '%02048d' 0); "
              "test $? = 1 && test ! -e x.html",
              0, "--filter is too long for the page's search (at most 2047 bytes)");
}

Test(page, reports_its_contents)
{
    static const char *const commands[] = {"trace_plot", "segment_plot",
                                           "segment_plot --view state", "memory", "segments"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        cJSON *report =
            mvt_json(0, "$MEMVIZ %s --json $SNAPS/two_devices.pickle -o x.html", commands[i]);
        mvt_json_has(report, "written events drawn");
        cr_expect_str_eq(mvt_json_text(report, "written"), "x.html");
        cr_expect_gt(mvt_json_number(report, "events"), 0);
        cr_expect_gt(mvt_json_number(report, "drawn"), 0);
    }
}

Test(page, wrong_options_are_wrong_usage)
{
    static const mvt_expected_run all[] = {
        {"trace_plot --at peak $SNAPS/oom.pickle -o x.svg", 2, NULL, "a page (-o X.html) opens on"},
        {"segment_plot --view segments --at peak $SNAPS/oom.pickle -o x.png", 2, NULL,
         "--at names a moment"},
        {"trace_plot --at oom $SNAPS/gpt_train.pickle -o x.html", 1, NULL, "no such out-of-memory"},
        {"segment_plot - <$SNAPS/oom.pickle", 2, NULL, "standard input has no name"},
        {"segment_plot --filter leak $SNAPS/oom.pickle -o x.html", 2, NULL,
         "leak and cat: select blocks"},
        {"trace_plot --filter 'size>' $SNAPS/oom.pickle", 2, NULL, "--filter: "},
        {"memory --at noon $SNAPS/oom.pickle -o x.html", 2, NULL, "'noon' is not a valid --at"},
        {"segments --from 7 --to 7 $SNAPS/oom.pickle -o no/x.html", 1, NULL, ""},
        {"trace_plot --from 7 --to 7 $SNAPS/oom.pickle -o x.html", 1, NULL,
         "no event is in the window"},
        {"segment_plot $SNAPS/oom.pickle -o no/such/x.html", 1, NULL,
         "cannot write no/such/x.html"},
        {"trace_plot nowhere -o x.html", 1, NULL, "nowhere: No such file"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ %s; s=$?; ls; exit $s", all);
}
