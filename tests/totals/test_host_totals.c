/* Pinned memory in stats: its peaks must equal those of the host level, with the same
 * uncertainty. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

/* 8 and 2 MiB were pinned and used, then the 2 MiB were freed. The first `dropped` host events
 * are missing. */
static const char *file_without(uint32_t dropped)
{
    mv_trace trace = mvt_load(mvt_memory(), "../releases/torch_2_14_full"), host = trace;
    mv_device device = {.events = trace.host_events};

    cr_assert_geq(trace.host_events.count, dropped);
    host.device_count = 1;
    host.devices = &device;
    mvt_drop_first(mvt_memory(), &host, dropped);
    trace.host_events = host.devices[0].events;
    return mvt_temp_file(mvt_pickle_of(mvt_memory(), &trace, false));
}

/* A snapshot with one pinned block of `pinned` MiB, for a request of `asked` MiB. */
static const char *pinned_file(uint64_t pinned, uint64_t asked, int64_t threshold)
{
    mvt_trace *t = mvt_new();

    mvt_setting_int(t, "max_round_threshold", threshold);
    mvt_segment(t, .addr = 0x600000000000, .bytes = pinned * MIB, .small = true);
    mvt_block(t, .bytes = pinned * MIB, .requested = asked * MIB, .state = MV_BLOCK_ALLOCATED,
              .stack = "__init__:cache.py:12");
    mv_trace trace = *mvt_done(t);
    trace.host_segments = trace.segments;
    trace.segments = (mv_segments){0};
    return mvt_temp_file(mvt_pickle_of(mvt_arena(t), &trace, false));
}

static void expect_note(const char *file, const char *note)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ triage --json %s", file);

    if (*note)
        cr_expect(strstr(run.out, note), "%s, not %s", run.out, note);
    else
        cr_expect_null(strstr(run.out, "rounding"), "%s", run.out);
}

/* Real files have the rounded size as the request: up to half of a power of two may then
 * be rounding. */
Test(host_totals, rounding_of_pinned_memory_is_reported)
{
    expect_note(pinned_file(256, 160, -1),
                "pinned memory: 96.0 MiB of 256 MiB pinned is rounding to powers of "
                "two; pinned_max_round_threshold_mb:N");
    expect_note(pinned_file(256, 256, -1),
                "pinned memory: up to 128 MiB of 256 MiB pinned is rounding to powers of two (the "
                "requests are not in the file); pinned_max_round_threshold_mb:N");
    /* small, not a power of two, or above a setting's threshold */
    expect_note(pinned_file(256, 240, -1), "");
    expect_note(pinned_file(64, 64, -1), "");
    expect_note(pinned_file(240, 240, -1), "");
    expect_note(pinned_file(256, 256, 128 * MIB), "");
    expect_note(pinned_file(256, 256, 512 * MIB), "up to 128 MiB of 256 MiB pinned");
}

static void expect_same(const cJSON *json, const cJSON *level, const char *figure)
{
    cr_expect_eq(mvt_json_number(mvt_member(json, "host"), figure),
                 mvt_json_number(mvt_member(level, "devices.0"), figure), "%s", figure);
}

LongTest(host_totals, peaks_equal_those_of_the_level)
{
    for (uint32_t dropped = 0; dropped <= 6; dropped++) {
        const char *file = file_without(dropped);
        const cJSON *json = mvt_json(0, "$MEMVIZ stats --json %s", file);
        const cJSON *level = mvt_json(0, "$MEMVIZ stats --json --level host %s", file);
        mvt_run run = mvt_here_or_sh("COLUMNS=200 $MEMVIZ stats %s", file);
        bool is_all = dropped == 0;

        expect_same(json, level, "peak.allocated");
        expect_same(json, level, "peak.reserved");
        expect_same(json, level, "current.allocated");
        cr_expect_str_eq(mvt_json_text(json, "host.history"),
                         mvt_json_text(level, "devices.0.history"));
        cr_expect_eq(cJSON_IsTrue(mvt_member(json, "host.peak_exact.allocated")), is_all);
        cr_expect_eq(cJSON_IsTrue(mvt_member(json, "host.peak_exact.reserved")), is_all);
        cr_expect_eq(strstr(run.out, "; peaks 10.0 MiB pinned, 10.0 MiB") != NULL, is_all, "%s",
                     run.out);
        cr_expect_eq(strstr(run.out, "; peaks >= 10.0 MiB pinned, >= ") != NULL, !is_all, "%s",
                     run.out);
        cr_expect(is_all || strstr(run.out, "\n  history "), "%s", run.out);
    }
}

/* A batch of 8 MiB is pinned again and again and kept, without step marks; the device's own memory
 * is in doubt as well, or clean. */
#define SKIP_SEGMENTS(T, id, name, ...) \
    trace.host_segments.name += trace.host_segments.name ? own : 0;
static void expect_doubt_of_the_host(bool device_keeps)
{
    mvt_trace *t = mvt_new();
    uint32_t own;

    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB, .stack = "init:a.py:3");
    mvt_alloc(t, .addr = 0x40000000, .bytes = 8 * MIB, .stack = "init:a.py:3");
    for (int i = 0; i < 30; i++) {
        mvt_alloc(t, .addr = 0x40800000, .bytes = 4 * MIB, .stack = "forward:a.py:10");
        mvt_free(t, .addr = 0x40800000);
    }
    if (!device_keeps) {
        mvt_free(t, .addr = 0x40000000);
        mvt_segment_free(t, .addr = 0x40000000, .bytes = 20 * MIB);
    }
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t at = 0x600000000000 + 16 * i * MIB;
        mvt_segment_alloc(t, .device = 1, .addr = at, .bytes = 8 * MIB, .stack = "keep:a.py:20");
        mvt_alloc(t, .device = 1, .addr = at, .bytes = 8 * MIB, .stack = "keep:a.py:20");
    }
    mvt_final_heap(t);
    mv_trace trace = *mvt_done(t);
    for (own = 0; own < trace.segments.count && trace.segments.device[own] == 0;)
        own++;
    cr_assert_eq(own, device_keeps);
    trace.host_segments = trace.segments;
    trace.segments.count = own;
    trace.host_segments.count -= own;
    MV_SEGMENT_COLUMNS(SKIP_SEGMENTS, )
    trace.host_events = trace.devices[1].events;
    trace.device_count = 1;
    mvt_run run = mvt_here_or_sh("$MEMVIZ triage --csv %s",
                                 mvt_temp_file(mvt_pickle_of(mvt_arena(t), &trace, 0)));
    cr_expect(strstr(run.out, "pinned memory: leaks unknown: no steps were found; 30 blocks of "
                              "a.py:20 keep"),
              "%s%s", run.out, run.err);
}

Test(host_totals, cached_pinned_memory_is_reported_next_to_a_doubt_of_the_device)
{
    expect_doubt_of_the_host(false);
    expect_doubt_of_the_host(true);
}
