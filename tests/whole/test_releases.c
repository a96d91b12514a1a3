/* Snapshots as every release writes them (testdata/releases, made by
 * scripts/make-release-files.py). */
#include "analyze/replay/release.h"
#include "analyze/totals/totals.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static mv_trace read_made(const char *name)
{
    mv_trace trace;

    mvt_ok(mv_trace_read(mvt_memory(), mvt_format(MV_TESTDATA "/releases/%s", name), NULL, &trace,
                         mvt_err()));
    return trace;
}

/* ---- the release -------------------------------------------------------------------------- */

/* The variable with the settings was renamed in 2.9. A file that may be from 2.8 gets the name that
 * both accept. */
Test(releases, the_keys_show_the_release_and_the_name_of_its_settings)
{
    static const struct {
        const char *name, *text, *conf;
    } all[] = {
        {"torch_1_13.pickle", "PyTorch 1.13", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_0.pickle", "PyTorch 2.0", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_1.pickle", "PyTorch 2.1", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_2.pickle", "PyTorch 2.2", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_3.pickle", "PyTorch 2.3 to 2.4", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_5.pickle", "PyTorch 2.5 to 2.7", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_8.pickle", "PyTorch 2.8 to 2.9", "PYTORCH_CUDA_ALLOC_CONF"},
        {"torch_2_10.pickle", "PyTorch 2.10 to 2.11", "PYTORCH_ALLOC_CONF"},
        {"torch_2_12.pickle", "PyTorch 2.12 or later", "PYTORCH_ALLOC_CONF"},
        {"torch_2_14.pickle", "PyTorch 2.13 or later", "PYTORCH_ALLOC_CONF"},
        {"torch_2_14_full.pickle", "PyTorch 2.14 or later", "PYTORCH_ALLOC_CONF"},
        {"torch_xpu.pickle", "PyTorch for XPU, 2.11 or later", "PYTORCH_ALLOC_CONF"},
        {"torch_npu.pickle", "torch_npu", "PYTORCH_NPU_ALLOC_CONF"},
        {"npu_rounding.pickle", "torch_npu", "PYTORCH_NPU_ALLOC_CONF"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[MV_RELEASE_TEXT];
        mv_trace trace = read_made(all[i].name);
        cr_expect_str_eq(mv_release_text(text, mv_release_of(&trace)), all[i].text, "%s: %s",
                         all[i].name, text);
        cr_expect_str_eq(mv_release_conf(&trace), all[i].conf, "%s", all[i].name);
    }
}

/* A file with a key of 2.10 in its events but without the keys before it belongs to no release. */
Test(releases, keys_that_contradict_each_other_show_nothing)
{
    mvt_trace *t = mvt_new();
    char text[MV_RELEASE_TEXT];

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20, .metadata = "x");
    mvt_final_heap(t);
    mv_trace trace = *mvt_done(t);
    trace.keys = MV_KEYS_KNOWN;
    cr_expect_str_eq(mv_release_text(text, mv_release_of(&trace)), "");
}

/* Real files of 2.11. */
static void check_2_11(const mv_trace *trace, const char *name)
{
    mv_release r = mv_release_of(trace);
    bool has_events = false;

    for (uint32_t i = 0; i < trace->device_count; i++)
        has_events = has_events || trace->devices[i].events.count > 0;
    cr_expect(r.kind == MV_WRITER_PYTORCH && r.first <= 211 && (r.last == 0 || r.last >= 211),
              "%s: %u to %u", name, r.first, r.last);
    cr_expect(!has_events || (r.first == 210 && r.last == 211), "%s: %u to %u", name, r.first,
              r.last);
}

EachSnapshot(releases, real_snapshots_match_their_release, check_2_11);

static void check_keys(const char *name, uint32_t keys)
{
    mv_arena *arena = mvt_memory();
    mv_trace trace = read_made(name), bin, plain;

    cr_expect_eq(trace.keys, keys, "%s: %u", name, trace.keys);
    mvt_ok(mv_trace_read_bytes(arena, mvt_snapshot_of(arena, &trace), &bin, mvt_err()));
    mvt_ok(mv_trace_read_bytes(arena, mvt_plain_of(arena, &bin), &plain, mvt_err()));
    cr_expect_eq(bin.keys, keys, "%s: %u", name, bin.keys);
    cr_expect_eq(plain.keys, keys, "%s: %u", name, plain.keys);
}

Test(releases, formats_keep_the_keys)
{
    static const uint32_t address = MV_KEYS_KNOWN | MV_KEY_BLOCK_ADDRESS;

    check_keys("torch_1_13.pickle", MV_KEYS_KNOWN);
    check_keys("torch_2_0.pickle", MV_KEYS_KNOWN);
    check_keys("torch_2_2.pickle", address);
    check_keys("torch_2_3.pickle", address | MV_KEY_SETTINGS);
    check_keys("torch_2_5.pickle", address | MV_KEY_SETTINGS | MV_KEY_ANNOTATIONS);
    check_keys("torch_2_14.pickle", address | MV_KEY_SETTINGS | MV_KEY_ANNOTATIONS | MV_KEY_HOST);
}

/* The plain format must have exactly the keys and values of its input, even after conversion
 * through a .bin file. */
LongTest(releases, the_plain_form_equals_the_output_of_python)
{
    mvt_run r = mvt_sh("set -e; for in in $RELEASES/*.pickle $SNAPS/streams.pickle; do"
                       " $MEMVIZ convert -q $in a.bin; $MEMVIZ convert -q a.bin x.msgpack;"
                       " /usr/bin/python3 %s x.msgpack $in; done",
                       MV_TESTDATA "/../tests/programs/unpack_msgpack.py");

    cr_expect_eq(r.status, 0, "%s%s", r.out, r.err);
}

/* ---- stacks of 1.13 and 2.0 ------------------------------------------------------------------ */

static const char *const oldest[] = {"torch_1_13.pickle", "torch_2_0.pickle"};

/* Blocks alive at the end have stack and size from the blocks' history. */
Test(releases, stacks_come_from_the_history_of_blocks)
{
    for (size_t i = 0; i < 2; i++) {
        uint64_t requested = 0, with_stack = 0;
        mv_trace trace = read_made(oldest[i]);
        trace.device_count = 0; /* as if only the heap had been recorded */
        mv_lives l = mvt_lives(mvt_memory(), &trace, 0);
        cr_expect_eq(l.allocs.count, 9);
        for (uint32_t k = 0; k < l.allocs.count; k++) {
            requested += l.allocs.requested[k];
            with_stack += l.allocs.stack[k].row != MV_NO_ROW;
        }
        cr_expect_eq(with_stack, 9, "%s", oldest[i]);
        cr_expect_eq(requested, 2 * (3145728 + 135168 + 2100736 + 700) + 5242880, "%s: %lu",
                     oldest[i], (unsigned long)requested);
    }
}

/* Returns the bytes of the rows with a frame in the user's file. */
static double bytes_of_user(const cJSON *report, const char *rows)
{
    const cJSON *row, *frame;
    double sum = 0;

    cJSON_ArrayForEach(row, mvt_member(report, rows)) {
        bool is_there = false;
        cJSON_ArrayForEach(frame, mvt_member(row, "frames")) {
            const char *name = cJSON_GetStringValue(mvt_member(frame, "file"));
            is_there = is_there || (name && strcmp(name, "/home/me/train.py") == 0);
        }
        sum += is_there ? mvt_json_number(row, "bytes") : 0;
    }
    return sum;
}

static bool names_code(const char *text)
{
    return strstr(text, "train.py:5 build") || strstr(text, "train.py:50 evaluate");
}

/* Every command that names code must name it. */
Test(releases, commands_name_the_lines_of_old_files)
{
    for (int i = 0; i < 2; i++) {
        const char *file = oldest[i];
        cJSON *peak = mvt_json_here(0, "$MEMVIZ peak --json --at end $RELEASES/%s", file);
        cJSON *leaks = mvt_json_here(0, "$MEMVIZ leaks --json $RELEASES/%s", file);
        mvt_run lines = mvt_here("$MEMVIZ lines $RELEASES/%s", file);
        mvt_run fragmentation = mvt_here("$MEMVIZ fragmentation $RELEASES/%s", file);
        mvt_run memory = mvt_here("$MEMVIZ memory $RELEASES/%s -o x.folded", file);
        mvt_run segments = mvt_here("$MEMVIZ segments $RELEASES/%s -o y.folded", file);
        double end = mvt_json_number(peak, "at.allocated");
        cr_expect_eq(bytes_of_user(peak, "sites"), end, "%s", file);
        cr_expect_eq(bytes_of_user(leaks, "retained"), end, "%s", file);
        cr_expect(names_code(lines.out) && names_code(fragmentation.out), "%s%s", lines.err,
                  fragmentation.err);
        cr_assert_eq(memory.status + segments.status, 0, "%s%s", memory.err, segments.err);
        cr_expect(strstr(mvt_take("x.folded", NULL), "train.py:50"), "%s", file);
        cr_expect(strstr(mvt_take("y.folded", NULL), "train.py:50"), "%s", file);
    }
}

/* An entry that starts elsewhere is an earlier user of the bytes, not the block itself. */
Test(releases, history_of_others_is_not_the_blocks)
{
    mv_trace trace = read_made("torch_2_0.pickle");
    trace.device_count = 0;
    for (uint32_t i = 0; i < trace.history.count; i++)
        trace.history.addr[i] += 512;
    mv_lives l = mvt_lives(mvt_memory(), &trace, 0);
    for (uint32_t i = 0; i < l.allocs.count; i++)
        cr_expect_eq(l.allocs.stack[i].row, MV_NO_ROW);
}

/* The final heap comes from another allocator, in Python: every size leads to it, and the replay
 * finds every address. With CUDA's rule both fail. */
Test(releases, sizes_and_replay_of_torch_npu)
{
    static const char *const names[] = {"torch_npu.pickle", "npu_rounding.pickle"};

    for (size_t i = 0; i < 2; i++) {
        cJSON *stats = mvt_json_here(0, "$MEMVIZ stats --json $RELEASES/%s", names[i]);
        cJSON *whatif = mvt_json_here(0, "$MEMVIZ whatif --json --conf '' $RELEASES/%s", names[i]);
        mvt_run info = mvt_sh("COLUMNS=120 $MEMVIZ info $RELEASES/%s", names[i]);
        cr_expect(cJSON_IsTrue(mvt_member(stats, "devices.0.audit.exact")), "%s", names[i]);
        cr_expect(cJSON_IsTrue(mvt_member(whatif, "fidelity.exact")), "%s", names[i]);
        cr_expect(strstr(info.out, "9 of 9 blocks, CUDA's rule 2"), "%s", info.out);
    }
}

Test(releases, every_block_of_torch_npu_is_32_bytes_and_rounding)
{
    mv_trace trace = read_made("npu_rounding.pickle");
    mv_lives l = mvt_lives(mvt_memory(), &trace, 0);
    cr_assert_gt(l.allocs.count, 50);
    for (uint32_t i = 0; i < l.allocs.count; i++)
        cr_expect_eq(l.allocs.block[i], (l.allocs.requested[i] + 32 + 511) / 512 * 512);
    cr_expect_eq(l.doubts.misplaced + l.doubts.resized_blocks + l.doubts.lost_frees, 0);
}

/* ---- rings ----------------------------------------------------------------------------------- */

Test(releases, the_buffers_of_all_devices_are_recognised)
{
    static const struct {
        const char *name;
        uint32_t device;
        mv_history_kind kind;
        uint32_t ring;
    } all[] = {
        {"ring_of_one.pickle", 0, MV_HISTORY_TRUNCATED, 1},
        {"ring_of_one.pickle", 1, MV_HISTORY_TRUNCATED, 1},
        {"idle_beside_busy.pickle", 0, MV_HISTORY_COMPLETE, 0},
        {"idle_beside_busy.pickle", 1, MV_HISTORY_COMPLETE, 0},
        {"full_beside_full.pickle", 0, MV_HISTORY_TRUNCATED, 36},
        {"full_beside_full.pickle", 1, MV_HISTORY_TRUNCATED, 36},
        {"late_beside_busy.pickle", 0, MV_HISTORY_COMPLETE, 0},
        {"late_beside_busy.pickle", 1, MV_HISTORY_LATE, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mv_trace trace = read_made(all[i].name);
        mv_totals totals;
        mv_lives l = mvt_lives(mvt_memory(), &trace, all[i].device);
        mvt_ok(mv_totals_find(mvt_memory(), &trace, &l, &totals, mvt_err()));
        cr_expect_eq(l.history, all[i].kind, "%s, device %u: %s", all[i].name, all[i].device,
                     l.history_why);
        cr_expect_eq(l.ring, all[i].ring, "%s, device %u: %u", all[i].name, all[i].device, l.ring);
        cr_expect_eq(totals.audit.exact, all[i].kind == MV_HISTORY_COMPLETE, "%s, device %u",
                     all[i].name, all[i].device);
        cr_expect_eq(totals.audit.total == MV_BOUND_EXACT, all[i].kind == MV_HISTORY_COMPLETE);
    }
}

/* The file's facts about its buffer decide. */
Test(releases, the_buffer_size_comes_from_the_file)
{
    static const struct {
        const char *key;
        uint64_t value;
        mv_history_kind kind;
    } all[] = {{"trace_alloc_max_entries", 2, MV_HISTORY_TRUNCATED},
               {"trace_alloc_max_entries", 3, MV_HISTORY_COMPLETE},
               {NULL, 0, MV_HISTORY_COMPLETE}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_trace *t = mvt_new();
        mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20);
        mvt_alloc(t, .addr = 0x200000, .bytes = 512);
        mvt_final_heap(t);
        if (all[i].key)
            mvt_setting_int(t, all[i].key, (int64_t)all[i].value);
        mv_lives l = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        cr_expect_eq(l.history, all[i].kind, "%zu: %s", i, l.history_why);
    }
}

Test(releases, info_reports_the_size_of_the_full_buffer)
{
    cJSON *ring = mvt_json_here(0, "$MEMVIZ info --json $SNAPS/ring.pickle");
    cJSON *whole = mvt_json_here(0, "$MEMVIZ info --json $SNAPS/gpt_train.pickle");

    cr_expect_eq(mvt_json_number(ring, "devices.0.ring"), 500);
    cr_expect(cJSON_IsNull(mvt_member(whole, "devices.0.ring")));
}

Test(releases, messages_name_missing_data)
{
    mvt_run stats = mvt_here("$MEMVIZ stats $SNAPS/no_history.pickle");
    mvt_run info = mvt_here("$MEMVIZ info $SNAPS/ring.pickle");

    cr_expect(strstr(stats.out, "device 0: no history was recorded\n"), "%s", stats.out);
    cr_expect(strstr(stats.out, ">= 29.1 MiB allocated in all, >= 0 B freed"), "%s", stats.out);
    cr_expect(strstr(info.out, "older events were dropped: the buffer was full"), "%s", info.out);
}

/* Code without lines: PyTorch writes 2^64 - 1; in the contract, `line` is at least 0. */
Test(releases, an_unknown_line_is_0_in_json)
{
    mvt_run r = mvt_sh("set -e; /usr/bin/python3 -c \"import pickle\n"
                       "s = pickle.load(open('$RELEASES/torch_2_5.pickle', 'rb'))\n"
                       "for e in s['device_traces'][0]:\n"
                       "    for f in e['frames']: f['line'] = 2**64 - 1\n"
                       "pickle.dump(s, open('x.pickle', 'wb'))\"; for c in peak trace leaks; do"
                       " $MEMVIZ $c --json --limit 0 x.pickle; done");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "\"line\":0"), "%.400s", r.out);
    cr_expect_not(strstr(r.out, "\"line\":-1"));
    cr_expect_not(strstr(r.out, "18446744073709551615"));
}

/* ---- facts recorded since 2.14 ----------------------------------------------------------- */

static const char *const ways[] = {"line", "metadata", "annotation", "forward", "compile", "fx"};

static double bytes_of_group(const cJSON *report, const char *name)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, mvt_member(report, "groups")) {
        const char *is = cJSON_GetStringValue(mvt_member(row, "name"));
        if (is ? name && strcmp(is, name) == 0 : !name)
            return mvt_json_number(row, "bytes");
    }
    return -1;
}

/* The peak of the synthetic program, which is after backward() of mlp in its last step. The bytes
 * in each group follow from the program's sizes, and the rows of every grouping must add up to the
 * allocated bytes. */
Test(releases, peaks_are_grouped_by_every_recorded_fact)
{
    static const struct {
        const char *by, *name;
        uint64_t bytes;
    } all[] = {
        {"line", "backward", 2 * MIB + 512 * 12},
        {"forward", "train.py:13 mlp", 3 * (2 * MIB + 512 * 7) + 2 * MIB + 512 * 12},
        {"forward", "backward", UINT64_MAX},
        {"metadata", "layer embed", 9 * MIB},
        {"metadata", "embed.weight", 3 * MIB},
        {"metadata", "head.weight", 1024},
        {"annotation", "layer embed", 9 * MIB},
        {"compile", "Torch-Compiled Region: 0/0", 3 * (2 * MIB + 512 * 7)},
        {"compile", "N/A", UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        cJSON *r = mvt_json_here(0, "$MEMVIZ peak --json --by %s $RELEASES/torch_2_14_full.pickle",
                                 ways[i]);
        cr_expect_str_eq(mvt_json_text(r, "by"), ways[i]);
        cr_expect_eq(mvt_json_sum(mvt_member(r, "groups"), "bytes"),
                     mvt_json_number(r, "at.allocated"), "%s", ways[i]);
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (strcmp(all[k].by, ways[i]) == 0)
                cr_expect_eq(bytes_of_group(r, all[k].name),
                             all[k].bytes == UINT64_MAX ? -1 : (double)all[k].bytes,
                             "by %s, %s: %.0f", ways[i], all[k].name,
                             bytes_of_group(r, all[k].name));
    }
}

/* Every grouping must contain the same allocations. */
Test(releases, lines_by_everything_add_up_to_the_same)
{
    static const char *const keys[] = {"total_bytes", "live_bytes", "allocations"};
    cJSON *plain = mvt_json_here(0, "$MEMVIZ lines --json $RELEASES/torch_2_14_full.pickle");

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        cJSON *r = mvt_json_here(0, "$MEMVIZ lines --json --by %s $RELEASES/torch_2_14_full.pickle",
                                 ways[i]);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            cr_expect_eq(mvt_json_sum(mvt_member(r, "lines"), keys[k]),
                         mvt_json_sum(mvt_member(plain, "lines"), keys[k]), "%s", ways[i]);
    }
}

Test(releases, nodes_of_fx_are_groups)
{
    mvt_run r = mvt_here("$MEMVIZ peak --at end --by fx $RELEASES/torch_2_14_full.pickle");

    cr_expect(strstr(r.out, "6.00 MiB   28 %       1  addmm_1 (aten.addmm.default)"), "%s", r.out);
}

/* Without the facts for a grouping, everything is in one remaining group; words for pictures
 * are refused. */
Test(releases, files_without_groups_have_one_group)
{
    static const mvt_expected_run refused[] = {
        {"peak --by use", 2, NULL, "--by use: expected one of: line metadata"},
        {"segment_plot -o x.svg --by fx", 2, NULL, "--by fx"}};
    cJSON *r = mvt_json_here(0, "$MEMVIZ peak --json --by compile $RELEASES/torch_2_1.pickle");

    cr_expect_eq(bytes_of_group(r, NULL), mvt_json_number(r, "at.allocated"));
    cr_expect_eq(cJSON_GetArraySize(mvt_member(r, "groups")), 1);
    MVT_EXPECT_RUNS("$MEMVIZ %s $RELEASES/torch_2_1.pickle", refused);
}

/* Releases before 2.1 wrote no pool: no report calls it the default one. */
Test(releases, pools_missing_from_the_file_are_unknown)
{
    for (unsigned i = 0; i < 2; i++) {
        mvt_run stats = mvt_here("$MEMVIZ stats $RELEASES/%s", oldest[i]);
        cJSON *r = mvt_json_here(0, "$MEMVIZ stats --json $RELEASES/%s", oldest[i]), *pool;
        mvt_run segments = mvt_here("$MEMVIZ segments $RELEASES/%s -o x.folded", oldest[i]);
        const char *folded = mvt_take("x.folded", NULL);

        cr_expect(strstr(stats.out, "\n  large (unknown pool)"), "%s", stats.out);
        cr_assert_not_null(folded, "%s", segments.err);
        cr_expect(strstr(folded, ";large (unknown pool);"), "%s", folded);
        cr_expect_null(strstr(stats.out, "(0, 0)"), "%s", stats.out);
        cr_expect_null(strstr(folded, "(0, 0)"), "%s", folded);
        cJSON_ArrayForEach(pool, mvt_member(r, "devices.0.pools"))
            cr_expect(cJSON_IsNull(mvt_member(pool, "pool_id")));
    }
}

/* 8 and 2 MiB were pinned; the smaller block is free again. */
Test(releases, pinned_memory_is_in_stats_and_info)
{
    cJSON *r = mvt_json_here(0, "$MEMVIZ stats --json $RELEASES/torch_2_14_full.pickle");
    cJSON *none = mvt_json_here(0, "$MEMVIZ stats --json $RELEASES/torch_2_14.pickle");
    mvt_run stats = mvt_here("$MEMVIZ stats $RELEASES/torch_2_14_full.pickle");
    mvt_run info = mvt_here("$MEMVIZ info $RELEASES/torch_2_14_full.pickle");

    cr_expect_eq(mvt_json_number(r, "host.current.reserved"), 10 * MIB);
    cr_expect_eq(mvt_json_number(r, "host.current.allocated"), 8 * MIB);
    cr_expect_eq(mvt_json_number(r, "host.peak.allocated"), 10 * MIB);
    cr_expect_eq(mvt_json_number(r, "host.events"), 6);
    cr_expect(cJSON_IsNull(mvt_member(none, "host")));
    cr_expect(strstr(stats.out, "host: 10.0 MiB pinned in 2 segments, 8.00 MiB of it allocated"),
              "%s", stats.out);
    cr_expect(strstr(info.out, "segments 2, 10.0 MiB; 8.00 MiB allocated; events 6"), "%s",
              info.out);
}
