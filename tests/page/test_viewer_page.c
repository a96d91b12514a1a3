/* Pages that contain a snapshot, and the output if memviz.html is missing. The page here is a small
 * one (tests/fixture/page.html); tests/web checks that the real page shows its snapshot. */

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

#define LETTERS "letters = bytes(c for c in range(33, 127) if chr(c) not in \"&<\\\\\")\n"

/* Prints the bytes of the snapshot in a page. */
static const char unpack[] =
    "/usr/bin/python3 -c '\n"
    "import re, sys\n" LETTERS "text = re.search(rb\"id=.snapshot.[^>]*>([^<]*)</script>\", "
    "open(sys.argv[1], \"rb\").read())[1]\n"
    "n = [letters.index(c) for c in text]\n"
    "bits = bytearray()\n"
    "have = at = 0\n"
    "for i in range(0, len(n), 2):\n"
    "    pair = n[i:i + 2]\n"
    "    have |= sum(v * 91 ** k for k, v in enumerate(pair)) << at\n"
    "    at += 13 if len(pair) == 2 else 6\n"
    "    while at >= 8:\n"
    "        bits.append(have & 255)\n"
    "        have >>= 8\n"
    "        at -= 8\n"
    "sys.stdout.buffer.write(bits)\n"
    "' ";

Test(viewer_page, every_command_has_the_same_container_inside)
{
    mvt_run r = mvt_sh("f=$SNAPS/gpt_train.pickle; $MEMVIZ convert -q $f x.bin && "
                       "$MEMVIZ convert -q $f x.html && $MEMVIZ trace_plot -q $f -o y.html && "
                       "cmp x.html y.html && %s x.html >y.bin && "
                       "$MEMVIZ dump x.bin >x && $MEMVIZ dump y.bin | cmp - x && "
                       "sed 's/data-name.*//; s/^.*<p/<p/' x.html",
                       unpack);

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(
        r.out,
        "y.html\n<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"generator\" content=\"memviz 0\">\n"
        "<title>gpt_train.pickle \xc2\xb7 memviz</title>\n</head>\n<body>\n"
        "<p id=\"verdict\">no leak \xc2\xb7 fragmentation ok \xc2\xb7 no request failed</p>\n"
        "<script type=\"text/plain\" id=\"snapshot\" \n</body>\n</html>\n");
}

/* With --device, the lives of the other devices are not known when events are left out. */
Test(viewer_page, a_page_of_one_device_lacks_the_same_events)
{
    mvt_run r =
        mvt_sh("f=$SNAPS/two_devices.pickle; $MEMVIZ convert -q --most-events 9 $f x.html && "
               "$MEMVIZ trace_plot -q --most-events 9 --device 1 $f -o y.html && "
               "%s x.html >x.bin && %s y.html | cmp - x.bin && "
               "$MEMVIZ info x.bin",
               unpack, unpack);

    cr_assert_eq(r.status, 0, "%s", r.err);
}

/* Pages are mailed, so the title by itself must show the problem. */
Test(viewer_page, the_title_has_the_verdicts_of_all_reports_that_alarm)
{
    mvt_prints("$MEMVIZ trace_plot -o x.html $SNAPS/oom.pickle && grep -a '<title>\\|<p' x.html", 0,
               "x.html\n"
               "<title>oom.pickle \xc2\xb7 out of memory: capacity \xc2\xb7 memviz</title>\n"
               "<p id=\"verdict\">out of memory: capacity</p>\n");
}

/* Checks the name, the first view, and the names in the trace. */
Test(viewer_page, hostile_texts_stay_texts)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000, .bytes = 2 << 20);
    for (unsigned i = 0; i < 8; i++)
        mvt_alloc(t, .addr = 0x10000 + i * 512, .bytes = 512,
                  .stack = "</script><script>hacked()</script>:<!--.py:7;<img src=x>:a'\"b:1");
    mvt_final_heap(t);
    mvt_done(t);
    const char *path = mvt_temp_file(mvt_pickle_bytes(t, false));
    mvt_run r =
        mvt_sh("n=$(printf '\"><script>hacked()<\\\\\\377\\001.pickle'); cp %s \"$n\" && "
               "$MEMVIZ trace_plot -q --filter '><svg/onload=hacked()>' \"$n\" -o x.html >out && "
               "cat x.html",
               path);
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_not_null(strstr(r.out, "<title>&quot;&gt;&lt;script&gt;hacked()&lt;\\\xef\xbf\xbd"
                                     "\xef\xbf\xbd.pickle"));
    cr_expect_not_null(strstr(r.out, "data-name=\"&quot;&gt;&lt;script&gt;hacked()&lt;\\"));
    cr_expect_not_null(strstr(r.out, "search &gt;&lt;svg/onload=hacked()&gt;\">"));
    cr_expect_null(strstr(r.out, "<script>"));
    cr_expect_null(strstr(r.out, "<svg"));
    cr_expect_null(strstr(r.out, "<img"));
}

/* The page used to contain 2,000 events, although the command said that all 6,562 were written. */
Test(viewer_page, convert_counts_the_contents_of_the_page)
{
    cJSON *json =
        mvt_json(0, "$MEMVIZ convert -q --json --most-events 2000 $SNAPS/gpt_train.pickle "
                    "x.html");
    double events = mvt_json_number(json, "events");
    mvt_run r = mvt_here_or_sh("$MEMVIZ convert --most-events 2000 $SNAPS/gpt_train.pickle x.html");

    cr_expect(events > 0 && events <= 2000, "%.0f", events);
    cr_expect_eq(events + mvt_json_number(json, "left_out"), 6562);
    cr_expect_not_null(strstr(r.out, mvt_format("x.html: %.0f of 6562 events", events)), "%s",
                       r.out);
}

/* Of the 25 MB, memviz.html itself takes all except 15,000 letters here. */
Test(viewer_page, a_page_has_as_many_events_as_fit)
{
    cJSON *json = mvt_json(
        0, "{ cat $MEMVIZ_PAGE; head -c 24885000 /dev/zero | tr '\\0' ' '; } >page.html; "
           "MEMVIZ_PAGE=$PWD/page.html $MEMVIZ convert -q --json $SNAPS/gpt_train.pickle x.html");
    double left = mvt_json_number(json, "left_out");

    cr_expect(left > 2000 && left < 4500, "%.0f of 6562 events are left out", left);
    cr_expect_leq(mvt_json_number(json, "bytes_out"), 25000000);
}

Test(viewer_page, a_page_without_a_place_is_refused)
{
    mvt_warns("echo no place >page.html; MEMVIZ_PAGE=page.html $MEMVIZ convert "
              "$SNAPS/gpt_train.pickle x.html; test $? = 1 && test ! -e x.html",
              0, "memviz.html has no placeholder for a snapshot");
}

Test(viewer_page, is_found_beside_the_program_and_where_both_are_installed)
{
    static const char *const places[] = {".", "../../web", "../share/memviz"};

    for (unsigned i = 0; i < 3; i++) {
        mvt_run r = mvt_sh("mkdir -p a/b/bin && cp $MEMVIZ a/b/bin/ && mkdir -p a/b/bin/%s && "
                           "cp $MEMVIZ_PAGE a/b/bin/%s/memviz.html && unset MEMVIZ_PAGE && "
                           "a/b/bin/memviz trace_plot $SNAPS/oom.pickle -o x.html && "
                           "grep -c 'id=\"snapshot\"' x.html",
                           places[i], places[i]);
        cr_expect_eq(r.status, 0, "%s: %s", places[i], r.err);
        cr_expect_str_eq(r.out, "x.html\n1\n", "%s", places[i]);
        cr_expect_str_eq(r.err, "");
    }
}

/* ---- without memviz.html ------------------------------------------------------ */

#define ALONE "unset MEMVIZ_PAGE; mkdir a && cp $MEMVIZ a/program && "

LongTest(viewer_page, without_memviz_html_a_page_has_the_still_picture)
{
    static const char *const commands[] = {
        "trace_plot", "segment_plot", "trace_plot --view state", "trace_plot --view pools",
        "memory",     "segments"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(ALONE "a/program %s $SNAPS/two_devices.pickle -o x.svg >out && "
                                 "a/program %s $SNAPS/two_devices.pickle -o x.html && "
                                 "sed -n '/^<svg/,/<.svg>/p' x.html | cmp - x.svg && cat x.html",
                           commands[i], commands[i]);
        cr_expect_eq(r.status, 0, "%s: %s", commands[i], r.err);
        cr_expect_str_eq(r.err, "memviz: x.html: a still picture: memviz.html is missing: "
                                "scripts/web makes it (docs/web.md)\n");
        cr_expect_not_null(strstr(r.out, "content=\"default-src 'none'; img-src data:; "));
        cr_expect_null(strstr(r.out, "unsafe"));
        cr_expect_null(strstr(r.out, "<script"));
        cr_expect_null(strstr(r.out, " style="));
    }
}

Test(viewer_page, a_still_page_reports_the_figures_of_a_page)
{
    const char *command = "%s trace_plot --json -q $SNAPS/two_devices.pickle -o x.html";
    cJSON *whole = mvt_json(0, command, "$MEMVIZ");
    cJSON *still = mvt_json(0, command, ALONE "a/program");

    cr_expect(cJSON_Compare(whole, still, true));
    mvt_json_has(still, "written events drawn");
}

Test(viewer_page, the_default_output_is_still_too)
{
    mvt_prints(ALONE "cp $SNAPS/oom.pickle '<b>.pickle' && a/program trace_plot '<b>.pickle' && "
                     "grep '^<title>' '<b>.pickle.html'",
               0, "<b>.pickle.html\n<title>&lt;b&gt;.pickle \xc2\xb7 memviz</title>\n");
}

Test(viewer_page, without_memviz_html_nothing_is_converted_to_it)
{
    mvt_run r = mvt_sh(ALONE "a/program convert $SNAPS/gpt_train.pickle x.html; "
                             "test $? = 1 && test ! -e x.html");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_str_eq(r.err, "memviz: memviz.html is missing: scripts/web makes it "
                            "(docs/web.md)\n");
}
