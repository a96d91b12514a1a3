/* memviz view as a program: without a window, without SDL, with wrong options.
 * tests/programs/drive_window.py tests the window itself. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"
#include "tests/scene/fixture_png.h"

/* ---- without SDL ------------------------------------------------------------------------- */

LongTest(viewer, built_without_sdl_names_the_package)
{
    static const mvt_expected_run all[] = {
        {" view $SNAPS/gpt_train.pickle", 1, NULL, "built without SDL2: install libsdl2-dev"}};

    MVT_EXPECT_RUNS(MV_PROGRAM_WITHOUT_SDL "%s", all);
    mvt_run r = mvt_sh(MV_PROGRAM_WITHOUT_SDL
                       " info $SNAPS/gpt_train.pickle && " MV_PROGRAM_WITHOUT_SDL
                       " view --help && " MV_PROGRAM_WITHOUT_SDL
                       " view --headless --shot x.png $SNAPS/gpt_train.pickle && test -s x.png");
    cr_expect_eq(r.status, 0, "%s", r.err);
}

#define NO_DISPLAY "env -u DISPLAY -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER XDG_RUNTIME_DIR=$PWD "

Test(viewer, what_a_window_lacks_is_named)
{
    static const mvt_expected_run all[] = {
        /* A file that is not a library replaces a missing one. */
        {"mkdir none && : >none/libSDL2-2.0.so.0 && LD_LIBRARY_PATH=$PWD/none $MEMVIZ view "
         "$SNAPS/gpt_train.pickle",
         1, NULL, "apt-get install libsdl2-2.0-0"},
        {NO_DISPLAY "$MEMVIZ view $SNAPS/gpt_train.pickle", 1, NULL,
         "no display for a window (--headless needs none)"},
        /* A missing file is named before a missing display. */
        {NO_DISPLAY "$MEMVIZ view $SNAPS/gpt_train.pickle nosuch.bin", 1, NULL,
         "memviz: nosuch.bin: No such file or directory\n"}};

    MVT_EXPECT_RUNS("%s", all);
}

/* ---- without a window -------------------------------------------------------------------- */

static const char fields[] = "first_frame_ms index_ms p50_ms p90_ms p99_ms max_ms frames events "
                             "rss_bytes";

LongTest(viewer, bench_prints_the_columns_for_scripts)
{
    cJSON *json = mvt_json(0, "$MEMVIZ view --headless --renderer software --size 800x600 --bench "
                              "panzoom --frames 60 --json $SNAPS/gpt_train.pickle");

    mvt_json_has(json, fields);
    double p50 = mvt_json_number(json, "p50_ms");
    double p90 = mvt_json_number(json, "p90_ms");
    double p99 = mvt_json_number(json, "p99_ms");
    double max = mvt_json_number(json, "max_ms");
    cr_expect(0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= max);
    cr_expect_eq(mvt_json_number(json, "frames"), 60);
    cr_expect_eq(mvt_json_number(json, "events"), 6562);
    cr_expect_gt(mvt_json_number(json, "rss_bytes"), 1e6);
    cr_expect_gt(mvt_json_number(json, "first_frame_ms"), 0);
    cr_expect_geq(mvt_json_number(json, "index_ms"), 0);
}

LongTest(viewer, bench_prints_text)
{
    mvt_run r = mvt_sh("$MEMVIZ view --headless --bench panzoom --frames 20 --size 640x400 "
                       "$SNAPS/gpt_train.pickle");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "timeline after") && strstr(r.out, "20 frames: half within") &&
                  strstr(r.out, "6562 events"),
              "%s", r.out);
}

LongTest(viewer, a_shot_has_its_size_and_shows_something)
{
    mvt_run r = mvt_sh("$MEMVIZ view --headless --shot shot.png --size 900x700 --theme dark "
                       "$SNAPS/leak_in_training.pickle && cat shot.png >&2");
    uint32_t others = 0;

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(r.out, "shot.png\n");
    mv_image png = mvt_png_read(mvt_temp_file((mv_span){(const uint8_t *)r.err, r.err_length}));
    cr_assert(png.width == 900 && png.height == 700);
    for (uint32_t i = 0; i < png.width * png.height; i++)
        others += memcmp(png.pixels + 4 * (uint64_t)i, png.pixels, 4) != 0;
    cr_expect_gt(others, 1000);
}

LongTest(viewer, scripts_run_and_name_the_failing_line)
{
    mvt_run r = mvt_sh("printf 'open '$SNAPS'/gpt_train.pickle\nwait idle\nkey Shift+P\n"
                       "expect text train.py\nshot a.png\nsize 700 500\nshot b.png\n' >good && "
                       "$MEMVIZ view --headless --script good && ls *.png && "
                       "printf '# none\nexpect text wombat\n' >bad && "
                       "$MEMVIZ view --headless --script bad $SNAPS/gpt_train.pickle");

    cr_expect_eq(r.status, 1);
    cr_expect_str_eq(r.out, "a.png\nb.png\n");
    cr_expect_str_eq(r.err, "memviz: bad: line 2: no text contains \"wombat\"\n");
}

/* ---- wrong usage, wrong files ------------------------------------------------------------ */

/* The script that the manual shows. */
LongTest(viewer, manual_has_a_script_that_runs)
{
    mvt_run r = mvt_sh("cp $SNAPS/frag_pinned_by_small.pickle .;"
                       "sed -n '/^    open /,/^    shot /s/^    //p' '" MV_SOURCE_DIR
                       "/docs/viewer.md' >s; test -s s && $MEMVIZ view --headless --script s && "
                       "test -s reports.png");

    cr_expect_eq(r.status, 0, "%s", r.err);
}

LongTest(viewer, wrong_options_are_refused)
{
    static const mvt_expected_run all[] = {
        {"--headless --shot x.png missing.pickle", 1, NULL, "missing.pickle: "},
        {"--headless --shot x.png $SNAPS/gpt_train.pickle missing.pickle", 1, NULL,
         "missing.pickle: "},
        {"--headless --bench panzoom --frames 2 $SNAPS/gpt_train.pickle one", 1, NULL,
         "one: byte 0: not a format that memviz reads"},
        {"--headless --shot x.png cut", 1, NULL, "memviz: cut: byte "},
        {"--headless", 2, NULL, "expected FILE"},
        {"--headless $SNAPS/graphs.pickle", 2, NULL, "needs --shot X.png"},
        {"--headless --shot x.jpg $SNAPS/graphs.pickle", 2, NULL, "must end in .png"},
        {"--bench panzoom x", 2, NULL, "need --headless"},
        {"--headless --bench walk x", 2, NULL, "one of: panzoom"},
        {"--headless --bench panzoom --frames 0 x", 2, NULL, "--frames 0"},
        {"--headless --script missing.vzs x", 1, NULL, "missing.vzs: "},
        {"--headless --device 7 --shot x.png $SNAPS/gpt_train.pickle", 1, NULL,
         "gpt_train.pickle: no device 7; the file contains device 0 alone"},
        {"--scale 9 x", 2, NULL, "--scale 9: expected FACTOR"},
        {"--mem lots x", 2, NULL, "--mem lots: expected SIZE"},
        {"- x", 2, NULL, "standard input must be the only file"},
        {"--headless --shot /nowhere/x.png $SNAPS/gpt_train.pickle", 1, NULL, "/nowhere/x.png"}};

    MVT_EXPECT_RUNS("echo 1 >one; head -c 3000 $SNAPS/gpt_train.pickle >cut; $MEMVIZ view %s", all);
}
