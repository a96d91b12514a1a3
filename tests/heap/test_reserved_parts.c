/* The parts that make up reserved memory: sums on every real snapshot, and heaps whose parts are
 * known. */
#include "analyze/heap/reserved_parts.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static const mv_moment_query at_reserved_peak = {.kind = MV_MOMENT_RESERVED_PEAK,
                                                 .window = {0, UINT32_MAX}};

static mv_reserved parts_of(const mv_trace *trace, uint32_t device, mv_moment_query ask)
{
    mv_reserved found;
    mv_lives lives = mvt_lives(mvt_memory(), trace, device);

    if (ask.window.end == UINT32_MAX)
        ask.window.end = lives.events.count;
    mvt_ok(mv_reserved_find(mvt_memory(), trace, &lives, ask, &found, mvt_err()));
    return found;
}

static void expect_sum(const mv_trace *trace, uint32_t device, const char *name)
{
    uint32_t count = mv_trace_events(trace, device).count;
    for (uint32_t k = 0; k < 4; k++) {
        mv_moment_query ask = at_reserved_peak;
        int64_t sum = 0;
        if (k > 0)
            ask = (mv_moment_query){.event = count ? (count - 1) / k : MV_BEFORE,
                                    .window = {0, count}};
        mv_reserved r = parts_of(trace, device, ask);
        for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++)
            sum += r.part[i];
        cr_expect_eq(sum, (int64_t)r.reserved, "%s", name);
        cr_expect_eq(r.part[MV_RESERVED_UNEXPLAINED], 0, "%s", name);
        cr_expect_geq(r.part[MV_RESERVED_HOLES], 0, "%s", name);
        cr_expect_geq(r.part[MV_RESERVED_UNUSED], 0, "%s", name);
        cr_expect(k == 0 || r.part[MV_RESERVED_APART] == 0, "%s", name);
    }
}

EachDevice(reserved_parts, parts_add_up_on_every_snapshot, expect_sum);

/* 12 MiB are in use at once, 10 MiB of them on one stream. The other stream needs 10 MiB later. */
Test(reserved_parts, streams_with_needs_at_different_times_have_a_part)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 10 * MIB);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 10 * MIB);
    mvt_free(t, .addr = 0x10000000);
    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 12 * MIB, .stream = 7);
    mvt_alloc(t, .addr = 0x20000000, .bytes = 12 * MIB, .stream = 7);
    mvt_final_heap(t);
    mv_reserved r = parts_of(mvt_done(t), 0, at_reserved_peak);
    cr_expect_eq(r.reserved, 22 * MIB);
    cr_expect_eq(r.part[MV_RESERVED_ALLOCATED], (int64_t)(12 * MIB));
    cr_expect_eq(r.part[MV_RESERVED_APART], (int64_t)(10 * MIB));
    cr_expect_eq(r.part[MV_RESERVED_UNUSED], 0);
}

/* At the peak of reserved memory, 20 MiB more are reserved than were ever needed: a hole of 8 MiB,
 * and an unused segment of 12 MiB. */
Test(reserved_parts, holes_and_unused_segments_have_a_part)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 12 * MIB);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 12 * MIB);
    mvt_free(t, .addr = 0x10000000);
    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = 0x20000000, .bytes = 12 * MIB);
    mvt_final_heap(t);
    mv_reserved r = parts_of(mvt_done(t), 0, at_reserved_peak);
    cr_expect_eq(r.reserved, 32 * MIB);
    cr_expect_eq(r.part[MV_RESERVED_ALLOCATED], (int64_t)(12 * MIB));
    cr_expect_eq(r.part[MV_RESERVED_UNUSED], (int64_t)(12 * MIB));
    cr_expect_eq(r.part[MV_RESERVED_HOLES], (int64_t)(8 * MIB));
}

/* With max_split_size_mb, the same program allocates as much, but reserves a gigabyte more. */
LongTest(reserved_parts, a_setting_that_costs_shows_in_the_difference)
{
    cJSON *report =
        mvt_json(0, "$MEMVIZ diff --json $SNAPS/whatif_0.pickle.zst $SNAPS/whatif_2.pickle.zst");
    const cJSON *reserved = cJSON_GetObjectItem(report, "reserved"), *part;
    double sum = 0, unused = 0;

    cr_expect_eq(mvt_json_number(report, "delta"), 0);
    cr_expect_eq(mvt_json_number(reserved, "before"), 1468006400);
    cr_expect_eq(mvt_json_number(reserved, "after"), 2627731456);
    cr_expect_eq(mvt_json_number(reserved, "delta"), 2627731456 - 1468006400);
    cJSON_ArrayForEach(part, cJSON_GetObjectItem(reserved, "parts")) {
        sum += mvt_json_number(part, "delta");
        if (strcmp(mvt_json_text(part, "reason"), "unused_segments") == 0)
            unused = mvt_json_number(part, "delta");
    }
    cr_expect_eq(sum, mvt_json_number(reserved, "delta"));
    cr_expect_gt(unused, 1e9);
}

LongTest(reserved_parts, text_reports_allocated_and_reserved)
{
    static const char *const at[] = {"", "--at reserved-peak"};

    for (int i = 0; i < 2; i++) {
        mvt_run run = mvt_here_or_sh("$MEMVIZ diff %s $SNAPS/whatif_0.pickle.zst "
                                     "$SNAPS/whatif_2.pickle.zst",
                                     at[i]);
        cr_expect(
            strstr(run.out, "+1.08 GiB reserved at its peak: 1.37 GiB before, 2.45 GiB after"),
            "%s", run.out);
        cr_expect(strstr(run.out, i ? "+34.0 KiB allocated at the peak of reserved memory"
                                    : "no change in allocated memory at the peak"),
                  "%s", run.out);
    }
}
