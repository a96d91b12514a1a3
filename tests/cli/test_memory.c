/* memviz memory as a tree in text: the sums of its rows, the omitted branches, and its width. */
#include "base/utf8.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_csv.h"
#include "tests/fixture/fixture_json.h"

/* Checks that no row of the tree is larger than its caller, and that each caller has at least the
 * bytes of the rows below it. */
static void expect_tree(const cJSON *tree, double all)
{
    double above[400], below[400] = {0};
    const cJSON *row;
    int last = -1;

    cJSON_ArrayForEach(row, tree) {
        int depth = (int)mvt_json_number(row, "depth");
        double bytes = mvt_json_number(row, "bytes");
        cr_assert(depth >= 0 && depth <= last + 1 && depth < 400, "%d after %d", depth, last);
        if (depth == 0)
            cr_expect_eq(bytes, all);
        else
            below[depth - 1] += bytes;
        cr_expect(depth == 0 || below[depth - 1] <= above[depth - 1]);
        above[depth] = bytes;
        below[depth] = 0;
        last = depth;
    }
    cr_expect_gt(last, 0);
}

LongTest(memory, the_tree_equals_allocated_bytes)
{
    static const char *const names[] = {"gpt_train", "two_devices", "resnet_all", "annotated"};
    static const char *const at[] = {"peak", "end", "40"};

    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < 3; k++) {
            const cJSON *json =
                mvt_json_here(0, "$MEMVIZ memory --json --frames %s --at %s $SNAPS/%s.pickle",
                              k ? "user" : "all", at[k], names[i]);
            const cJSON *device;
            cJSON_ArrayForEach(device, mvt_member(json, "devices"))
                expect_tree(mvt_member(device, "tree"), mvt_json_number(device, "at.allocated"));
        }
}

Test(memory, csv_has_the_rows_of_json)
{
    const cJSON *json = mvt_json_here(0, "$MEMVIZ memory --json $SNAPS/gpt_train.pickle"), *row;
    mvt_run csv = mvt_here("$MEMVIZ memory --csv $SNAPS/gpt_train.pickle");
    char *cell[8], *rest = csv.out;

    cr_assert_eq(mvt_csv_record(&rest, cell, 8), 6);
    cJSON_ArrayForEach(row, mvt_member(json, "devices.0.tree")) {
        cr_assert_eq(mvt_csv_record(&rest, cell, 8), 6);
        cr_expect_eq(strtod(cell[1], NULL), mvt_json_number(row, "bytes"));
        cr_expect_str_eq(cell[5], mvt_json_text(row, "frame"));
    }
    cr_expect_str_empty(rest);
}

static uint32_t rows_in(const char *text)
{
    uint32_t rows = 0;

    for (const char *at = strstr(text, "\n\n") + 2; (at = strstr(at, " % ")); at++)
        rows++;
    return rows;
}

Test(memory, limit_and_depth_omit_small_and_deep_rows)
{
    mvt_run all = mvt_here("$MEMVIZ memory --at peak --limit 0 $SNAPS/gpt_train.pickle");
    mvt_run usual = mvt_here("$MEMVIZ memory --at peak $SNAPS/gpt_train.pickle");
    mvt_run four = mvt_here("$MEMVIZ memory --at peak --limit 4 $SNAPS/gpt_train.pickle");
    mvt_run flat = mvt_here("$MEMVIZ memory --depth 1 $SNAPS/gpt_train.pickle");

    cr_expect_lt(rows_in(usual.out), rows_in(all.out));
    cr_expect_eq(rows_in(four.out), 4);
    const char *hidden = mvt_format("  %u more; --limit 0 shows all\n", rows_in(all.out) - 4);
    cr_expect_not_null(strstr(four.out, hidden), "%s", four.out);
    cr_expect_null(strstr(all.out, "more;"));
    cr_expect_null(strstr(flat.out, "      train.py"), "%s", flat.out);
    cr_expect_not_null(strstr(flat.out, "    train.py:240 <module>"), "%s", flat.out);
}

/* At any width, every row shows its figures and its line's name. */
Test(memory, the_tree_fits_the_terminal)
{
    static const unsigned widths[] = {60, 80, 120, 200};

    for (unsigned i = 0; i < 4; i++) {
        mvt_run r = mvt_sh("COLUMNS=%u $MEMVIZ memory --at peak --limit 0 $SNAPS/gpt_train.pickle",
                           widths[i]);
        for (char *line = r.out, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            cr_expect_leq(mv_utf8_count(line, strlen(line)), widths[i], "%s", line);
            cr_expect(!strstr(line, " % ") || strstr(line, ".py:") || strstr(line, "all") ||
                          strstr(line, "backward pass"),
                      "%u: %s", widths[i], line);
        }
    }
}

Test(memory, a_filter_leaves_a_smaller_tree)
{
    const cJSON *json = mvt_json_here(
        0, "$MEMVIZ memory --json --at peak --filter site:train.py:62 $SNAPS/gpt_train.pickle");

    /* These must be the same bytes that `peak` charges to that line. */
    cr_expect_eq(mvt_json_number(json, "devices.0.bytes"), 335675392);
}

Test(memory, colours_follow_the_general_rules)
{
    cr_expect_null(strchr(mvt_here("$MEMVIZ memory $SNAPS/mlp_train.pickle").out, 033));
    cr_expect_not_null(
        strchr(mvt_here("$MEMVIZ memory --color always $SNAPS/mlp_train.pickle").out, 033));
}

Test(memory, options_of_the_text_and_of_pictures_are_distinguished)
{
    static const mvt_expected_run all[] = {
        {"--depth 2 -o x.svg", 2, NULL, "cannot be combined with -o"},
        {"--limit 2 -o x.folded", 2, NULL, "cannot be combined with -o"},
        {"--csv --table devices.tree -o x.svg", 2, NULL, "cannot be combined with -o"},
        {"--theme dark", 2, NULL, "--theme applies to pictures"},
        {"--depth x", 2, NULL, "--depth x: expected N"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ memory %s $SNAPS/oom.pickle; s=$?; ls; exit $s", all);
}
