/* Digests in a container: `info` prints its figures about the events without reading the events. */
#include "tests/container/fixture_files.h"
#include "tests/fixture/fixture_json.h"

static const char *const snapshots[] = {
    "annotated.pickle",
    "compiled.pickle",
    "expandable_empty.pickle",
    "graphs.pickle",
    "late_start.pickle",
    "leak_cycle.pickle",
    "mempool.pickle",
    "no_history.pickle",
    "oom.pickle",
    "ring.pickle",
    "two_devices.pickle",
    "streams.pickle",
    "../captures/train.bin",
    "../captures/plain_clean.bin",
};

static mv_trace read_without_events(const char *name)
{
    return mvt_trace_of(name, &(mv_read_opts){.digest_suffices = true});
}

/* Returns the report without its parts about the file itself. */
static char *report_of(const char *command, const char *name)
{
    static const char *const of_file[] = {"file", "file_bytes", "data_bytes"};
    cJSON *report = mvt_json_here(0, "$MEMVIZ %s --json %s", command, name);

    for (unsigned i = 0; i < sizeof of_file / sizeof *of_file; i++)
        cJSON_DeleteItemFromObject(report, of_file[i]);
    char *text = cJSON_Print(report);
    mvt_at_end(free, text);
    return text;
}

LongTest(digest, info_is_unchanged_without_the_events)
{
    static const char *const commands[] = {"oom", "info -q"};

    for (unsigned i = 0; i < sizeof snapshots / sizeof *snapshots; i++) {
        mvt_run r = mvt_here("$MEMVIZ convert -q $SNAPS/%s a.bin", snapshots[i]);
        mvt_container *c = mvt_container_of("a.bin");
        mv_trace trace = read_without_events("a.bin");

        cr_assert_eq(r.status, 0, "%s", r.err);
        if (trace.device_count > 0 && trace.devices[0].events.count > 0) {
            cr_expect_not_null(trace.digests, "%s", snapshots[i]);
            cr_expect_null(trace.devices[0].events.addr);
            mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_DIGEST));
        }
        mvt_put_container("b.bin", c);
        cr_expect_null(read_without_events("b.bin").digests);
        for (unsigned k = 0; k < sizeof commands / sizeof *commands; k++)
            mvt_same_text(report_of(commands[k], "b.bin"), report_of(commands[k], "a.bin"), "%s",
                          snapshots[i]);
    }
}

/* A trace with every peculiarity that a digest records. */
static void make_odd(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000, .bytes = 2 << 20, .time_us = 50);
    mvt_alloc(t, .addr = 0x10000, .bytes = 512, .stack = "step:train.py:7", .time_us = 40);
    mvt_free(t, .addr = 0x10000, .bytes = 512, .time_us = 30);
    mvt_put_with_digests("odd.bin", mvt_done(t), 0);
}

Test(digest, contradictory_digests_are_ignored)
{
    mv_wire_digest good, bad;

    make_odd();
    mv_trace whole = read_without_events("odd.bin");
    cr_assert_not_null(whole.digests);
    cr_expect_gt(whole.notes[MV_NOTE_UNSORTED_TIME].count, 0);
    mvt_container *c = mvt_container_of("odd.bin");
    memcpy(&good, mvt_chunk_of(c, MV_WIRE_DIGEST)->stored, sizeof good);
    for (unsigned i = 0; i < 9; i++) {
        bad = good;
        bad.rules += i == 0;
        bad.device += i == 1;
        bad.events += i == 2;
        bad.count[0] += i == 3;
        bad.unsorted += i == 4 ? 1000 : 0;
        bad.history += i == 5 ? 4 : 0;
        bad.why[0] = i == 6 ? '\033' : bad.why[0];
        memset(bad.why, i == 7 ? 'a' : bad.why[0], i == 7 ? sizeof bad.why : 1);
        bad.count[15] += i == 8;
        memcpy(mvt_chunk_of(c, MV_WIRE_DIGEST)->stored, &bad, sizeof bad);
        mvt_put_container("bad.bin", c);
        whole = read_without_events("bad.bin");
        cr_expect_null(whole.digests, "case %u", i);
        cr_expect_eq(whole.notes[MV_NOTE_DAMAGED].count, 0);
    }
}

/* The report on failed requests skips the events only if no request can have failed. */
Test(digest, events_are_read_if_a_request_may_have_failed)
{
    static const struct {
        const char *name;
        bool is_read;
    } cases[] = {
        {"leak_cycle.pickle", false}, {"oom.pickle", true}, {"expandable_empty.pickle", true}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_read_opts opts = {.digest_suffices = true, .needs_failures = true};
        cr_assert_eq(mvt_here("$MEMVIZ convert -q $SNAPS/%s c.bin", cases[i].name).status, 0);
        cr_expect_eq(mvt_trace_of("c.bin", &opts).digests == NULL, cases[i].is_read, "%s",
                     cases[i].name);
    }
}

/* Rows of other tables are lost, so events refer to missing rows. A digest does not show that. */
Test(digest, a_damaged_file_is_read_whole)
{
    make_odd();
    mvt_container *c = mvt_container_of("odd.bin");
    mv_span file = mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX);
    ((uint8_t *)file.data)[mvt_chunk_of(c, MV_WIRE_FRAMES)->at + sizeof(mv_wire_chunk)] ^= 1;
    mvt_folder_put("hurt.bin", file);
    mv_trace trace = read_without_events("hurt.bin");
    cr_expect_null(trace.digests);
    cr_expect_gt(trace.notes[MV_NOTE_DAMAGED].count, 0);
    cr_expect_not_null(trace.devices[0].events.addr);
}

/* The index and the totals declare rows for which there is no chunk. */
Test(digest, a_file_without_a_chunk_is_read_whole)
{
    mvt_here("$MEMVIZ convert -q $SNAPS/annotated.pickle a.bin");
    mvt_container *c = mvt_container_of("a.bin");
    mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_ANNOTATIONS));
    mvt_put_container("b.bin", c);
    mv_trace trace = read_without_events("b.bin");

    cr_expect_gt(trace.notes[MV_NOTE_DAMAGED].count, 0);
    cr_expect_null(trace.digests);
    cr_expect_not_null(trace.devices[0].events.addr);
}
