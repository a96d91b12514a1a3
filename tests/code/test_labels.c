/* Labels for the rows of one table: no two are equal, and they show where the rows differ. */
#include "analyze/code/labels.h"

#include "tests/fixture/fixture.h"

#define PACKAGE "/v/lib/python3.12/site-packages/"

/* Returns the rows of a trace with one allocation each. */
typedef struct {
    mvt_trace *t;
    uint32_t count;
    mv_labelled rows[64];
} table;

static void add(table *of, const char *stack, uint64_t bytes, uint32_t key)
{
    mvt_alloc(of->t, .addr = 0x1000 + 0x1000 * (uint64_t)of->count, .bytes = bytes, .stack = stack);
    of->rows[of->count++] = (mv_labelled){.bytes = bytes, .key = key};
}

static const char **labels_of(table *of, bool shows_inner)
{
    const mv_trace *trace = mvt_done(of->t);
    const uint8_t *kinds = mv_frame_kinds(mvt_arena(of->t), trace);

    for (uint32_t i = 0; i < of->count; i++) {
        of->rows[i].trace = trace;
        of->rows[i].kinds = kinds;
        of->rows[i].stack = mv_trace_events(trace, 0).stack[i];
    }
    const char **labels = mv_labels_find(mvt_arena(of->t), of->rows, of->count, shows_inner);
    cr_assert(labels);
    return labels;
}

static void expect(table *of, bool shows_inner, const char *const *want)
{
    const char **labels = labels_of(of, shows_inner);

    for (uint32_t i = 0; i < of->count; i++)
        cr_expect_str_eq(labels[i], want[i]);
}

Test(labels, rows_that_differ_keep_their_short_labels)
{
    table t = {.t = mvt_new()};

    add(&t, "f:" PACKAGE "timm/a.py:1;run:train.py:5", 512, 0);
    add(&t, "f:" PACKAGE "timm/a.py:1;run:train.py:6", 512, 0);
    add(&t, NULL, 512, 0);
    expect(&t, false, (const char *[]){"train.py:5 run", "train.py:6 run", "(no stack)"});
}

Test(labels, the_inner_line_of_a_package_distinguishes_rows)
{
    table t = {.t = mvt_new()};

    add(&t, "f:" PACKAGE "timm/a.py:1;g:" PACKAGE "timm/m.py:9;run:train.py:5", 512, 0);
    add(&t, "f:" PACKAGE "timm/b.py:2;g:" PACKAGE "timm/m.py:9;run:train.py:5", 512, 0);
    add(&t, "g:" PACKAGE "timm/m.py:9;run:train.py:5", 512, 0);
    add(&t, "run:train.py:5", 512, 0);
    expect(&t, false,
           (const char *[]){"train.py:5 run > a.py:1 f", "train.py:5 run > b.py:2 f",
                            "train.py:5 run > m.py:9 g", "train.py:5 run"});
}

Test(labels, the_caller_of_a_helper_distinguishes_rows)
{
    table t = {.t = mvt_new()};

    add(&t, "make:util.py:5;main:train.py:3", 512, 0);
    add(&t, "make:util.py:5;main:train.py:9", 512, 0);
    expect(
        &t, false,
        (const char *[]){"train.py:3 main > util.py:5 make", "train.py:9 main > util.py:5 make"});
}

/* The stacks differ in two frames, so two frames are added. */
Test(labels, labels_have_as_many_frames_as_needed)
{
    table t = {.t = mvt_new()};

    add(&t, "f:" PACKAGE "timm/a.py:1;make:util.py:5;main:train.py:3", 512, 0);
    add(&t, "f:" PACKAGE "timm/a.py:2;make:util.py:5;main:train.py:3", 512, 0);
    add(&t, "f:" PACKAGE "timm/a.py:1;make:util.py:5;main:train.py:9", 512, 0);
    add(&t, "f:" PACKAGE "timm/a.py:2;make:util.py:5;main:train.py:9", 512, 0);
    expect(&t, false,
           (const char *[]){"train.py:3 main > util.py:5 make > a.py:1 f",
                            "train.py:3 main > util.py:5 make > a.py:2 f",
                            "train.py:9 main > util.py:5 make > a.py:1 f",
                            "train.py:9 main > util.py:5 make > a.py:2 f"});
}

Test(labels, files_of_one_name_have_folders)
{
    table t = {.t = mvt_new()};

    add(&t, "run:/w/x/net/model.py:7", 512, 0);
    add(&t, "run:/w/y/net/model.py:7", 512, 0);
    add(&t, "run:/w/y/tail/model.py:7", 512, 0);
    expect(
        &t, false,
        (const char *[]){"x/net/model.py:7 run", "y/net/model.py:7 run", "y/tail/model.py:7 run"});
}

Test(labels, another_column_distinguishes_rows)
{
    table t = {.t = mvt_new()};

    add(&t, "run:train.py:5", 512, 1);
    add(&t, "run:train.py:5", 1024, 2);
    expect(&t, false, (const char *[]){"train.py:5 run", "train.py:5 run"});
}

Test(labels, the_last_resort_is_the_size_and_a_number)
{
    table t = {.t = mvt_new()};

    add(&t, "run:train.py:5", 512, 0);
    add(&t, "run:train.py:5", 1024, 0);
    add(&t, "run:train.py:5", 1024, 0);
    add(&t, NULL, 512, 0);
    add(&t, NULL, 512, 0);
    expect(&t, false,
           (const char *[]){"train.py:5 run (512 B)", "train.py:5 run (1.00 KiB)",
                            "train.py:5 run (1.00 KiB) #2", "(no stack)", "(no stack) #2"});
}

Test(labels, native_stacks_are_distinguished_too)
{
    table t = {.t = mvt_new()};

    add(&t, "at::native::mm(long):??:0;Net::forward(int):n.cpp:0;main:??:0", 512, 0);
    add(&t, "at::native::relu(long):??:0;Net::forward(int):n.cpp:0;main:??:0", 512, 0);
    add(&t, "at::native::mm(long):??:0;Net::forward(int):n.cpp:0;eval(int):??:0;main:??:0", 512, 0);
    expect(&t, false,
           (const char *[]){"main > Net::forward > at::native::mm",
                            "main > Net::forward > at::native::relu", "eval > Net::forward"});
}

/* Whatever the stacks are, different stacks have different labels, and each label contains the
 * culprit. */
LongTest(labels, random_tables_have_no_two_equal_rows)
{
    static const char *const inner[] = {"a:" PACKAGE "timm/a.py:1;", "b:" PACKAGE "timm/b.py:1;",
                                        "", "c:" PACKAGE "torch/nn/c.py:4;"};
    static const char *const outer[] = {";main:train.py:3", ";main:train.py:4", "",
                                        ";d:x/util.py:5;main:train.py:3"};
    uint64_t seed = 7;

    for (int round = 0; round < 200; round++) {
        table t = {.t = mvt_new()};

        for (int i = 0; i < 40; i++) {
            const char *stack = mvt_format(
                "%s%smake:util.py:%u%s%s", inner[mvt_random(&seed, 4)], inner[mvt_random(&seed, 4)],
                1 + mvt_random(&seed, 2), outer[mvt_random(&seed, 4)], outer[mvt_random(&seed, 4)]);
            add(&t, stack, 512 * (1 + mvt_random(&seed, 4)), 0);
        }
        const char **labels = labels_of(&t, round % 2);
        for (uint32_t i = 0; i < t.count; i++) {
            char culprit[128];
            mv_culprit_label(t.rows[i].trace, t.rows[i].kinds, t.rows[i].stack, culprit,
                             sizeof culprit);
            cr_expect(strstr(labels[i], culprit), "%s: %s", labels[i], culprit);
            for (uint32_t k = 0; k < i; k++)
                cr_expect_str_neq(labels[i], labels[k]);
        }
    }
}
