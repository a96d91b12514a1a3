/* The output of commands for real snapshots, kept in testdata/golden and read in review. MV_BLESS=1
 * in the environment rewrites the files after an intended change. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

#define GOLDEN MV_TESTDATA "/golden"

/* Snapshots whose dumps are small enough to read. */
#define DUMPED "graphs", "mempool", "no_history", "oom", "oom_outside", "streams", "two_devices"

#define OTHERS                                                                            \
    "leak_cycle", "leak_global_list", "leak_hidden_state", "mlp_train", "oom_fragmented", \
        "annotated", "compiled", "eval_without_no_grad", "expandable_empty", "gpt_train", \
        "late_start", "leak_in_training", "leak_loss_list", "no_leak_warmup", "ring"

#define HELD                                                                                       \
    "annotated", "gpt_train", "late_start", "leak_in_training", "no_history", "oom", "resnet_all", \
        "ring", "streams", "two_devices"

/* Compares the output of `arguments` with the golden file NAME.COMMAND. */
static void check_run(const char *name, const char *command, const char *arguments)
{
    mvt_run run = mvt_here_in(MV_TESTDATA "/snapshots", "$MEMVIZ %s", arguments);

    const char *path = mvt_format(GOLDEN "/%s.%s", name, command);
    cr_assert_eq(run.status, 0, "%s: %s", arguments, run.err);
    cr_expect_str_eq(run.err, "");
    if (getenv("MV_BLESS")) {
        FILE *file = fopen(path, "wb");
        cr_assert(file != NULL, "%s", path);
        cr_assert_eq(fwrite(run.out, 1, run.out_length, file), run.out_length);
        cr_assert_eq(fclose(file), 0);
    }
    mvt_same_text(mvt_text(path), run.out, "%s", arguments);
}

static void check(const char *command, const char *const *names)
{
    for (; *names; names++)
        check_run(*names, command, mvt_format("%s %s.pickle", command, *names));
}

#define CHECK(command, ...) check((command), (const char *const[]){__VA_ARGS__, NULL})

Test(golden, dump)
{
    CHECK("dump", DUMPED);
}

Test(golden, info)
{
    CHECK("info", DUMPED, OTHERS);
}

Test(golden, stats)
{
    CHECK("stats", DUMPED, OTHERS);
}

Test(golden, leaks)
{
    CHECK("leaks", DUMPED, OTHERS);
}

Test(golden, diff)
{
    static const char *const pairs[][2] = {
        {"gpt_train", "no_leak_warmup"},
        {"no_leak_warmup", "leak_in_training"},
        {"gc_limit_off", "gc_limit"},
        {"two_devices", "mlp_train"},
        {"no_history", "state_only"},
        {"frag_pinned_by_small_expandable", "frag_pinned_by_small"},
    };

    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *name = mvt_format("%s.%s", pairs[i][0], pairs[i][1]);
        check_run(name, "diff", mvt_format("diff %s.pickle %s.pickle", pairs[i][0], pairs[i][1]));
    }
}

Test(golden, fragmentation)
{
    CHECK("fragmentation", "frag_pinned_by_small", "frag_pinned_by_small_expandable", "gpt_train",
          "oom_fragmented", "ring", "streams", "two_devices");
}

Test(golden, whatif)
{
    CHECK("whatif", "frag_pinned_by_small", "leak_loss_list", "gpt_train", "oom_fragmented",
          "retry_release", "ring", "two_devices");
    check_run("gc_limit_off", "whatif_capacity",
              "whatif --conf '' --conf garbage_collection_threshold:0.6 --capacity 3GiB "
              "gc_limit_off.pickle");
}

Test(golden, oom)
{
    CHECK("oom", "oom", "oom_fragmented", "oom_outside", "retry_release", "gc_limit");
}

Test(golden, triage)
{
    CHECK("triage", "leak_in_training", "oom_fragmented", "frag_pinned_by_small", "gpt_train",
          "ring", "two_devices");
}

Test(golden, peak)
{
    CHECK("peak", HELD);
    check_run("gpt_train", "peak_target",
              "peak --at end --target 400MiB --limit 4 --frames user gpt_train.pickle");
}

Test(golden, lines)
{
    CHECK("lines", HELD);
}

Test(golden, folded)
{
    check_run("streams", "memory", "memory -o - streams.pickle");
    check_run("gpt_train", "memory_tree", "memory --at peak gpt_train.pickle");
    check_run("two_devices", "memory_tree", "memory two_devices.pickle");
    check_run("streams", "segments", "segments -o - streams.pickle");
    check_run("graphs", "segments", "segments --at peak -o - graphs.pickle");
}

Test(golden, ranks)
{
    check_run("two_devices", "ranks", "ranks two_devices.pickle");
    check_run("leaky_and_clean", "ranks",
              "ranks no_leak_warmup.pickle leak_in_training.pickle gpt_train.pickle");
    check_run("allocators", "ranks", "ranks gc_limit.pickle gc_limit_off.pickle gc_limit.pickle");
}

/* The built program must print the same when it is confined. */
Test(golden, a_process_prints_the_same)
{
    static const char *const commands[] = {"dump", "info", "stats", "leaks", "peak", "lines"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ %s two_devices.pickle", commands[i]);
        const char *path = mvt_format(GOLDEN "/two_devices.%s", commands[i]);
        cr_expect_eq(run.status, 0, "%s: %s", commands[i], run.err);
        mvt_same_text(mvt_text(path), run.out, "%s", commands[i]);
    }
}
