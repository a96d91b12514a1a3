/* The tests' pickles are identical to Python's own. Without python3 only the bytes that are spelled
 * out here are checked. */
#include "tests/fixture/fixture.h"

#include <unistd.h>

/* The value, in python3, of an expression over a (CPython's bytes) and b (the C++
 * writer's bytes). */
static bool python_says(mv_span a, mv_span b, const char *expression)
{
    char command[1024];

    snprintf(command, sizeof command,
             "python3 -c 'import pickle, pickletools\n"
             "a, b = open(\"%s\", \"rb\").read(), open(\"%s\", \"rb\").read()\n"
             "load = pickle.loads\n"
             "raise SystemExit(0 if (%s) else 1)'",
             mvt_temp_file(a), mvt_temp_file(b), expression);
    return system(command) == 0;
}

static void need_python(void)
{
    if (system("python3 -c pass 2>/dev/null") != 0)
        mvt_skip("no python3");
}

/* Everything that the two writers treat differently: shared and empty stacks, lists over 1000
 * items, more than 64 KiB, long and one-letter strings, integers of every width. */
static mvt_trace *everything(void)
{
    static char long_text[70000];
    mvt_trace *t = mvt_new();

    memset(long_text, 'x', sizeof long_text - 1);
    mvt_setting_text(t, "PYTORCH_CUDA_ALLOC_CONF", "");
    mvt_setting_int(t, "max_split_size", -1);
    mvt_setting_int(t, "wide", INT64_MIN);
    mvt_setting_int(t, "less wide", -(1ll << 31) - 1);
    mvt_setting_int(t, "e", 1ll << 39);
    mvt_setting_text(t, "long", long_text);
    mvt_annotate(t, "Optimizer.step#SGD.step", true, 1795251896069507);
    mvt_segment_alloc(t, .addr = 0x7fa900000000, .bytes = 20 << 20, .stack = "f:a.py:1;g:a.py:2");
    for (uint32_t i = 0; i < 2500; i++)
        mvt_alloc(t, .addr = 0x7fa900000000 + i * 512, .bytes = 1 + i * 8 % 512,
                  .stack = i % 3   ? "f:a.py:1;g:a.py:2"
                           : i % 2 ? "f:a.py:300;E:b.py:-1"
                                   : NULL,
                  .metadata = i % 2 ? "" : "step");
    mvt_free(t, .addr = 0x7fa900000000 + 512 * 7);
    mvt_oom(t, .addr = 1 << 20, .bytes = (uint64_t)80 << 30, .stack = "f:a.py:1");
    mvt_alloc(t, .device = 1, .addr = 0x7fb000000000, .bytes = 8, .stream = 0x55d0c8a7f2e0);
    mvt_segment(t, .device = 1, .addr = 0x7fb000000000, .bytes = 2 << 20, .small = true,
                .stack = "f:a.py:1");
    mvt_block(t, .bytes = 2 << 20, .requested = 8, .state = MV_BLOCK_ALLOCATED);
    return t;
}

Test(fixture_pickle, python_would_write_the_same_bytes)
{
    mvt_trace *t = everything();
    mv_span a = mvt_pickle_bytes(t, false);

    need_python();
    cr_assert(python_says(a, a, "pickle.dumps(load(a), protocol=4) == a"));
}

LongTest(fixture_pickle, python_would_write_the_same_bytes_for_a_large_heap)
{
    mvt_trace *t = mvt_new();

    need_python();
    mvt_segment_alloc(t, .addr = 0x7fa900000000, .bytes = 20 << 20, .stack = "f:a.py:1;g:a.py:2");
    for (uint64_t i = 0; i < 3000; i++)
        mvt_alloc(t, .addr = 0x7fa900000000 + i * 1024, .bytes = 512, .stack = "f:a.py:1");
    mvt_final_heap(t);
    mv_span a = mvt_pickle_bytes(t, false);
    cr_assert(python_says(a, a, "pickle.dumps(load(a), protocol=4) == a"));
    cr_assert(python_says(a, a, "len(load(a)[\"segments\"][0][\"blocks\"]) == 6000"));
}

LongTest(fixture_pickle, both_writers_agree)
{
    mvt_trace *t = everything();
    mv_span a = mvt_pickle_bytes(t, false), b = mvt_pickle_bytes(t, true);

    need_python();
    /* The C++ writer has no unsigned numbers: an unknown line is -1 there. */
    cr_assert(python_says(a, b,
                          "str(sorted(str(sorted(e.items())).replace(str(2**64-1), \"-1\") "
                          "for e in load(a)[\"device_traces\"][0])) == "
                          "str(sorted(str(sorted(e.items())) "
                          "for e in load(b)[\"device_traces\"][0]))"));
    cr_assert(python_says(a, b,
                          "all(load(a)[k] == load(b)[k] for k in load(a) "
                          "if k != \"device_traces\")"));
    cr_assert(python_says(a, b, "b[1] == 2 and b[-1:] == b\".\""));
}

Test(fixture_pickle, the_cpp_writer_marks_empty_containers)
{
    mvt_trace *t = mvt_new();
    mv_span b = mvt_pickle_bytes(t, true);
    static const char want[] =
        "\x80\x02}(X\x08\0\0\0segmentsq\0](eq\1X\x0d\0\0\0device_tracesq\2](e";

    cr_assert_geq(b.length, sizeof want - 1);
    cr_assert_arr_eq(b.data, want, sizeof want - 1);
}
