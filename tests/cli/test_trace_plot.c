/* memviz trace_plot: the picture as a file. test_timeline.c checks what it contains. */

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"

LongTest(trace_plot, path_is_printed_and_the_picture_is_there)
{
    mvt_run r = mvt_sh("$MEMVIZ trace_plot $SNAPS/leak_in_training.pickle -o x.svg; cat x.svg");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "x.svg\n<svg ") == r.out);
    cr_expect(strstr(r.out, "leak: train.py:62 forward keeps 2.00 MiB a step"));
    cr_expect(strcmp(r.out + r.out_length - 7, "</svg>\n") == 0, "%s", r.out + r.out_length - 7);
    r = mvt_here_or_sh("$MEMVIZ trace_plot - -o - <$SNAPS/oom.pickle");
    cr_expect(strstr(r.out, "<svg ") == r.out);
}

LongTest(trace_plot, wrong_options_are_wrong_usage)
{
    static const mvt_expected_run all[] = {
        {"$SNAPS/oom.pickle -o x.gif", 2, NULL, "x.gif: the name must end in .svg, .png or .html"},
        {"$SNAPS/oom.pickle -o .svg", 2, NULL, ".svg: the name must end in .svg, .png or .html"},
        {"--json $SNAPS/oom.pickle -o -", 2, NULL, "the name must end in .svg, .png or .html"},
        {"$SNAPS/oom.pickle -o .html", 2, NULL, ".html: the name must end in .svg, .png or .html"},
        {"--size 0x100 $SNAPS/oom.pickle -o x.png", 2, NULL, "--size 0x100: expected WxH"},
        {"--size 100 $SNAPS/oom.pickle -o x.png", 2, NULL, "--size 100: expected WxH"},
        {"--size 100x16385 $SNAPS/oom.pickle -o x.png", 2, NULL, "expected WxH"},
        {"--size 00000000000000000000000100x100 $SNAPS/oom.pickle -o x.png", 2, NULL,
         "expected WxH"},
        {"--theme blue $SNAPS/oom.pickle -o x.png", 2, NULL, "expected one of: light dark"},
        {"- <$SNAPS/oom.pickle", 2, NULL, "standard input has no name"},
        {"--from 7 --to 7 $SNAPS/oom.pickle -o x.svg", 1, NULL, "no event is in the window"},
        {"--device 1 $SNAPS/oom.pickle -o x.svg", 1, NULL, "no device 1"},
        {"nowhere -o x.svg", 1, NULL, "nowhere: No such file"},
        {"$SNAPS/oom.pickle -o no/such/x.svg", 1, NULL, "cannot write no/such/x.svg"},
        {"$SNAPS/oom.pickle -o - >/dev/full", 1, NULL, "standard output"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ trace_plot %s; s=$?; ls; exit $s", all);
}

/* Reads the width and height from a PNG file's header. */
static void check_png(const mvt_run *r, uint32_t width, uint32_t height)
{
    const uint8_t *b = (const uint8_t *)r->out;

    cr_assert(r->status == 0 && r->out_length > 60, "%s", r->err);
    cr_assert_eq(memcmp(b, "\x89PNG\r\n\x1a\n", 8), 0);
    cr_expect_eq((uint32_t)b[18] << 8 | b[19], width);
    cr_expect_eq((uint32_t)b[22] << 8 | b[23], height);
}

/* No events, no stacks, an overwritten ring, a late start, pools, nothing left at the end, and less
 * room than any text needs: for every file there is a picture of the requested size. */
LongTest(trace_plot, every_file_has_a_png_of_any_size)
{
    static const char *const files[] = {"no_history", "state_only", "ring",
                                        "late_start", "mempool",    "expandable_empty"};
    static const struct {
        uint32_t width, height;
    } sizes[] = {{1400, 760}, {640, 360}, {1, 1}, {3, 2000}, {2500, 1}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t s = i % 2; s < sizeof sizes / sizeof *sizes; s += 2) {
            mvt_run r = mvt_sh("$MEMVIZ trace_plot -q --theme %s --size %ux%u $SNAPS/%s.pickle "
                               "-o x.png >&2; cat x.png",
                               i % 3 ? "light" : "dark", sizes[s].width, sizes[s].height, files[i]);
            check_png(&r, sizes[s].width, sizes[s].height);
        }
}

Test(trace_plot, an_svg_has_the_requested_size_and_theme)
{
    mvt_run r = mvt_here("$MEMVIZ trace_plot --size 400x300 --theme dark $SNAPS/oom.pickle -o -");

    cr_expect(strstr(r.out, " width=\"400\" height=\"300\" viewBox=\"0 0 800 600\""), "%.200s",
              r.out);
    cr_expect(strstr(r.out, "fill=\"#16191d\"/>"));
    r = mvt_sh(
        "$MEMVIZ trace_plot --size 900x400 $SNAPS/two_devices.pickle -o x.png >&2; cat x.png");
    check_png(&r, 900, 800);
}

/* The viewer's search understands fewer words. */
Test(trace_plot, a_filter_may_be_long)
{
    cJSON *report = mvt_json_here(0,
                                  "$MEMVIZ trace_plot --json --filter \"forward %s\" "
                                  "$SNAPS/gpt_train.pickle -o x.svg",
                                  "size>1 size>2 size>3 size>4 size>5 size>6 size>7 size>8 size>9 "
                                  "size>10 size>11 size>12 size>13 size>14 size>15 size>16 size>17 "
                                  "size>18 size>19 size>20 size>21 size>22 size>23 size>24 size>25 "
                                  "size>26 size>27 size>28 size>29 size>30 size>31 size>100M");

    cr_expect_eq(mvt_json_number(report, "matches"), 0);
    cr_expect_eq(mvt_json_number(report, "drawn"), 0);
}

/* The same file always gives the same bytes. */
LongTest(trace_plot, png_is_deterministic)
{
    mvt_prints("$MEMVIZ trace_plot $SNAPS/gpt_train.pickle -o a.png >&2; "
               "$MEMVIZ trace_plot $SNAPS/gpt_train.pickle -o b.png >&2; cmp a.png b.png",
               0, "");
}

static double height_of(const char *svg)
{
    const char *at = strstr(svg, " height=\"");

    cr_assert(at != NULL);
    return strtod(at + 9, NULL);
}

Test(trace_plot, devices_are_one_below_the_other)
{
    mvt_run both = mvt_here("$MEMVIZ trace_plot $SNAPS/two_devices.pickle -o -");
    mvt_run one = mvt_here("$MEMVIZ trace_plot -d 1 $SNAPS/two_devices.pickle -o -");

    cr_expect_eq(height_of(both.out), 2 * height_of(one.out));
    cr_expect(strstr(both.out, "device 0") && strstr(both.out, "device 1"));
    cr_expect(!strstr(one.out, "device 0") && strstr(one.out, "device 1"));
}

LongTest(trace_plot, picture_is_xml)
{
    mvt_run have = mvt_sh("/usr/bin/python3 -c 'import xml.dom.minidom'");
    mvt_run r = mvt_sh("cp $SNAPS/oom.pickle \"$(printf 'a<&\\\"\\377\\033b')\"; set -e;"
                       "for f in a* $SNAPS/leak_in_training.pickle $SNAPS/no_history.pickle; do "
                       "$MEMVIZ trace_plot \"$f\" -o x.svg; /usr/bin/python3 -c "
                       "'import xml.dom.minidom as x; x.parse(\"x.svg\")'; done");

    if (have.status == 0)
        cr_expect_eq(r.status, 0, "%s", r.err);
}

Test(trace_plot, page_is_written_whole_and_reported)
{
    cJSON *report = mvt_json_here(
        0, "$MEMVIZ trace_plot --json --from 100 --to 300 $SNAPS/gpt_train.pickle -o x.html");
    mvt_run r = mvt_sh("$MEMVIZ trace_plot $SNAPS/two_devices.pickle -o x.html; cat x.html");

    cr_expect_str_eq(mvt_json_text(report, "written"), "x.html");
    cr_expect_eq(mvt_json_number(report, "events"), 200);
    cr_expect_eq(mvt_json_number(report, "drawn"), 2434);
    cr_expect(strstr(r.out, "x.html\n<!DOCTYPE html>\n") == r.out);
    cr_expect(strcmp(r.out + r.out_length - 8, "</html>\n") == 0);
}
