/* Pages as commands write them: where to, and what they show at first. test_html.c checks what is
 * in them. */
#include "tests/fixture/fixture_json.h"

/* Prints columns of a page: all of "opening", the moment of each device. */
static const char look[] =
    "/usr/bin/python3 -c '\n"
    "import base64, re, struct, sys, zlib\n"
    "page = open(sys.argv[1]).read()\n"
    "data = zlib.decompress(base64.b64decode(\n"
    "    re.search(\"id=.columns.>([^<]*)<\", page).group(1)))\n"
    "at = 4\n"
    "while at < len(data):\n"
    "    name = data[at + 1:at + 1 + data[at]].decode()\n"
    "    at += 1 + data[at]\n"
    "    size = struct.unpack_from(\"<I\", data, at + 5)[0]\n"
    "    row, values, value, shift = data[at + 9:at + 9 + size], [], 0, 0\n"
    "    at += 9 + size\n"
    "    if name != \"opening\" and not name.endswith(\".facts\"):\n"
    "        continue\n"
    "    for byte in row:\n"
    "        value |= (byte & 127) << shift\n"
    "        shift += 7\n"
    "        if byte < 128:\n"
    "            values.append(value)\n"
    "            value = shift = 0\n"
    "    print(*(values if name == \"opening\" else values[2:4] + values[6:]))\n"
    "' ";

Test(page, is_written_beside_the_file_when_nothing_else_is_named)
{
    mvt_run r =
        mvt_sh("cp $SNAPS/oom.pickle .; for c in trace_plot segment_plot; do "
               "$MEMVIZ $c oom.pickle && ls && head -c 15 oom.pickle.html; rm *.html; done");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(r.out, "oom.pickle.html\noom.pickle\noom.pickle.html\n<!DOCTYPE html>"
                            "oom.pickle.html\noom.pickle\noom.pickle.html\n<!DOCTYPE html>");
}

/* theme, view, all frames, largest; before them, for each device, first and end of the window and
 * the moment. */
Test(page, opens_on_what_was_asked_for)
{
    static const struct {
        const char *command, *want;
    } all[] = {
        {"trace_plot", "0 58 0\n0 0 0 0\n"},
        {"trace_plot --from 3 --to 9 --theme dark", "3 9 0\n2 0 0 0\n"},
        {"segment_plot", "0 58 0\n0 1 0 0\n"},
        {"trace_plot --view segments --theme light", "0 58 0\n1 1 0 0\n"},
        {"segment_plot --view active", "0 58 0\n0 0 0 0\n"},
        {"segment_plot --view state", "0 58 59\n0 2 0 0\n"},
        {"trace_plot --view state --at oom", "0 58 58\n0 2 0 0\n"},
        {"segment_plot --at 12", "0 58 14\n0 2 0 0\n"},
        {"memory", "0 58 59\n0 3 0 0\n"},
        {"memory --at 12 --frames all", "0 58 14\n0 3 1 0\n"},
        {"segments --at 0", "0 58 2\n0 4 0 0\n"},
        {"trace_plot --view pools", "0 58 0\n0 5 0 0\n"},
        {"trace_plot --filter 'size>1M' --top 3", "0 58 0\n0 0 0 3\n"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ %s $SNAPS/oom.pickle -o x.html >/dev/null && %s x.html",
                           all[i].command, look);
        cr_expect_eq(r.status, 0, "%s: %s", all[i].command, r.err);
        cr_expect_str_eq(r.out, all[i].want, "%s: %s", all[i].command, r.out);
    }
}

Test(page, file_without_events_has_the_moment_before_them)
{
    mvt_run r = mvt_sh("$MEMVIZ memory $SNAPS/no_history.pickle -o x.html && %s x.html", look);

    cr_expect_str_eq(r.out, "x.html\n0 0 1\n0 3 0 0\n");
}

Test(page, reports_what_it_holds)
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
    static const struct {
        const char *arguments, *why;
        int status;
    } all[] = {
        {"trace_plot --at peak $SNAPS/oom.pickle -o x.html", "--at names a moment", 2},
        {"segment_plot --view segments --at peak $SNAPS/oom.pickle", "--at names a moment", 2},
        {"segment_plot - <$SNAPS/oom.pickle", "standard input has no name", 2},
        {"segment_plot --filter leak $SNAPS/oom.pickle -o x.html", "leak and cat: name blocks", 2},
        {"trace_plot --filter 'size>' $SNAPS/oom.pickle", "--filter: ", 2},
        {"memory --at noon $SNAPS/oom.pickle -o x.html", "'noon' is not a valid --at", 2},
        {"segments --from 7 --to 7 $SNAPS/oom.pickle -o no/x.html", "", 1},
        {"trace_plot --from 7 --to 7 $SNAPS/oom.pickle -o x.html", "no event is in the window", 1},
        {"segment_plot $SNAPS/oom.pickle -o no/such/x.html", "cannot write no/such/x.html", 1},
        {"trace_plot nowhere -o x.html", "nowhere: No such file", 1},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ %s; s=$?; ls; exit $s", all[i].arguments);
        cr_expect_eq(r.status, all[i].status, "%s: %d", all[i].arguments, r.status);
        cr_expect(strstr(r.err, all[i].why), "%s: %s", all[i].arguments, r.err);
        cr_expect_str_eq(r.out, "", "%s leaves %s", all[i].arguments, r.out);
    }
}
