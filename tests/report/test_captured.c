/* Captured files on the command line: `info` on them, and every command on a live file, on the
 * finalised file, and on compact msgpack. */

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_live.h"

static const char *path;

static uint32_t text(mvt_live *l, const char *string)
{
    return mvt_live_string(l, string);
}

static mv_span some_capture(void)
{
    mvt_live *l = mvt_live_new();

    mvt_live_fact(l, "command", "python train.py");
    mvt_live_fact(l, "host", "node-7");
    mvt_live_fact(l, "rank", "1");
    mvt_live_fact(l, "world_size", "8");
    mvt_live_fact(l, "stacks", "python");
    mvt_live_fact(l, "python", "3.8.10");
    mvt_live_fact(l, "lost_nested", "3");
    mvt_live_fact(l, "lost_space", "0");
    uint64_t size = 2 << 20;
    mvt_live_call(l, .action = MV_API_ALLOC, .addr = 0x7f0000000000, .size = size,
                  .text = text(l, "cudaMalloc"), .library = text(l, "/v/torch/libc10_cuda.so"),
                  .stack = mvt_live_stack(l, "step:/w/train.py:12;<module>:/w/train.py:30"));
    for (uint32_t i = 0; i < 12; i++) {
        /* Steps that keep their loss, in ranges, with CPU tensors, and a backward pass in a thread
         * without Python. */
        uint32_t forward = mvt_live_stack(l, "forward:/w/model.py:5;step:/w/train.py:12");
        uint32_t loss = mvt_live_stack(l, "step:/w/train.py:14");
        uint32_t backward = mvt_live_stack(l, "thread pt_autograd_0");
        uint64_t addr = 0x7f0000000000 + i * 1024;
        const char *name = mvt_format("step %u", i);
        mvt_live_event(l, MV_LIVE_EVENT_MARK, (mvt_live_args){.text = text(l, name)});
        mvt_live_event(l, MV_LIVE_EVENT_PUSH, (mvt_live_args){.text = text(l, "forward")});
        mvt_live_block(l, .addr = 0x7f0000100000, .size = 4096, .stack = forward);
        mvt_live_event(l, MV_LIVE_EVENT_POP, (mvt_live_args){0});
        mvt_live_block(l, .addr = addr, .size = 512, .stack = loss);
        mvt_live_block(l, .cpu = true, .addr = 0x5000, .size = 100, .stack = forward);
        mvt_live_block(l, .addr = 0x7f0000110000, .size = 2048, .stack = backward, .thread = 2);
        mvt_live_free(l, .addr = 0x7f0000100000, .size = 4096, .thread = 2);
        mvt_live_free(l, .addr = 0x7f0000110000, .size = 2048);
        mvt_live_free(l, .cpu = true, .addr = 0x5000, .size = 100);
    }
    mvt_live_call(l, .action = MV_API_CREATE, .size = 16 << 20, .handle = 5,
                  .text = text(l, "cuMemCreate"), .library = text(l, "/v/nccl/libnccl.so.2"));
    mvt_live_call(l, .action = MV_API_ALLOC, .size = 1 << 30, .result = 2,
                  .text = text(l, "cudaMalloc"), .library = text(l, "/v/torch/libc10_cuda.so"));
    mvt_live_event(
        l, MV_LIVE_EVENT_OOM,
        (mvt_live_args){.size = 1 << 30, .stack = mvt_live_stack(l, "step:/w/train.py:12")});
    /* Another allocator's blocks, two of them registered wrongly. */
    uint32_t name = text(l, "pool"), stack = mvt_live_stack(l, "load:/w/data.py:8");
    mvt_live_heap(l, .heap_action = MV_HEAP_FREE, .addr = 0x9000, .text = name);
    for (uint32_t j = 0; j < 3; j++)
        mvt_live_heap(l, .heap_action = MV_HEAP_ALLOC, .addr = 0x7f0000200000 + j / 2 * 4096,
                      .size = 1 << 20, .text = name, .stack = stack);
    mvt_live_heap(l, .heap_action = MV_HEAP_FREE, .addr = 0x5000);
    mvt_live_fact(l, "end_us", "1002000");
    return mvt_live_bytes(l);
}

static void setup(void)
{
    path = mvt_temp_file(some_capture());
}

TestSuite(captured, .init = setup);

Test(captured, info_counts_captured_and_lost_events)
{
    const mvt_expected_run all[] = {
        {path, 0, "captured      python train.py, pid 1234 on node-7, rank 1 of 8; ended:\n", ""},
        {NULL, 0, "stacks        python, Python 3.8.10", NULL},
        {NULL, 0, "device 1 is the CPU", NULL},
        {NULL, 0, "API calls     3, 1 failed", NULL},
        {NULL, 0, "libc10_cuda.so: 2 for 2.00 MiB, 1 failed", NULL},
        {NULL, 0, "libnccl.so.2: 1 for 16.0 MiB", NULL},
        {NULL, 0, "lost          3 nested", NULL},
        {NULL, 0, "history       complete", NULL},
        {NULL, 0, "heaps         pool: 3 allocations, 2.00 MiB held, 2.00 MiB at the peak\n", NULL},
        {NULL, 0, "1 free of an unknown block, 1 block allocated twice\n", NULL},
        {NULL, 0, "1 free of an address outside all heaps", NULL}};

    MVT_EXPECT_RUNS("$MEMVIZ info %s", all);
}

/* Programs without PyTorch used to have only "history none" here. */
Test(captured, info_names_the_levels)
{
    static const mvt_expected_run all[] = {
        {"captures/plain_pinned.bin", 0, "event; of --level\n                cuda\n", ""},
        {NULL, 0, "levels        cuda, host; reports are about cuda", NULL},
        {"captures/pinned_leak.bin", 0, "levels        pytorch, cuda, host, all; reports are about",
         ""},
        {"tools/rmm_steps.csv", 0, "!levels        rmm", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ info " MV_TESTDATA "/%s", all);
}

/* In a container, info reads no events unless a level is named. */
Test(captured, info_on_a_container_equals_that_on_its_snapshot)
{
    static const char *const options[] = {"", "--level pytorch"};

    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        mvt_run r = mvt_sh("$MEMVIZ convert -q $SNAPS/two_devices.pickle two.bin && "
                           "$MEMVIZ info --csv %s two.bin && $MEMVIZ info --csv %s "
                           "$SNAPS/two_devices.pickle",
                           options[i], options[i]);
        size_t half = r.out_length / 2;

        cr_assert_eq(r.status, 0, "%s", r.err);
        cr_expect(half > 100 && memcmp(r.out, r.out + half, half) == 0, "%s", r.out);
    }
}

Test(captured, info_has_json)
{
    cJSON *report = mvt_json(0, "$MEMVIZ info --json %s", path);
    const cJSON *capture = mvt_member(report, "capture");

    mvt_json_has(capture, "command host pid rank world_size stacks stacks_off python cpu_device "
                          "ended stopped folded_events folded_bound lost lost_events records "
                          "api_calls api_calls_failed samples "
                          "libraries heaps facts");
    mvt_json_has(mvt_member(capture, "heaps.0"), "name allocs frees blocks bytes peak doubts");
    cr_expect_eq(mvt_json_number(capture, "heaps.0.bytes"), 2 << 20);
    cr_expect_eq(mvt_json_number(capture, "heaps.0.blocks"), 2);
    cr_expect_eq(mvt_json_number(capture, "pid"), 1234);
    cr_expect_eq(mvt_json_number(capture, "cpu_device"), 1);
    cr_expect_eq(mvt_json_number(capture, "api_calls_failed"), 1);
    cr_expect(cJSON_IsTrue(mvt_member(capture, "ended")));
    cr_expect_str_eq(mvt_json_text(capture, "libraries.0.library"), "/v/torch/libc10_cuda.so");
    cr_expect_eq(mvt_json_number(capture, "libraries.0.bytes"), 2 << 20);
}

Test(captured, a_file_of_pytorch_has_no_capture)
{
    cJSON *report = mvt_json(0, "$MEMVIZ info --json $SNAPS/gpt_train.pickle");

    cr_expect_null(cJSON_GetObjectItem(report, "capture"));
}

Test(captured, leaks_are_found_between_marks)
{
    const mvt_expected_run all[] = {
        {path, 0, "LEAK", ""}, {NULL, 0, "train.py:14 step", NULL}, {NULL, 0, "12 steps", NULL}};

    MVT_EXPECT_RUNS("$MEMVIZ leaks --device 0 %s", all);
}

Test(captured, a_heap_is_a_level)
{
    mvt_run r = mvt_sh("$MEMVIZ stats --level pool --json %s | grep -o '\"level\":\"[a-z]*\"'; "
                       "$MEMVIZ peak --level pool %s | grep -o 'data.py:8 load' | head -n 1; "
                       "$MEMVIZ leaks --level pol %s",
                       path, path, path);

    cr_assert_str_eq(r.out, "\"level\":\"pool\"\ndata.py:8 load\n");
    cr_assert(strstr(r.err, "no level pol: this file has pytorch, cuda, all and pool"), "%s",
              r.err);
}

Test(captured, stats_are_exact_on_the_gpu_and_the_cpu)
{
    cJSON *report = mvt_json(0, "$MEMVIZ stats --json %s", path);
    const cJSON *device;

    cJSON_ArrayForEach(device, mvt_member(report, "devices")) {
        cr_expect(cJSON_IsTrue(mvt_member(device, "audit.exact")));
        cr_expect_eq(mvt_json_number(device, "audit.residual"), 0);
    }
}

/* Results contain the file's name, so each form is read under the same name. */
Test(captured, a_container_gives_the_same_reports)
{
    static const char *const commands[] = {
        "dump",        "trace --json", "stats --json",        "leaks --json",
        "peak --json", "lines --json", "trace_plot -o x.svg",
    };

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh("set -e; cp %s f; $MEMVIZ %s f >live; mv x.svg live.svg || true;"
                           "$MEMVIZ convert -q f x.bin;"
                           "mv x.bin f; $MEMVIZ %s f | cmp - live; mv x.svg bin.svg || true;"
                           "test ! -e live.svg || cmp live.svg bin.svg",
                           path, commands[i], commands[i]);
        cr_expect_eq(r.status, 0, "%s: %s%s", commands[i], r.out, r.err);
    }
}

Test(captured, plain_msgpack_lists_omitted_data)
{
    const char *quiet = mvt_format("-q %s", path);
    const mvt_expected_run all[] = {
        {path, 0, "",
         " allocator calls with several rows, 3 API calls, 5 heap calls, 13 facts; .bin"},
        {quiet, 0, "", NULL},
        {MV_TESTDATA "/captures/heap_pool.bin", 0, "",
         "no place for 3 API calls, 60 heap calls, 15 samples, 12 facts;"},
        /* Numbers of calls are not rows. */
        {MV_TESTDATA "/corpus/reports/calls_without_end.bin", 0, "", ""}};
    mvt_run r = mvt_sh("$MEMVIZ convert %s x.msgpack && $MEMVIZ info x.msgpack", path);

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_null(strstr(r.out, "captured"));
    MVT_EXPECT_RUNS("$MEMVIZ convert %s x.msgpack", all);
}
