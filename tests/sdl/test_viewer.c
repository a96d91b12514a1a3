/* memviz view as a program: without a window, without SDL, with wrong options. tests/window.sh
 * tests the window itself. */
#include <png.h>

#include "tests/fixture/fixture_json.h"

static const char *one_line(const mvt_run *r)
{
    const char *end = strchr(r->err, '\n');

    cr_expect(end && end[1] == 0, "one line: %s", r->err);
    return r->err;
}

/* ---- without SDL ------------------------------------------------------------------------- */

static void check_says_how(const char *command, const char *how)
{
    mvt_run r = mvt_sh("%s", command);

    cr_expect_eq(r.status, 1, "%s: %d", command, r.status);
    cr_expect_str_empty(r.out);
    cr_expect(strstr(one_line(&r), how), "%s: %s", command, r.err);
}

LongTest(viewer, built_without_sdl_names_the_package)
{
    check_says_how(MV_PROGRAM_WITHOUT_SDL " view $SNAPS/gpt_train.pickle",
                   "built without SDL2: install libsdl2-dev");
    mvt_run r = mvt_sh(MV_PROGRAM_WITHOUT_SDL
                       " info $SNAPS/gpt_train.pickle && " MV_PROGRAM_WITHOUT_SDL
                       " view --help && " MV_PROGRAM_WITHOUT_SDL
                       " view --headless --shot x.png $SNAPS/gpt_train.pickle && test -s x.png");
    cr_expect_eq(r.status, 0, "%s", r.err);
}

/* A file that is not a library replaces a missing one. */
Test(viewer, without_the_library_names_the_package)
{
    check_says_how("mkdir none && : >none/libSDL2-2.0.so.0 && "
                   "LD_LIBRARY_PATH=$PWD/none $MEMVIZ view $SNAPS/gpt_train.pickle",
                   "apt-get install libsdl2-2.0-0");
}

Test(viewer, without_a_display_is_reported)
{
    check_says_how("env -u DISPLAY -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER "
                   "XDG_RUNTIME_DIR=$PWD $MEMVIZ view $SNAPS/gpt_train.pickle",
                   "no display for a window (--headless needs none)");
}

Test(viewer, a_missing_file_is_named_before_a_missing_display)
{
    mvt_run r = mvt_sh("env -u DISPLAY -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER XDG_RUNTIME_DIR=$PWD "
                       "$MEMVIZ view $SNAPS/gpt_train.pickle nosuch.bin");

    cr_expect_eq(r.status, 1);
    cr_expect_str_eq(one_line(&r), "memviz: nosuch.bin: No such file or directory\n");
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
    png_image png = {.version = PNG_IMAGE_VERSION};
    uint32_t *pixels, others = 0;

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(r.out, "shot.png\n");
    cr_assert(png_image_begin_read_from_memory(&png, r.err, r.err_length));
    cr_assert(png.width == 900 && png.height == 700);
    png.format = PNG_FORMAT_RGBA;
    pixels = malloc(PNG_IMAGE_SIZE(png));
    cr_assert(png_image_finish_read(&png, NULL, pixels, 0, NULL));
    for (uint32_t i = 0; i < png.width * png.height; i++)
        others += pixels[i] != pixels[0];
    cr_expect_gt(others, 1000);
    free(pixels);
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

static void check_refusal(const char *command, int status, const char *why)
{
    mvt_run r = mvt_sh("%s", command);

    cr_expect_eq(r.status, status, "%s: %d, %s", command, r.status, r.err);
    cr_expect(strstr(one_line(&r), why), "%s: %s", command, r.err);
}

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
    check_refusal("$MEMVIZ view --headless --shot x.png missing.pickle", 1, "missing.pickle: ");
    check_refusal("$MEMVIZ view --headless --shot x.png $SNAPS/gpt_train.pickle missing.pickle", 1,
                  "missing.pickle: ");
    check_refusal("echo 1 >n && $MEMVIZ view --headless --bench panzoom --frames 2 "
                  "$SNAPS/gpt_train.pickle n",
                  1, "n: byte 0: not a format that memviz reads");
    check_refusal("head -c 3000 $SNAPS/gpt_train.pickle >cut && "
                  "$MEMVIZ view --headless --shot x.png cut",
                  1, "memviz: cut: byte ");
    check_refusal("$MEMVIZ view --headless", 2, "expected FILE");
    check_refusal("$MEMVIZ view --headless $SNAPS/graphs.pickle", 2, "needs --shot X.png");
    check_refusal("$MEMVIZ view --headless --shot x.jpg $SNAPS/graphs.pickle", 2,
                  "must end in .png");
    check_refusal("$MEMVIZ view --bench panzoom x", 2, "need --headless");
    check_refusal("$MEMVIZ view --headless --bench walk x", 2, "one of: panzoom");
    check_refusal("$MEMVIZ view --headless --bench panzoom --frames 0 x", 2, "--frames 0");
    check_refusal("$MEMVIZ view --headless --script missing.vzs x", 1, "missing.vzs: ");
    check_refusal("$MEMVIZ view --headless --device 7 --shot x.png $SNAPS/gpt_train.pickle", 1,
                  "gpt_train.pickle: no device 7; the file contains device 0 alone");
    check_refusal("$MEMVIZ view --scale 9 x", 2, "--scale 9: expected FACTOR");
    check_refusal("$MEMVIZ view --mem lots x", 2, "--mem lots: expected SIZE");
    check_refusal("$MEMVIZ view - x", 2, "standard input must be the only file");
    check_refusal("$MEMVIZ view --headless --shot /nowhere/x.png $SNAPS/gpt_train.pickle", 1,
                  "/nowhere/x.png");
}
