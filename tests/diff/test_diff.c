#include "analyze/diff/diff.h"

#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_training.h"

#include "analyze/lives/alive.h"

typedef struct {
    mv_lives lives[2];
    mv_diff_code code;
    mv_diff_sides sides;
    mv_diff found;
} compared;

static void compare_at(compared *c, const mv_trace *before, const mv_trace *after, const char *at)
{
    const mv_trace *trace[2] = {before, after};
    mv_arena *arena = mvt_memory();
    char why[160];

    *c = (compared){0};
    mvt_ok(mv_diff_code_find(arena, before, after, &c->code, mvt_err()));
    for (int s = 0; s < 2; s++) {
        mv_window all = {0, mv_trace_events(trace[s], 0).count};
        mv_moment_query ask;
        c->lives[s] = mvt_lives(arena, trace[s], 0);
        cr_assert(mv_moment_read(trace[s], 0, at, all, &ask, why, sizeof why), "%s", why);
        mvt_ok(mv_moment_find(arena, &c->lives[s], ask, &c->sides.moment[s], mvt_err()));
        c->sides.reserved[s] = ask;
        c->sides.reserved[s].kind = ask.kind == MV_MOMENT_PEAK ? MV_MOMENT_RESERVED_PEAK : ask.kind;
        c->sides.lives[s] = &c->lives[s];
    }
    mvt_ok(mv_diff_find(arena, &c->code, &c->sides, &c->found, mvt_err()));
}

static uint64_t slow_allocated(const compared *c, int s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->lives[s].allocs.count; i++)
        if (mv_alloc_is_allocated(&c->lives[s], i, c->sides.moment[s].event))
            sum += c->lives[s].allocs.block[i];
    return sum;
}

static void expect_rows(const mv_diff_row *rows, uint32_t count, int64_t delta, const char *name)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        const mv_diff_row *row = &rows[i];
        cr_expect_eq(row->delta, (int64_t)(row->bytes[1] - row->bytes[0]));
        cr_expect_neq(row->delta, 0);
        cr_expect(i == 0 || llabs(row->delta) <= llabs(rows[i - 1].delta));
        cr_expect_eq(row->status, row->bytes[0] == 0   ? MV_DIFF_NEW
                                  : row->bytes[1] == 0 ? MV_DIFF_GONE
                                  : row->delta > 0     ? MV_DIFF_GROWN
                                                       : MV_DIFF_SHRUNK);
        sum += row->delta;
    }
    cr_expect_eq(sum, delta, "%s: rows say %lld, totals %lld", name, (long long)sum,
                 (long long)delta);
}

static void expect_sums(const compared *c, const char *name)
{
    cr_expect_eq(slow_allocated(c, 0), c->found.level[0].allocated, "%s", name);
    cr_expect_eq(slow_allocated(c, 1), c->found.level[1].allocated, "%s", name);
    expect_rows(c->found.sites, c->found.count, c->found.delta, name);
    expect_rows(c->found.line, c->found.lines, c->found.delta, name);
}

static void alloc_all(mvt_trace *t, const char *const *stacks, const uint64_t *bytes,
                      uint32_t count)
{
    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
    for (uint32_t i = 0; i < count; i++)
        mvt_alloc(t, .addr = 0x10000000 + ((uint64_t)i << 20), .bytes = bytes[i],
                  .stack = stacks[i]);
    mvt_final_heap(t);
}

Test(diff, sites_grow_shrink_appear_and_disappear)
{
    static const char *const before[] = {"f:a.py:10", "f:a.py:12", "g:a.py:30", NULL};
    static const char *const after[] = {"f:a.py:11", "f:a.py:13", "h:b.py:3", NULL};
    mvt_trace *a = mvt_new(), *b = mvt_new();
    compared c;
    char label[40];

    alloc_all(a, before, (const uint64_t[]){1024, 4096, 512, 2048}, 4);
    alloc_all(b, after, (const uint64_t[]){8192, 1024, 1024, 2560}, 4);
    compare_at(&c, mvt_done(a), mvt_done(b), "peak");
    expect_sums(&c, "made");
    cr_assert_eq(c.found.count, 5);
    cr_expect_eq(c.found.delta, 7168 - 3072 + 1024 + 512 - 512);
    cr_expect_eq(c.found.sites[0].status, MV_DIFF_GROWN);
    cr_expect_str_eq(mv_culprit_label(mvt_done(b), NULL, c.found.sites[0].stack[1], label, 40),
                     "a.py:11 f");
    cr_expect_eq(c.found.sites[1].status, MV_DIFF_SHRUNK);
    cr_expect_eq(c.found.sites[2].status, MV_DIFF_NEW);
    cr_expect_eq(c.found.sites[3].status, MV_DIFF_GROWN); /* 512 more bytes, without a stack */
    cr_expect_eq(c.found.sites[3].stack[1].row, MV_NO_STACK.row);
    cr_expect_eq(c.found.sites[4].status, MV_DIFF_GONE);
}

Test(diff, a_line_gathers_allocations_of_libraries)
{
    static const char *const stacks[] = {
        "mm:/v/site-packages/torch/functional.py:1;f:a.py:10",
        "add:/v/site-packages/torch/functional.py:2;f:a.py:10",
        "f:a.py:10;main:a.py:40",
    };
    mvt_trace *a = mvt_new(), *b = mvt_new();
    compared c;

    alloc_all(a, stacks, (const uint64_t[]){1024, 4096, 512}, 3);
    alloc_all(b, stacks, (const uint64_t[]){4096, 1024, 1024}, 3);
    compare_at(&c, mvt_done(a), mvt_done(b), "end");
    expect_sums(&c, "made");
    cr_expect_eq(c.found.count, 3);
    cr_assert_eq(c.found.lines, 1);
    cr_expect_eq(c.found.line[0].bytes[0], 5632);
    cr_expect_eq(c.found.line[0].blocks[1], 3);
}

LongTest(diff, random_runs_add_up)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        mvt_trace *a = mvt_new(), *b = mvt_new();
        mvt_training_truth truth;
        compared c;
        mvt_training(a, seed, MVT_LEAK_NONE, &truth);
        mvt_training(b, seed + seed % 2, (mvt_leak)(seed % MVT_LEAK_COUNT), &truth);
        compare_at(&c, mvt_done(a), mvt_done(b), seed % 3 ? "peak" : "end");
        expect_sums(&c, "random");
    }
}

/* ---- real snapshots ---------------------------------------------------------------------- */

static const char *const names[] = {
    "gpt_train",  "no_leak_warmup", "leak_in_training",
    "resnet_all", "mlp_train",      "annotated",
    "late_start", "ring",           "frag_pinned_by_small",
    "state_only", "streams",        "compiled",
    "oom",        "no_history",     "mempool",
};

#define NAMES (sizeof names / sizeof *names)

LongTest(diff, real_snapshots_add_up_and_negate_when_exchanged)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        const char *other = names[(i + 1) % NAMES];
        mv_trace one = mvt_load(mvt_memory(), names[i]), two = mvt_load(mvt_memory(), other);
        compared c, back;
        compare_at(&c, &one, &two, "peak");
        compare_at(&back, &two, &one, "peak");
        expect_sums(&c, names[i]);
        cr_assert_eq(c.found.count, back.found.count, "%s, %s", names[i], other);
        cr_assert_eq(c.found.lines, back.found.lines, "%s, %s", names[i], other);
        cr_expect_eq(c.found.delta, -back.found.delta);
        /* Rows of the same magnitude may be in a different order. */
        const mv_diff *a = &c.found;
        const mv_diff *b = &back.found;
        bool *used = mv_push_array(mvt_memory(), bool, a->lines + 1);
        for (uint32_t k = 0; k < a->lines; k++) {
            uint32_t j = 0;
            while (j < b->lines && (used[j] || b->line[j].delta != -a->line[k].delta ||
                                    b->line[j].bytes[0] != a->line[k].bytes[1]))
                j++;
            cr_assert_lt(j, b->lines, "no row for %lld", (long long)a->line[k].delta);
            used[j] = true;
        }
        cr_expect_eq(c.found.same_bytes, back.found.same_bytes);
    }
}

static void expect_no_change(const mv_trace *before, const mv_trace *after, const char *name,
                             const char *what)
{
    compared c;

    compare_at(&c, before, after, "peak");
    cr_expect_eq(c.found.delta, 0, "%s: %s", name, what);
    cr_expect_eq(c.found.count, 0, "%s: %s: %u rows", name, what, c.found.count);
    cr_expect_eq(c.found.lines, 0, "%s: %s", name, what);
    cr_expect_eq(c.found.same_bytes, c.found.level[0].allocated, "%s: %s", name, what);
}

/* The same run, whose code is on other lines after a certain function. */
static void shift_lines(mv_trace *trace, int64_t from, int64_t by)
{
    for (uint32_t i = 0; i < trace->frames.count; i++)
        if ((strstr(mv_string_text(trace, trace->frames.file[i]), "train.py") != NULL) &&
            trace->frames.line[i] >= from)
            trace->frames.line[i] += by;
}

static void rename_file(mv_trace *trace)
{
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        char *at = strstr(trace->strings.bytes + trace->strings.at[i], "/train.py");
        if (at)
            memcpy(at, "/drill.py", 9);
    }
}

static void shift_times(mv_trace *trace, int64_t by)
{
    mv_events events = mv_trace_events(trace, 0);

    for (uint32_t i = 0; i < events.count; i++)
        if (events.time_us[i] != MV_NO_TIME)
            events.time_us[i] += by;
    for (uint32_t i = 0; i < trace->annotations.count; i++)
        trace->annotations.time_us[i] += by;
}

LongTest(diff, a_disguised_copy_of_a_run_has_no_change)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        mv_trace before = mvt_load(mvt_memory(), names[i]);
        mv_trace after = mvt_load(mvt_memory(), names[i]);
        expect_no_change(&before, &after, names[i], "itself");
        shift_times(&after, 3600 * 1000000ll);
        expect_no_change(&before, &after, names[i], "an hour later");
        shift_lines(&after, 0, 7);
        expect_no_change(&before, &after, names[i], "all lines moved");
        shift_lines(&after, 70, 30);
        expect_no_change(&before, &after, names[i], "some lines moved");
        /* A folder whose name has the same length: /workspace/train.py becomes
         * /elsewhere/train.py. */
        for (uint32_t j = 0; j < after.strings.count; j++) {
            char *text = after.strings.bytes + after.strings.at[j];
            if (strncmp(text, "/workspace/", 11) == 0)
                memcpy(text, "/elsewhere/", 11);
            else if (strncmp(text, "/venv/", 6) == 0)
                memcpy(text, "/opt2/", 6);
        }
        expect_no_change(&before, &after, names[i], "elsewhere");
        rename_file(&after);
        expect_no_change(&before, &after, names[i], "renamed");
    }
}

/* ---- the command ------------------------------------------------------------------------- */

Test(diff, devices_are_paired_by_number)
{
    cJSON *report =
        mvt_json(0, "$MEMVIZ diff --json $SNAPS/two_devices.pickle $SNAPS/two_devices.pickle");

    cr_expect_eq(mvt_json_number(report, "delta"), 0);
    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "devices")), 2);
}

/* A rank that used only device 1, compared with a rank that used only device 0. */
Test(diff, lone_devices_are_paired_with_any_numbers)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .device = 1, .addr = 0x10000000, .bytes = 1 << 30);
    mvt_alloc(t, .device = 1, .addr = 0x10000000, .bytes = 4096, .stack = "f:a.py:3");
    cJSON *report = mvt_json(0, "$MEMVIZ diff --json $SNAPS/mlp_train.pickle %s",
                             mvt_temp_file(mvt_snapshot_bytes(t)));
    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "devices")), 1);
    cr_expect_eq(mvt_json_number(report, "before.device"), 0);
    cr_expect_eq(mvt_json_number(report, "after.device"), 1);
    cr_expect_eq(mvt_json_number(report, "after.allocated"), 4096);
}

static void expect_run(int status, const char *arguments, const char *first)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ %s", arguments);

    cr_expect_eq(run.status, status, "%s: %d: %s", arguments, run.status, run.err);
    cr_expect(strncmp(run.out, first, strlen(first)) == 0, "%s", run.out);
}

#define CLEAN "$SNAPS/no_leak_warmup.pickle"
#define LEAKY "$SNAPS/leak_in_training.pickle"

Test(diff, the_verdict_is_in_the_first_line)
{
    expect_run(0, "compare --at end " CLEAN " " LEAKY,
               "+24.0 MiB allocated at the end: train.py:62 forward is new with 24.0 MiB\n");
    expect_run(0, "diff " CLEAN " " CLEAN,
               "no change in allocated memory at the peak\n"
               "no change in reserved memory at its peak: ");
}

LongTest(diff, fail_on_grown_gives_status_1)
{
    expect_run(3, "diff --at end --fail-on 'delta>10MiB' " CLEAN " " LEAKY, "+24.0 MiB");
    expect_run(0, "diff --at end --fail-on 'delta>25165824' " CLEAN " " LEAKY, "+24.0 MiB");
    expect_run(3, "diff --at end --fail-on 'delta>25165823' " CLEAN " " LEAKY, "+24.0 MiB");
    expect_run(0, "diff --at end --fail-on 'delta>0' " LEAKY " " CLEAN, "-24.0 MiB");
    expect_run(2, "diff --fail-on leak " LEAKY " " CLEAN, "");
    expect_run(1, "diff " LEAKY " nowhere.pickle", "");
    expect_run(1, "diff --device 3 " LEAKY " " CLEAN, "");
}

/* The buffer of `ring` covered only half a step, so neither its peak nor its need is the whole
 * run's. */
LongTest(diff, a_peak_that_may_have_been_earlier_is_marked)
{
    static const char known[] = "as far as the files show", doubt[] = "true peak may be earlier",
                      ever[] = "most ever needed", shown[] = "largest need in the events";
    static const struct {
        const char *arguments;
        const char *wanted[3], *unwanted[3];
    } cases[] = {
        {"gpt_train.pickle ring.pickle", {known, doubt, shown}, {ever}},
        {"ring.pickle gpt_train.pickle", {known, doubt, shown}, {ever}},
        {"mlp_train.pickle gpt_train.pickle", {ever}, {known, doubt, shown}},
        {"ring.pickle gpt_train.pickle --at end", {"at the end"}, {known, doubt, shown}},
        {"ring.pickle gpt_train.pickle --from 10 --to 300", {shown}, {known, doubt, ever}},
        {"no_history.pickle gpt_train.pickle",
         {known, "no events: only the memory alive", shown},
         {ever}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ diff %s | tr -s '\n ' '  '", cases[i].arguments);

        for (int k = 0; k < 3; k++) {
            const char *wanted = cases[i].wanted[k], *unwanted = cases[i].unwanted[k];
            cr_expect(!wanted || strstr(run.out, wanted), "%s: no '%s' in %s", cases[i].arguments,
                      wanted, run.out);
            cr_expect(!unwanted || !strstr(run.out, unwanted), "%s: '%s' in %s", cases[i].arguments,
                      unwanted, run.out);
        }
    }
}

/* The peak of a file with missing frees is uncertain as well. At the end, the bytes are those in
 * the final heap. The gate and the text agree. In a window that begins within the events, the past
 * does not matter. */
LongTest(diff, a_sentence_is_as_certain_as_the_gate)
{
    static const char known[] = "as far as the files show";
    static const struct {
        const char *arguments, *doubt; /* NULL: none */
        int status;
    } cases[] = {
        {"../skipped/no_free_completed.pickle ../skipped/no_frees.pickle",
         "3 allocations ended without a free event", 4},
        {"../skipped/no_final_heap.pickle ../skipped/no_final_heap.pickle",
         "the file has no final heap: blocks from before the events may be missing", 4},
        {"../skipped/no_free_requested.pickle ../skipped/no_frees.pickle --at end", NULL, 0},
        {"ring.pickle late_start.pickle --from 5", NULL, 0},
        {"ring.pickle late_start.pickle", "history is truncated", 4},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments = cases[i].arguments;
        mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ diff --fail-on 'delta>1GiB' %s | tr -s '\n ' '  '",
                             arguments);
        int status =
            mvt_sh("cd $SNAPS; $MEMVIZ diff -q --fail-on 'delta>1GiB' %s", arguments).status;

        cr_expect_eq(status, cases[i].status, "%s: %d", arguments, status);
        cr_expect_eq(strstr(run.out, known) != NULL, cases[i].doubt != NULL, "%s: %s", arguments,
                     run.out);
        cr_expect(!cases[i].doubt || strstr(run.out, cases[i].doubt), "%s: %s", arguments, run.out);
    }
}

Test(diff, json_has_the_history_of_each_side)
{
    cJSON *one = mvt_json(0, "$MEMVIZ diff --json $SNAPS/gpt_train.pickle $SNAPS/ring.pickle");
    cJSON *two = mvt_json(0, "$MEMVIZ diff --json $SNAPS/two_devices.pickle $SNAPS/ring.pickle");

    cr_expect_str_eq(mvt_json_text(one, "before.history"), "complete");
    cr_expect_str_eq(mvt_json_text(one, "after.history"), "truncated");
    cr_assert_eq(cJSON_GetArraySize(mvt_member(two, "devices")), 2);
    cr_expect(cJSON_IsNull(mvt_member(two, "before.history")));
    cr_expect_str_eq(mvt_json_text(two, "devices.1.before.history"), "complete");
    cr_expect(cJSON_IsNull(mvt_member(two, "devices.1.after.history")));
}

static void expect_gate(int status, const char *message, const char *files)
{
    mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ diff -q --csv --fail-on 'delta>1GiB' %s 2>&1", files);

    cr_expect_eq(run.status, status, "%s: %s", files, run.out);
    cr_expect(strstr(run.out, message), "%s: no '%s' in %s", files, message, run.out);
}

/* The number of bytes on a device that is missing from a file may be other than 0. */
LongTest(diff, a_side_without_memory_of_the_device_is_not_a_known_zero)
{
    /* A file written by a process that did nothing. */
    const char *idle = mvt_temp_file(mvt_pickle_of(mvt_memory(), mvt_done(mvt_new()), false));
    const char *files = mvt_format("gpt_train.pickle %s", idle);

    expect_gate(4, "has no memory on device 0, and no history: whether", files);
    mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ diff %s | tr -s '\n ' '  '", files);
    cr_expect(strstr(run.out, "at the peak, as far as the files show"), "%s", run.out);
    cr_expect(strstr(run.out, "has no memory on device 0, and no history"), "%s", run.out);
    expect_gate(4, "has no memory on device 0",
                mvt_format("%s gpt_train.pickle --fail-on 'delta>1MiB'", idle));
    expect_gate(4, "has no memory on device 0", mvt_format("%s %s", idle, idle));
    /* At the end the file lists everything. */
    expect_gate(0, "", mvt_format("%s --at end", files));
}

/* All devices are recorded at once, so a device without events next to a complete history did
 * nothing. Next to an incomplete history, it may have done something. */
Test(diff, an_idle_device_beside_a_complete_history_had_nothing)
{
    mvt_run run =
        mvt_sh("cd $SNAPS; $MEMVIZ diff two_devices.pickle gpt_train.pickle | tr -s '\n ' '  '");

    cr_expect(strstr(run.out, "gpt_train.pickle has no memory on device 1 "), "%s", run.out);
    cr_expect(!strstr(run.out, "as far as the files show"), "%s", run.out);
    expect_gate(0, "", "two_devices.pickle mlp_train.pickle");
    expect_gate(4, "ring.pickle has no memory on device 1", "two_devices.pickle ring.pickle");
}
