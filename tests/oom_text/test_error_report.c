/* memviz oom TEXT, memviz oom -, memviz oom error.log and memviz error.log. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"

#define SENTENCE                                                                                  \
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of 47.54 GiB of " \
    "which 61.25 MiB is free. Process 777 has 40.11 GiB memory in use. Including non-PyTorch "    \
    "memory, this process has 7.36 GiB memory in use. Of "                                        \
    "the allocated memory 6.81 GiB is allocated by PyTorch, and 180.44 MiB is reserved by "       \
    "PyTorch but unallocated."

/* Makes a file in mvt_sh's folder that contains `line`. */
#define IN_LOG(line) "printf '[rank1]: %%s\\n' '" SENTENCE "' > log; " line

/* Checks the JSON contract. */
Test(error_report, json_has_the_figures_in_bytes)
{
    static const char *const sizes[] = {
        "requested", "capacity",  "free",        "process",
        "others",    "allocated", "not_pytorch", "reserved_unallocated"};
    const cJSON *r = mvt_json_here(0, "$MEMVIZ oom --json '%s'", SENTENCE);
    const cJSON *texts = cJSON_GetObjectItem(r, "texts"), *text = cJSON_GetArrayItem(texts, 0);

    cr_assert_eq(cJSON_GetArraySize(texts), 1);
    cr_expect_null(cJSON_GetObjectItem(r, "ooms"));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double bytes = mvt_json_number(text, sizes[i]);
        cr_expect_leq(mvt_json_number(text, mvt_format("%s_least", sizes[i])), bytes);
        cr_expect_geq(mvt_json_number(text, mvt_format("%s_most", sizes[i])), bytes);
    }
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(text, "limit")));
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(text, "private_pools")));
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(text, "rank")));
    cr_expect_eq(mvt_json_number(text, "requested"), 1610612736.0);
    cr_expect_eq(mvt_json_number(text, "device"), 2);
    cr_expect_str_eq(mvt_json_text(text, "kind"), "message");
    cr_expect_str_eq(mvt_json_text(text, "verdict"), "outside_pytorch");
    cr_expect_str_eq(mvt_json_text(text, "refused_by"), "device");
    cr_expect(strstr(mvt_json_text(text, "advice"), "nvidia-smi"));
}

Test(error_report, text_has_the_same_figures)
{
    static const mvt_expected_run all[] = {
        {"oom '" SENTENCE "'", 0,
         "OUT OF MEMORY  outside_pytorch: CUDA out of memory, 1.50 GiB requested", ""},
        {NULL, 0, "process 777 has 40.1 GiB", NULL},
        {NULL, 0, "excluded: limit, capacity, fragmentation", NULL},
        {"oom --csv '" SENTENCE "'", 0, "kind,error,line,", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

Test(error_report, logs_and_standard_input_are_read)
{
    mvt_run r = mvt_sh(IN_LOG("$MEMVIZ oom log; $MEMVIZ oom - < log; gzip -c log | $MEMVIZ oom -"));
    uint32_t found = 0;

    cr_expect_eq(r.status, 0, "%s", r.err);
    for (const char *at = r.out; (at = strstr(at, "outside_pytorch: CUDA")) != NULL; at++)
        found++;
    cr_expect_eq(found, 3, "%s", r.out);
    cr_expect(strstr(r.out, "rank 1"), "%s", r.out);
    cr_expect_str_eq(r.err, "");
}

Test(error_report, triage_accepts_a_log)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ log; $MEMVIZ --json log; $MEMVIZ --fail-on oom log; echo \"status $?\"; "
         "$MEMVIZ --fail-on leak log; echo \"status $?\"; "
         "$MEMVIZ oom --fail-on oom log >/dev/null",
         3, "log: log, text, 3",
         "--fail-on oom: CUDA out of memory, 1.50 GiB requested on GPU 2, rank 1"},
        {NULL, 0, "1 error about memory", NULL},
        {NULL, 0, "memviz oom log", NULL},
        {NULL, 0, "\"verdict\":\"outside_pytorch\"", NULL},
        {NULL, 0, "status 3", NULL},
        {NULL, 0, "status 4", NULL}};

    MVT_EXPECT_RUNS("echo '[rank1]: " SENTENCE "' >log; %s", all);
}

/* PyTorch's sentence may be truncated before its sizes. CUDA's sentence has no sizes. */
Test(error_report, a_sentence_without_sizes_names_who_reported_it)
{
    static const mvt_expected_run all[] = {
        {"'torch.OutOfMemoryError: CUDA out of memory.'", 0, "PyTorch's allocator reported it", ""},
        {NULL, 0, "-> pass the whole message", NULL},
        {"'RuntimeError: CUDA error: out of memory'", 0, "CUDA itself reported it", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ oom %s", all);
}

/* Expects one line, and the status for bad input. */
Test(error_report, a_text_without_an_error_is_refused)
{
    static const mvt_expected_run all[] = {
        {"oom 'the cat sat on the mat'", 1, NULL,
         "neither a file nor the text of an out-of-memory"},
        {"oom missing.pickle", 1, NULL, "missing.pickle: No such file"},
        {"oom log", 1, NULL, "this is text, such as a log, without an out-of-memory error"},
        {"log", 1, NULL, "this is text, such as a log, without an out-of-memory error"},
        {"oom - <json", 1, NULL, "-: byte 0: not a format"},
        {"oom ''", 1, NULL, "No such file"},
    };

    MVT_EXPECT_RUNS(
        "printf 'loss 1.0\\nloss 0.9\\n' >log; printf '{\"loss\": 1}' >json; $MEMVIZ %s", all);
}

/* A snapshot is read as a snapshot, whatever texts it contains. */
Test(error_report, snapshots_are_not_searched)
{
    const cJSON *r = mvt_json_here(0, "$MEMVIZ oom --json $SNAPS/oom.pickle");

    cr_expect_not_null(cJSON_GetObjectItem(r, "ooms"));
    cr_expect_null(cJSON_GetObjectItem(r, "texts"));
}

Test(error_report, agents_can_paste_it)
{
    mvt_run r =
        mvt_sh("printf '%%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
               "\"params\":{\"name\":\"oom\",\"arguments\":{\"file\":\"%s\"}}}' | $MEMVIZ mcp",
               SENTENCE);

    cr_expect(strstr(r.out, "OUT OF MEMORY  outside_pytorch"), "%s%s", r.out, r.err);
}
