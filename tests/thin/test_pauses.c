/* Pauses: blocks that lived within a pause are removed, and everything alive outside
 * is complete. */

#include "analyze/thin/thin.h"
#include "tests/fixture/fixture_live.h"

static mv_pauses pauses_of(const mv_trace *trace, const char *start_after, const char *stop_after)
{
    mv_pauses pauses;

    mvt_ok(mv_pauses_find(mvt_memory(), trace, start_after, stop_after, &pauses, mvt_err()));
    return pauses;
}

/* A block for each time: "steps" of 1000 us with a mark and a block that lives for 500 us. */
static mvt_trace *ten_steps(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x100000, .bytes = 0x200000, .time_us = 10);
    for (int i = 1; i <= 10; i++) {
        uint64_t at = 0x100000 + (uint64_t)i * 0x1000;
        const char *name = mvt_format("step %d", i);
        mvt_mark(t, name, i * 1000);
        mvt_alloc(t, .addr = at, .bytes = 512, .stack = "f:a.py:1", .time_us = i * 1000 + 100);
        if (i == 4)
            mvt_mark(t, "memviz_pause", 4050);
        if (i == 6)
            mvt_mark(t, "memviz_resume", 6150);
        if (i != 5)
            mvt_free(t, .addr = at, .time_us = i * 1000 + 600);
    }
    mvt_final_heap(t);
    return t;
}

static void expect_pause(const mv_pauses *p, uint32_t i, int64_t from_us, int64_t to_us)
{
    cr_assert_lt(i, p->count);
    cr_expect_eq(p->pauses[i].from_us, from_us);
    cr_expect_eq(p->pauses[i].to_us, to_us);
}

Test(pauses, marks_begin_and_end_a_pause)
{
    const mv_trace *trace = mvt_done(ten_steps());
    mv_pauses p = pauses_of(trace, NULL, NULL);

    cr_assert_eq(p.count, 1);
    expect_pause(&p, 0, 4050, 6150);
    cr_expect_eq(mv_pause_at(&p, 4049), MV_NO_ROW);
    cr_expect_eq(mv_pause_at(&p, 4050), 0);
    cr_expect_eq(mv_pause_at(&p, 6149), 0);
    cr_expect_eq(mv_pause_at(&p, 6150), MV_NO_ROW);
}

Test(pauses, options_name_times_marks_and_steps)
{
    const mv_trace *trace = mvt_done(ten_steps());
    mv_pauses p = pauses_of(trace, "step 2", "9ms");

    cr_assert_eq(p.count, 3);
    expect_pause(&p, 0, INT64_MIN, 2000);
    expect_pause(&p, 2, 9010, INT64_MAX);
    p = pauses_of(trace, "@step 5#1", "step 6");
    cr_assert_eq(p.count, 1); /* the marked pause begins before and ends after */
    expect_pause(&p, 0, INT64_MIN, INT64_MAX);
    p = pauses_of(trace, "no such mark", NULL);
    expect_pause(&p, 0, INT64_MIN, INT64_MAX);
    p = pauses_of(trace, NULL, "step 2#2");
    cr_expect_eq(p.count, 1);
    p = pauses_of(trace, NULL, "3");
    cr_expect_eq(p.count, 1);
    cr_expect(p.pauses[0].from_us > 2000 && p.pauses[0].from_us < 4050);
    cr_expect_not(mv_pause_moment_is_valid("0"));
    cr_expect_not(mv_pause_moment_is_valid("@"));
    cr_expect(mv_pause_moment_is_valid("7"));
}

Test(pauses, blocks_alive_outside_are_complete)
{
    const mv_trace *trace = mvt_done(ten_steps());
    mv_pauses p = pauses_of(trace, NULL, NULL);
    mv_totals before = mvt_audit_of(trace, 0);
    mv_thinned thinned;

    mvt_ok(mv_thin_pauses(mvt_memory(), trace, &p, &thinned, mvt_err()));
    /* Of steps 4 to 6: 4 began and ended in it, 5 is alive, 6 ended after it. */
    cr_expect_eq(thinned.left_out, 3);
    mv_totals after = mvt_audit_of(&thinned.trace, 0);
    cr_expect_eq(after.current.bytes.allocated, before.current.bytes.allocated);
    cr_expect_eq(after.audit.residual, 0);
    cr_expect_not_null(strstr(thinned.trace.notes[MV_NOTE_THINNED].first, "in pauses"));
    cr_expect_eq(thinned.trace.notes[MV_NOTE_THINNED].count, 3);
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    mv_pauses p = pauses_of(trace, "40ms", "400ms");
    mv_thinned thinned;

    mvt_ok(mv_thin_pauses(mvt_memory(), trace, &p, &thinned, mvt_err()));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        mv_lives old = mvt_lives(mvt_memory(), trace, i);
        mv_lives new = mvt_lives(mvt_memory(), &thinned.trace, i);
        uint64_t bytes[2] = {0};
        for (uint32_t k = 0; k < old.allocs.count; k++)
            bytes[0] += old.allocs.freed[k] == MV_NEVER ? old.allocs.block[k] : 0;
        for (uint32_t k = 0; k < new.allocs.count; k++)
            bytes[1] += new.allocs.freed[k] == MV_NEVER ? new.allocs.block[k] : 0;
        cr_expect_eq(bytes[0], bytes[1], "%s: device %u", name, i);
        cr_expect_eq(old.doubts.residual, new.doubts.residual, "%s: device %u", name, i);
    }
}

EachSnapshot(pauses, real_snapshots_keep_live_blocks, check_snapshot);
