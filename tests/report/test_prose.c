/* Reports on terminals: their width, their height, their sentences and colors. */

#include "cli/report/prose.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

/* Returns what `put` prints on a terminal of that width. */
static char *printed(uint32_t columns, void (*put)(mv_out *out))
{
    static mv_out out;
    const char *path = mvt_temp_file((mv_span){0});

    mvt_ok(mv_out_open(&out, path, mvt_err()));
    out.columns = columns;
    put(&out);
    mvt_ok(mv_out_close(&out, mvt_err()));
    return mvt_text(path);
}

static void put_sentence(mv_out *out)
{
    mv_out_text(out, "  -> ");
    mv_prose_put(out, 5, 5, "it keeps %s in blocks (%d %%) that strand others", "216 MiB", 34);
}

Test(prose, lines_end_between_words_but_not_before_units)
{
    char *text = printed(20, put_sentence);

    cr_expect_str_eq(text, "  -> it keeps\n     216 MiB in\n     blocks (34 %)\n"
                           "     that strand\n     others\n");
    text = printed(0, put_sentence);
    cr_expect_str_eq(text, "  -> it keeps 216 MiB in blocks (34 %) that strand others\n");
}

static void put_long_word(mv_out *out)
{
    mv_prose_put(out, 0, 2, "a %s b", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
}

Test(prose, long_words_stand_alone)
{
    char *text = printed(40, put_long_word);

    cr_expect_str_eq(text, "a\n  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n  b\n");
}

static void put_cut(mv_out *out)
{
    mv_prose_put_cut(out, 8, "train.py:62 forward");
    mv_out_char(out, '|');
    mv_prose_put_cut(out, 8, "train.py");
    mv_out_char(out, '|');
    mv_prose_put_cut(out, 5, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
}

Test(prose, cut_texts_are_marked)
{
    char *text = printed(0, put_cut);

    cr_expect_str_eq(text, "tr..y:62|train.py|\xc3\xa4\xc3\xa4..\xc3\xa4");
}

static void put_cut_calls(mv_out *out)
{
    static const uint32_t rooms[] = {40, 33, 30, 20, 6, 2, 0};

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        mv_prose_put_cut(out, rooms[i], "train.py:3 main > util.py:5 make > a.py:1 f");
        mv_out_char(out, '|');
    }
}

/* The parts that distinguish rows must be kept as long as possible. */
Test(prose, function_names_are_cut_before_lines)
{
    char *text = printed(0, put_cut_calls);

    cr_expect_str_eq(text,
                     "train.py:3 > util.py:5 make > a.py:1 f|train.py:3 > util.py:5 > a.py:1 f|"
                     "...py:3 > util.py:5 > a.py:1 f|..il.py:5 > a.py:1 f|..:1 f|..|..|");
}

/* Returns the number of characters in the longest line. These reports are ASCII. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;

    while (*text) {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static const char snapshots[] = MV_TESTDATA "/snapshots";

static const char *const reports[] = {
    "leaks", "peak",  "peak --at end --target 100MiB", "fragmentation", "oom",
    "lines", "stats", "diff gpt_train.pickle"};

static const char *const files[] = {"resnet_all.pickle",
                                    "frag_pinned_by_small.pickle",
                                    "compiled.pickle",
                                    "oom_fragmented.pickle",
                                    "gpt_train.pickle",
                                    "leak_in_training.pickle",
                                    "no_history.pickle",
                                    "eval_without_no_grad.pickle",
                                    "oom_outside.pickle",
                                    "graphs.pickle",
                                    "frag_varying_batch.pickle.zst"};

/* A word that is longer than a line, such as a path or a setting, cannot be wrapped. */
static bool is_one_word(const char *line, size_t length)
{
    size_t blank = strspn(line, " ");

    blank += strncmp(line + blank, "-> ", 3) == 0 ? 3 : 0;
    return memchr(line + blank, ' ', length - blank) == NULL;
}

static void expect_width(const char *text, uint32_t columns, const char *what)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        uint32_t width = (uint32_t)mv_utf8_count(line, length);
        cr_expect(width <= columns || is_one_word(line, length), "%s, %u columns: %.*s", what,
                  columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* Every report is printed at every width, on snapshots with long reports. */
LongTest(prose, no_line_is_wider_than_the_terminal)
{
    static const unsigned widths[] = {60, 80, 120, 200};
    static const char *const all[] = {
        "info leak_in_training.pickle",
        "stats graphs.pickle",
        "trace --limit 40 compiled.pickle",
        "trace --limit 40 streams.pickle",
        "leaks leak_in_training.pickle",
        "leaks --frames all resnet_all.pickle",
        "peak resnet_all.pickle",
        "peak --target 40MiB resnet_all.pickle",
        "peak --by annotation annotated.pickle",
        "lines resnet_all.pickle",
        "lines --source auto leak_in_training.pickle",
        "fragmentation frag_pinned_by_small.pickle",
        "fragmentation two_devices.pickle",
        "oom oom_fragmented.pickle",
        "oom oom_outside.pickle",
        "whatif gc_limit_off.pickle",
        "ranks no_leak_warmup.pickle leak_in_training.pickle gpt_train.pickle",
        "diff no_leak_warmup.pickle leak_in_training.pickle",
        "diff gc_limit_off.pickle gc_limit.pickle",
        "triage graphs.pickle",
        "ledger ../captures/fsdp.0.bin",
        "peak --level all ../captures/fsdp.0.bin",
        "leaks --level all ../captures/nccl_leak.0.bin",
        "leaks ../captures/plain_graph.bin",
        "oom ../captures/cupy_oom.bin",
        "memory resnet_all.pickle",
        "memory --by layer gpt_train.pickle",
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned w = 0; w < 4; w++) {
            mvt_run r = mvt_here_in(snapshots, "COLUMNS=%u $MEMVIZ %s -q", widths[w], all[i]);
            cr_expect_gt(r.out_length, 0, "%s: %s", all[i], r.err);
            if (strncmp(all[i], "triage", 6) != 0 || widths[w] > 60)
                expect_width(r.out, widths[w], all[i]);
        }
}

/* Sentences must fit narrow terminals, too. Those of peak and lines end with the name. */
LongTest(prose, verdicts_fit_forty_columns)
{
    static const char *const all[] = {
        "peak leak_in_training.pickle",      "peak --at end resnet_all.pickle",
        "peak --by layer gpt_train.pickle",  "lines leak_in_training.pickle",
        "lines resnet_all.pickle",           "peak state_only.pickle",
        "leaks leak_in_training.pickle",     "leaks frag_pinned_by_small.pickle",
        "leaks ../captures/plain_graph.bin", "fragmentation ../captures/plain_graph.bin",
        "fragmentation gpt_train.pickle",    "trace gpt_train.pickle",
        "info leak_in_training.pickle"};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("cd $SNAPS; COLUMNS=40 $MEMVIZ %s -q | head -3", all[i]);
        expect_width(r.out, 40, all[i]);
    }
    cr_expect(
        strstr(mvt_sh("cd $SNAPS; COLUMNS=40 $MEMVIZ %s -q", all[0]).out,
               "device 0: 257 MiB allocated at the peak;\n  23 % by\n  train.py:75 train_step, "));
}

/* At the smallest width, the line and the name that distinguish the rows must still be shown. */
LongTest(prose, the_name_of_a_row_is_kept)
{
    static const mvt_expected_run all[] = {
        {"peak $SNAPS/leak_in_training.pickle", 0, "optimizer_state  train.py:75 train_step\n", ""},
        {NULL, 0, "activation       train.py:62 forward\n", NULL},
        {"fragmentation $SNAPS/leak_in_training.pickle", 0, " train.py:75 train_step\n", ""},
        {"lines $SNAPS/gpt_train.pickle", 0, "train.py:62 forward\n", ""},
        {"whatif $SNAPS/frag_varying_batch.pickle.zst", 0, "roundup_power2_divisions:8\n", ""},
        {"stats $SNAPS/graphs.pickle", 0, "\n  large (0, 0) ", ""},
        {"ranks $SNAPS/no_leak_warmup.pickle $SNAPS/leak_in_training.pickle", 0,
         "\n  no_leak_warmup.pickle ", ""},
        {"info $SNAPS/leak_in_training.pickle", 0,
         "\n  device  events  with stack  reserved  allocated  history\n", ""},
        {"trace --limit 5 $SNAPS/leak_in_training.pickle", 0, "  train.py:72 train_step\n", ""},
        {"diff $SNAPS/no_leak_warmup.pickle $SNAPS/leak_in_training.pickle", 0,
         "  20.5 MiB  train.py:62 forward\n", ""},
        {"oom $SNAPS/oom_fragmented.pickle", 0, "  more.py:9 E\n", ""}};

    MVT_EXPECT_RUNS("COLUMNS=60 $MEMVIZ %s -q", all);
}

static void put_cut_places(mv_out *out)
{
    static const uint32_t rooms[] = {40, 30, 26, 20, 12, 9, 6};

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        mv_prose_put_cut(out, rooms[i], "a_module.py:1234 a_function_of_mine");
        mv_out_char(out, '|');
    }
    mv_prose_put_cut(out, 17, "backward of linear (AddmmBackward0)");
    mv_out_char(out, '|');
    mv_prose_put_end(out, 17, "expandable_segments:True,max_split_size_mb:128");
}

Test(prose, the_line_of_a_place_is_never_cut)
{
    cr_expect_str_eq(printed(0, put_cut_places),
                     "a_module.py:1234 a_function_of_mine|a_module.py:1234 a_fun..f_mine|"
                     "a_module.py:1234 a_f..mine|a_module.py:1234|a_m..py:1234|a..y:1234|..1234|"
                     "backward..kward0)|..lit_size_mb:128");
}

LongTest(prose, reports_fit_the_terminal)
{
    static const unsigned sizes[][2] = {{80, 24}, {120, 40}};

    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++)
            for (unsigned k = 0; k < sizeof files / sizeof *files; k++) {
                /* Paths cannot be wrapped, and the path to this folder may be longer than a
                 * line. */
                mvt_run r = mvt_here_in(snapshots, "COLUMNS=%u LINES=%u $MEMVIZ %s -q %s",
                                        sizes[s][0], sizes[s][1], reports[i], files[k]);
                uint32_t lines = mvt_count_lines(r.out);
                cr_expect_leq(longest_line(r.out), sizes[s][0], "%s %s:\n%s", reports[i], files[k],
                              r.out);
                /* Advice on a fragmented heap may take more than 24 lines. */
                cr_expect_leq(lines, s ? sizes[s][1] : 36, "%s %s: %u lines:\n%s", reports[i],
                              files[k], lines, r.out);
            }
}

Test(prose, rows_are_reported_by_limit_not_by_the_terminal)
{
    mvt_run few = mvt_sh("LINES=12 $MEMVIZ lines $SNAPS/gpt_train.pickle");
    mvt_run all = mvt_sh("LINES=12 $MEMVIZ lines --limit 0 $SNAPS/gpt_train.pickle");

    cr_expect_lt(mvt_count_lines(few.out), 12);
    cr_expect(strstr(few.out, "more; --limit 0 shows all"));
    cr_expect_eq(mvt_count_lines(all.out), 13);
    cr_expect_null(strstr(all.out, "--limit"));
}

/* script(1) gives the program a terminal. */
Test(prose, colors_are_for_terminals_only)
{
    static const struct {
        const char *before, *options;
        bool colored;
    } all[] = {{"", "", true},
               {"NO_COLOR=1 ", "", false},
               {"NO_COLOR=1 ", "--color always", true},
               {"TERM=dumb ", "", false},
               {"", "--color never", false}};
    mvt_run r = mvt_sh("TERM=xterm $MEMVIZ leaks $SNAPS/leak_cycle.pickle");

    cr_expect_null(strchr(r.out, '\033'));
    mvt_need_terminal();
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        r = mvt_sh("TERM=xterm script -qec \"%s$MEMVIZ leaks %s $SNAPS/leak_cycle.pickle\" log",
                   all[i].before, all[i].options);
        cr_expect(strstr(r.out, "LEAK"), "%s", r.out);
        cr_expect_eq(strchr(r.out, '\033') != NULL, all[i].colored, "%u: %s", i, r.out);
    }
}

/* Runs a command on a terminal of 24 lines, with `before` in front of the command. This pager marks
 * each line. */
static mvt_run on_terminal(const char *before, const char *arguments)
{
    return mvt_sh("cd $SNAPS; TERM=xterm LINES=24 COLUMNS=80 MEMVIZ_PAGER='sed s/^/@/' script -qec "
                  "\"%s$MEMVIZ %s\" $OLDPWD/log </dev/null",
                  before, arguments);
}

LongTest(prose, long_output_goes_to_the_pager_of_a_terminal)
{
    static const struct {
        const char *before, *arguments;
        int status;
        bool is_paged;
    } all[] = {
        {"", "trace --limit 30 gpt_train.pickle", 0, true},
        {"", "trace --limit 5 gpt_train.pickle", 0, false},
        {"", "trace --limit 0 gpt_train.pickle", 0, true}, /* more than the buffer */
        {"", "dump gpt_train.pickle", 0, true},
        {"", "trace --no-pager --limit 30 gpt_train.pickle", 0, false},
        {"", "trace --limit 30 gpt_train.pickle | cat", 0, false},
        {"TERM=dumb ", "trace --limit 30 gpt_train.pickle", 0, false},
        {"MEMVIZ_PAGER= ", "trace --limit 30 gpt_train.pickle", 0, false},
        {"MEMVIZ_PAGER=cat ", "trace --limit 30 gpt_train.pickle", 0, false},
        {"MEMVIZ_PAGER=nothing-like-it ", "trace --limit 30 gpt_train.pickle", 0, false},
        {"", "help peak", 0, true},
        {"", "leaks --frames all --fail-on leak leak_in_training.pickle", 3, true},
    };

    mvt_need_terminal();
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = on_terminal(all[i].before, all[i].arguments);
        cr_expect_eq(r.status, all[i].status, "%s: %d: %s%s", all[i].arguments, r.status, r.out,
                     r.err);
        cr_expect_eq(strchr(r.out, '@') != NULL && strstr(r.out, "\n@"), all[i].is_paged,
                     "%s%s:\n%s", all[i].before, all[i].arguments, r.out);
        cr_expect(strstr(r.out, "device 0") || strstr(r.out, "memviz"), "%s", r.out);
    }
}

/* Closing the pager is not a failure. */
Test(prose, a_pager_that_quits_is_not_a_failure)
{
    mvt_need_terminal();
    mvt_run r = on_terminal("MEMVIZ_PAGER='head -n 3' ", "trace --limit 0 gpt_train.pickle");
    cr_expect_eq(r.status, 0, "%d: %s%s", r.status, r.out, r.err);
    r = on_terminal("MEMVIZ_PAGER=false ", "trace --limit 0 gpt_train.pickle");
    cr_expect_eq(r.status, 0, "%d: %s%s", r.status, r.out, r.err);
}
