/* A picture of the difference between two recordings. Its sums must equal the report's, and its
 * texts must be legible. */
#include "analyze/flame/flame_change.h"
#include "base/size.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "view/paper/paper.h"

typedef struct {
    mv_arena *arena;
    mv_trace trace[2];
    mv_lives lives[2];
    mv_diff_code code;
    mv_diff found;
    mv_flame_tree tree;
} change;

static void open_change(change *c, const char *before, const char *after)
{
    const char *const names[2] = {before, after};
    mv_diff_sides sides = {0};

    c->arena = mvt_memory();
    for (int s = 0; s < 2; s++) {
        c->trace[s] = mvt_load(c->arena, names[s]);
        c->lives[s] = mvt_lives(c->arena, &c->trace[s], 0);
        mv_window all = (mv_window){0, mv_trace_events(&c->trace[s], 0).count};
        sides.lives[s] = &c->lives[s];
        sides.reserved[s] = (mv_moment_query){.kind = MV_MOMENT_PEAK, .window = all};
        mvt_ok(
            mv_moment_find(c->arena, &c->lives[s], sides.reserved[s], &sides.moment[s], mvt_err()));
    }
    mvt_ok(mv_diff_code_find(c->arena, &c->trace[0], &c->trace[1], &c->code, mvt_err()));
    mvt_ok(mv_diff_find(c->arena, &c->code, &sides, &c->found, mvt_err()));
    mvt_ok(mv_flame_change_find(c->arena, &c->code, &c->found, false, (mv_flame_tree_opts){0},
                                &c->tree, mvt_err()));
}

Test(change_icicle, a_picture_shows_the_change_legibly)
{
    static const char *const pairs[][2] = {{"leak_in_training", "gpt_train"},
                                           {"gpt_train", "leak_in_training"},
                                           {"mlp_train", "oom"},
                                           {"gpt_train", "gpt_train"}};
    static const uint32_t widths[] = {400, 800, 1400, 3840};

    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        change c;
        open_change(&c, pairs[i][0], pairs[i][1]);
        for (uint32_t k = 0; k < 8; k++) {
            mv_paper_opts opts = {.width = widths[k / 2],
                                  .is_dark = k % 2,
                                  .title = pairs[i][1],
                                  .what = "what changed"};
            char change_text[MV_SIZE_TEXT];
            mv_paper paper;
            opts.flame = &c.tree;
            mvt_ok(mv_paper_find(c.arena, NULL, NULL, &mv_paper_change, &opts, &paper, mvt_err()));
            mvt_scene_check(&paper.scene, pairs[i][0]);
            mv_size_change_text(change_text, c.found.delta);
            cr_assert(mvt_scene_says(&paper.scene, c.found.count ? change_text : "nothing changed"),
                      "%s at %u: no %s", pairs[i][0], opts.width, change_text);
        }
    }
}

/* A height limit removes the deepest rows, and nothing may leave the picture. */
Test(change_icicle, a_picture_fits_its_height)
{
    change c;
    mv_paper paper;

    open_change(&c, "leak_in_training", "gpt_train");
    mvt_ok(mv_paper_find(
        c.arena, NULL, NULL, &mv_paper_change,
        &(mv_paper_opts){.width = 800, .height = 360, .title = "a", .what = "b", .flame = &c.tree},
        &paper, mvt_err()));
    cr_assert_eq((int)paper.scene.height, 360);
    mvt_scene_check(&paper.scene, "cut");
}

/* One line for each stack that changed. The bytes after minus the bytes before must add up to the
 * report's figure. */
Test(change_icicle, the_command_writes_folded_differences)
{
    cJSON *report =
        mvt_json(0, "$MEMVIZ diff --json $SNAPS/leak_in_training.pickle $SNAPS/gpt_train.pickle");

    mvt_prints("$MEMVIZ diff -q $SNAPS/leak_in_training.pickle $SNAPS/gpt_train.pickle "
               "-o x.folded && awk '{d += $NF - $(NF-1); if ($NF == $(NF-1)) same++} "
               "END {print d, (NR > 1), same + 0}' x.folded",
               0, mvt_format("%.0f 1 0\n", mvt_json_number(report, "delta")));
}

/* Checks the form that flamegraph.pl parses from the end of a line: frames that contain no ';', a
 * blank, bytes before, a blank, bytes after. */
static void expect_lines(const char *text, const char *what)
{
    uint32_t lines = 0;

    for (const char *at = text; *at; at += strcspn(at, "\n") + 1, lines++) {
        size_t length = strcspn(at, "\n"), digits = length;
        cr_expect_eq(at[length], '\n', "%s: its end", what);
        for (int column = 0; column < 2; column++) {
            size_t end = digits;
            while (digits > 0 && at[digits - 1] >= '0' && at[digits - 1] <= '9')
                digits--;
            cr_expect(digits < end && digits > 1 && at[digits - 1] == ' ', "%s: %.*s", what,
                      (int)length, at);
            digits--;
        }
        for (size_t i = 0; i < digits; i++)
            cr_expect((unsigned char)at[i] >= ' ' && (at[i] != ';' || (i && at[i + 1] != ';')),
                      "%s: %.*s", what, (int)length, at);
        cr_expect(at[0] != ';' && at[digits - 1] != ';', "%s: %.*s", what, (int)length, at);
    }
    cr_expect_gt(lines, 0, "%s", what);
}

Test(change_icicle, folded_differences_are_readable_by_flame_graph_tools)
{
    static const char *const pairs[] = {"$SNAPS/leak_in_training.pickle $SNAPS/gpt_train.pickle",
                                        "$SNAPS/two_devices.pickle $SNAPS/gpt_train.pickle",
                                        "$SNAPS/state_only.pickle $SNAPS/graphs.pickle",
                                        "$SNAPS/no_history.pickle $SNAPS/oom.pickle"};
    mvt_trace *odd[2];
    const char *files[2];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        mvt_run r = mvt_sh("$MEMVIZ diff -q %s -o x.folded && cat x.folded", pairs[i]);
        cr_expect_eq(r.status, 0, "%s", r.err);
        expect_lines(r.out, pairs[i]);
    }
    for (int i = 0; i < 2; i++) {
        odd[i] = mvt_new();
        mvt_segment_alloc(odd[i], .addr = 0x10000000, .bytes = 64 << 20);
        for (uint32_t k = 0; k < 3; k++) {
            static const char *const stacks[] = {"f 12:a.py:3;operator|:b c.py:4", "",
                                                 "tab\there:a\nb.py:9"};
            mvt_alloc(odd[i], .addr = 0x10000000 + (k << 22), .bytes = (1u + k * i) << 20,
                      .stack = stacks[k]);
        }
        mvt_final_heap(odd[i]);
        files[i] = mvt_temp_file(mvt_snapshot_bytes(odd[i]));
    }
    expect_lines(
        mvt_sh("$MEMVIZ diff -q %s %s -o x.folded && cat x.folded", files[0], files[1]).out, "odd");
}

LongTest(change_icicle, the_command_draws_the_difference)
{
    mvt_run r =
        mvt_sh("$MEMVIZ diff -q $SNAPS/leak_in_training.pickle $SNAPS/gpt_train.pickle -o x.svg && "
               "grep -c '926 MiB' x.svg && $MEMVIZ diff -q $SNAPS/leak_in_training.pickle "
               "$SNAPS/gpt_train.pickle -o x.png --size 800x600 && head -c 4 x.png | tail -c 3");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert(strstr(r.out, "PNG"), "%s", r.out);
    cr_assert_eq(mvt_here_or_sh(
                     "$MEMVIZ diff -q --device 0 $SNAPS/two_devices.pickle $SNAPS/gpt_train.pickle "
                     "-o x.svg")
                     .status,
                 0);
    r = mvt_sh("$MEMVIZ diff -q $SNAPS/two_devices.pickle $SNAPS/gpt_train.pickle -o x.svg; ls");
    cr_assert(strstr(r.err, "--device"), "%s", r.err);
    cr_assert(!strstr(r.out, "x.svg"), "%s", r.out);
    mvt_json(0, "$MEMVIZ diff --json $SNAPS/mlp_train.pickle $SNAPS/oom.pickle");
}
