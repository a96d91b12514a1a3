/* Labels for the rows of one table: no two are equal, and they show where the rows differ. */
#include "analyze/code/labels.h"

#include "tests/fixture/fixture.h"

#define PACKAGE "/v/lib/python3.12/site-packages/"

typedef struct {
    const char *stack, *label;
    uint64_t bytes;
    uint32_t key;
} allocation;

/* Makes `rows` those of a trace with these allocations. */
static const char **labels_of(mv_labelled *rows, const allocation *made, uint32_t count,
                              bool shows_inner)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < count; i++)
        mvt_alloc(t, .addr = 0x1000 + 0x1000 * (uint64_t)i, .bytes = made[i].bytes,
                  .stack = made[i].stack);
    const mv_trace *trace = mvt_done(t);
    mv_events events = mv_trace_events(trace, 0);
    const uint8_t *kinds = mv_frame_kinds(mvt_arena(t), trace);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (mv_labelled){.trace = trace,
                                .kinds = kinds,
                                .stack = events.stack[i],
                                .bytes = events.size[i],
                                .key = made[i].key};
    const char **labels = mv_labels_find(mvt_arena(t), rows, count, shows_inner);
    cr_assert(labels);
    return labels;
}

static void expect(const allocation *made)
{
    mv_labelled rows[8];
    uint32_t count = 0;

    while (made[count].label)
        count++;
    const char **labels = labels_of(rows, made, count, false);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_str_eq(labels[i], made[i].label);
}

#define EXPECT(...) expect((const allocation[]){__VA_ARGS__, {0}})

Test(labels, rows_that_differ_keep_their_short_labels)
{
    EXPECT({"f:" PACKAGE "timm/a.py:1;run:train.py:5", "train.py:5 run", 512, 0},
           {"f:" PACKAGE "timm/a.py:1;run:train.py:6", "train.py:6 run", 512, 0},
           {NULL, "(no stack)", 512, 0});
}

Test(labels, the_inner_line_of_a_package_distinguishes_rows)
{
    EXPECT({"f:" PACKAGE "timm/a.py:1;g:" PACKAGE "timm/m.py:9;run:train.py:5",
            "train.py:5 run > a.py:1 f", 512, 0},
           {"f:" PACKAGE "timm/b.py:2;g:" PACKAGE "timm/m.py:9;run:train.py:5",
            "train.py:5 run > b.py:2 f", 512, 0},
           {"g:" PACKAGE "timm/m.py:9;run:train.py:5", "train.py:5 run > m.py:9 g", 512, 0},
           {"run:train.py:5", "train.py:5 run", 512, 0});
}

Test(labels, the_caller_of_a_helper_distinguishes_rows)
{
    EXPECT({"make:util.py:5;main:train.py:3", "train.py:3 main > util.py:5 make", 512, 0},
           {"make:util.py:5;main:train.py:9", "train.py:9 main > util.py:5 make", 512, 0});
}

/* The stacks differ in two frames, so two frames are added. */
Test(labels, labels_have_as_many_frames_as_needed)
{
    EXPECT({"f:" PACKAGE "timm/a.py:1;make:util.py:5;main:train.py:3",
            "train.py:3 main > util.py:5 make > a.py:1 f", 512, 0},
           {"f:" PACKAGE "timm/a.py:2;make:util.py:5;main:train.py:3",
            "train.py:3 main > util.py:5 make > a.py:2 f", 512, 0},
           {"f:" PACKAGE "timm/a.py:1;make:util.py:5;main:train.py:9",
            "train.py:9 main > util.py:5 make > a.py:1 f", 512, 0},
           {"f:" PACKAGE "timm/a.py:2;make:util.py:5;main:train.py:9",
            "train.py:9 main > util.py:5 make > a.py:2 f", 512, 0});
}

Test(labels, files_of_one_name_have_folders)
{
    EXPECT({"run:/w/x/net/model.py:7", "x/net/model.py:7 run", 512, 0},
           {"run:/w/y/net/model.py:7", "y/net/model.py:7 run", 512, 0},
           {"run:/w/y/tail/model.py:7", "y/tail/model.py:7 run", 512, 0});
}

Test(labels, another_column_distinguishes_rows)
{
    EXPECT({"run:train.py:5", "train.py:5 run", 512, 1},
           {"run:train.py:5", "train.py:5 run", 1024, 2});
}

Test(labels, the_last_resort_is_the_size_and_a_number)
{
    EXPECT({"run:train.py:5", "train.py:5 run (512 B)", 512, 0},
           {"run:train.py:5", "train.py:5 run (1.00 KiB)", 1024, 0},
           {"run:train.py:5", "train.py:5 run (1.00 KiB) #2", 1024, 0},
           {NULL, "(no stack)", 512, 0}, {NULL, "(no stack) #2", 512, 0});
}

Test(labels, native_stacks_are_distinguished_too)
{
    EXPECT({"at::native::mm(long):??:0;Net::forward(int):n.cpp:0;main:??:0",
            "main > Net::forward > at::native::mm", 512, 0},
           {"at::native::relu(long):??:0;Net::forward(int):n.cpp:0;main:??:0",
            "main > Net::forward > at::native::relu", 512, 0},
           {"at::native::mm(long):??:0;Net::forward(int):n.cpp:0;eval(int):??:0;main:??:0",
            "eval > Net::forward", 512, 0});
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
        allocation made[40];
        mv_labelled rows[40];

        for (int i = 0; i < 40; i++) {
            made[i] = (allocation){
                .stack = mvt_format("%s%smake:util.py:%u%s%s", inner[mvt_random(&seed, 4)],
                                    inner[mvt_random(&seed, 4)], 1 + mvt_random(&seed, 2),
                                    outer[mvt_random(&seed, 4)], outer[mvt_random(&seed, 4)])};
            made[i].bytes = 512 * (1 + mvt_random(&seed, 4));
        }
        const char **labels = labels_of(rows, made, 40, round % 2);
        for (uint32_t i = 0; i < 40; i++) {
            char culprit[128];
            mv_culprit_label(rows[i].trace, rows[i].kinds, rows[i].stack, culprit, sizeof culprit);
            cr_expect(strstr(labels[i], culprit), "%s: %s", labels[i], culprit);
            for (uint32_t k = 0; k < i; k++)
                cr_expect_str_neq(labels[i], labels[k]);
        }
    }
}
