/* Snapshots and torch.profiler traces of the same run, and of runs that only look alike. */
#include "analyze/join/join.h"
#include "base/texts.h"
#include "tests/fixture/fixture.h"

enum { BLOCKS = 200, FIRST_US = 1000000 };

/* How the snapshot is made: blocks at a few addresses, used again and again. */
static mvt_trace *snapshot(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x100000, .bytes = 0x100000, .time_us = FIRST_US - 1000,
                      .stack = "main:train.py:1");
    for (uint32_t i = 0; i < BLOCKS; i++) {
        mvt_alloc(t, .addr = 0x100000 + i % 64 * 0x1000, .bytes = 500, .stack = "step:train.py:7",
                  .time_us = FIRST_US + i * 40);
        mvt_free(t, .addr = 0x100000 + i % 64 * 0x1000, .time_us = FIRST_US + i * 40 + 20);
    }
    mvt_alloc(t, .addr = 0x180000, .bytes = 512, .time_us = FIRST_US + BLOCKS * 40 + 1000);
    return t;
}

typedef struct {
    int64_t offset_us; /* shift of the profiler's clock */
    int64_t jitter_us; /* times differ by up to this much in either direction */
    uint64_t moved;    /* addresses */
    uint64_t bytes;
    uint32_t missing; /* number of events at addresses that are not in the snapshot; 0: none */
    uint32_t count;   /* number of events; 0: all */
} profile_opts;

/* Writes the events that the profiler records for the snapshot, as JSON. */
static mv_trace profile(mvt_trace *t, profile_opts o)
{
    static char text[BLOCKS * 512 + 64];
    uint32_t seed = 1, count = o.count ? o.count : BLOCKS;
    mv_trace trace;

    snprintf(text, sizeof text, "{\"traceEvents\":[");
    for (uint32_t i = 0; i < count; i++) {
        uint64_t addr = 0x100000 + i % 64 * 0x1000 + o.moved;
        seed = seed * 1103515245 + 12345;
        int64_t late = o.jitter_us ? (int64_t)((seed >> 8) % (2 * o.jitter_us)) - o.jitter_us : 0;
        if (o.missing && i % o.missing == 0)
            addr += 0x10000000;
        for (int is_free = 0; is_free < 2; is_free++)
            mv_text_append(
                text, sizeof text,
                "%s{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%lld.5,\"args\":{"
                "\"Device Type\":1,\"Device Id\":0,\"Addr\":%llu,\"Bytes\":%s%llu}}",
                i || is_free ? "," : "",
                (long long)(FIRST_US + i * 40 + is_free * 15 + 2 + o.offset_us + late),
                (unsigned long long)addr, is_free ? "-" : "", (unsigned long long)o.bytes);
        mv_text_append(
            text, sizeof text,
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op%u\",\"pid\":1,\"tid\":1,"
            "\"ts\":%lld,\"dur\":10,\"args\":{\"Input Dims\":[[%u,4]],\"Input type\":[\"float\"]}}",
            i % 3, (long long)(FIRST_US + i * 40 + o.offset_us + late), i % 5 + 1);
    }
    mv_text_append(text, sizeof text, "]}");
    mvt_ok(mv_trace_read_bytes(mvt_arena(t), mv_text_span(text), &trace, mvt_err()));
    return trace;
}

static mv_code joined(mvt_trace *t, profile_opts o, mv_trace *trace, mv_join *out)
{
    mv_trace other = profile(t, o);

    *trace = *mvt_done(t);
    *mvt_err() = (mv_err){0};
    return mv_join_trace(mvt_arena(t), trace, &other, out, mvt_err());
}

static void expect_refused(profile_opts o, const char *why)
{
    mvt_trace *t = snapshot();
    mv_trace trace;
    mv_join found;

    cr_expect_neq(joined(t, o, &trace, &found), MV_OK, "%s", why);
    cr_expect(strstr(mvt_err()->detail, why), "%s: %s", why, mvt_err()->detail);
    mvt_drop(t);
}

Test(join, blocks_get_their_operators_and_shapes)
{
    mvt_trace *t = snapshot();
    const mv_trace *before = mvt_done(t);
    const mv_tag_id *old = before->devices[0].events.tag;
    mv_trace trace;
    mv_join found;
    uint32_t nth = 0;

    mvt_ok(joined(t, (profile_opts){.bytes = 512}, &trace, &found));
    cr_expect_eq(found.events, BLOCKS);
    cr_expect_eq(found.matched, BLOCKS);
    cr_expect_eq(found.operators, BLOCKS);
    cr_expect_eq(found.outside, 0);
    cr_expect_eq(found.offset_us, 2);
    for (uint32_t i = 0; i < trace.devices[0].events.count; i++) {
        mv_tag_id tag = trace.devices[0].events.tag[i];
        char op[32], shapes[32];
        if (trace.devices[0].events.action[i] != MV_ACTION_ALLOC || nth == BLOCKS) {
            cr_expect_eq(trace.tags.op[tag.row].row, MV_NO_ROW);
            continue;
        }
        snprintf(op, sizeof op, "aten::op%u", nth % 3);
        snprintf(shapes, sizeof shapes, "[%u,4] f32", nth % 5 + 1);
        cr_expect_str_eq(mv_string_text(&trace, trace.tags.op[tag.row]), op);
        cr_expect_str_eq(mv_string_text(&trace, trace.tags.shapes[tag.row]), shapes);
        nth++;
    }
    cr_expect_eq(trace.tags.count, 1 + 15, "one for each operator with its shapes");
    cr_expect_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
    cr_expect_eq(before->devices[0].events.tag, old, "others have the trace, too");
    cr_expect_eq(before->tags.count, 1);
}

Test(join, the_clocks_may_differ)
{
    static const int64_t offsets[] = {-15, 15, 130, -130};

    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        mvt_trace *t = snapshot();
        mv_trace trace;
        mv_join found;
        mvt_ok(joined(t, (profile_opts){.bytes = 512, .offset_us = offsets[i]}, &trace, &found));
        cr_expect_eq(found.matched, BLOCKS);
        cr_expect_eq(found.offset_us, 2 + offsets[i]);
        mvt_drop(t);
    }
}

Test(join, a_trace_may_cover_a_part_and_have_gaps)
{
    mvt_trace *t = snapshot();
    mv_trace trace;
    mv_join found;

    mvt_ok(joined(t, (profile_opts){.bytes = 1024, .missing = 12, .count = 100}, &trace, &found));
    cr_expect_eq(found.events, 100);
    cr_expect_eq(found.matched, 100 - 9);
}

Test(join, a_file_of_another_run_is_refused)
{
    expect_refused((profile_opts){.bytes = 512, .missing = 8}, "within the snapshot's time");
    expect_refused((profile_opts){.bytes = 512, .moved = 0x40000000}, "another run or rank");
    expect_refused((profile_opts){.bytes = 499}, "another run or rank");
    expect_refused((profile_opts){.bytes = 512, .offset_us = 60000000}, "another run: 59.9");
    expect_refused((profile_opts){.bytes = 512, .offset_us = -60000000}, "another run: 59.9");
}

/* The ranks of one run do the same things at the same addresses, at nearly the same time. */
Test(join, another_rank_is_refused_by_its_times)
{
    expect_refused((profile_opts){.bytes = 512, .jitter_us = 400}, "at other times");
}

Test(join, a_snapshot_without_times_is_refused)
{
    mvt_trace *t = mvt_new();
    mv_trace trace;
    mv_join found;

    mvt_alloc(t, .addr = 0x100000, .bytes = 512, .time_us = MV_NO_TIME);
    cr_expect_neq(joined(t, (profile_opts){.bytes = 512}, &trace, &found), MV_OK);
    cr_expect(strstr(mvt_err()->detail, "no events with times"), "%s", mvt_err()->detail);
}
