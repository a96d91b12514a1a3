#include "analyze/totals/moment.h"

#include <inttypes.h>

#include "parse/model/shared_memory.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/oom/fixture_oom.h"

/* ---- real snapshots ------------------------------------------------------------------------ */

Test(oom, verdicts_on_real_snapshots_are_right)
{
    static const struct {
        const char *name;
        mv_oom_verdict verdict;
        uint64_t requested, largest_hole;
        bool limited;
    } cases[] = {
        {"oom", MV_OOM_CAPACITY, 100 * MIB, 0, true},
        {"oom_observer", MV_OOM_CAPACITY, 100 * MIB, 0, true},
        {"oom_fragmented", MV_OOM_FRAGMENTATION, 400 * MIB, 29 * MIB, true},
        {"oom_outside", MV_OOM_OUTSIDE, 2 * GIB, 0, false},
    };

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_trace trace = mvt_load(mvt_memory(), cases[i].name);
        mv_ooms found = mvt_ooms_of(mvt_memory(), &trace);
        cr_assert_eq(found.count, 1, "%s", cases[i].name);
        const mv_oom *o = &found.ooms[0];
        cr_expect_str_eq(mv_oom_verdict_name(o->verdict), mv_oom_verdict_name(cases[i].verdict),
                         "%s", cases[i].name);
        cr_expect_eq(o->requested, cases[i].requested, "%s", cases[i].name);
        cr_expect_eq(o->largest_hole, cases[i].largest_hole, "%s", cases[i].name);
        cr_expect_eq(o->refused_by == MV_REFUSED_LIMIT, cases[i].limited, "%s", cases[i].name);
        cr_expect_eq(o->bytes.reserved, o->bytes.allocated + o->bytes.pending + o->bytes.free);
    }
}

Test(oom, the_line_that_pins_is_named_with_the_fewest_blocks)
{
    char label[128];
    mv_trace trace = mvt_load(mvt_memory(), "oom_fragmented");
    const mv_oom *o = mvt_ooms_of(mvt_memory(), &trace).ooms;

    mv_culprit_label(&trace, NULL, o->pins.lines[0].stack, label, sizeof label);
    cr_expect_str_eq(label, "more.py:9 E");
    cr_expect_eq(o->pins.lines[0].blocks, 30);
    cr_expect_eq(o->pins.lines[0].stranded, 870 * MIB);
    /* 7 segments of 60 MiB are the first total above 400 MiB */
    cr_expect_eq(o->change.free_blocks, 7);
    cr_expect_eq(o->change.free_bytes, 7 * 31 * MIB);
    cr_expect_eq(o->change.smaller_by, 371 * MIB);
}

Test(oom, retries_are_pytorchs_own_count)
{
    static const struct {
        const char *name;
        uint32_t retries, collections;
    } cases[] = {{"retry_release", 7, 0}, {"gc_limit", 0, 2},   {"gc_limit_off", 0, 0},
                 {"gpt_train", 0, 0},     {"late_start", 0, 0}, {"expandable_empty", 0, 0}};

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_trace trace = mvt_load(mvt_memory(), cases[i].name);
        mv_ooms found = mvt_ooms_of(mvt_memory(), &trace);
        cr_expect_eq(found.count, 0, "%s", cases[i].name);
        cr_expect_eq(found.retries, cases[i].retries, "%s: %u", cases[i].name, found.retries);
        cr_expect_eq(found.collections, cases[i].collections, "%s: %u", cases[i].name,
                     found.collections);
    }
}

/* A thread without a Python stack, as in a backward pass. Its events belong to no known call, but
 * nothing there calls empty_cache(). A request that would have fitted, as is seen later by `later`
 * bytes, was not a retry. */
static uint32_t retries_without_stacks(uint64_t freed, uint64_t later)
{
    mvt_trace *t = mvt_new();
    uint64_t at = 0x10000000000;

    mvt_segment_alloc(t, .addr = at, .bytes = 20 * MIB, .stack = "step:a.py:1");
    mvt_alloc(t, .addr = at, .bytes = 20 * MIB, .stack = "step:a.py:1");
    for (uint64_t i = 1; i <= freed; i++) {
        mvt_segment_alloc(t, .addr = at + i * GIB, .bytes = 20 * MIB);
        mvt_alloc(t, .addr = at + i * GIB, .bytes = 20 * MIB);
        mvt_free(t, .addr = at + i * GIB);
    }
    for (uint64_t i = 1; i <= freed; i++)
        mvt_segment_free(t, .addr = at + i * GIB, .bytes = 20 * MIB);
    mvt_segment_alloc(t, .addr = at + 100 * GIB, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = at + 100 * GIB, .bytes = 20 * MIB);
    if (later) {
        mvt_segment_alloc(t, .addr = at + 200 * GIB, .bytes = later);
        mvt_alloc(t, .addr = at + 200 * GIB, .bytes = later);
    }
    return mvt_ooms(t).retries;
}

Test(oom, retries_of_threads_without_stacks_are_counted)
{
    cr_expect_eq(retries_without_stacks(3, 0), 1);
    cr_expect_eq(retries_without_stacks(1, 0), 1);
    cr_expect_eq(retries_without_stacks(0, 0), 0);
    cr_expect_eq(retries_without_stacks(3, 200 * MIB), 0);
}

/* ---- each verdict -------------------------------------------------------------------------- */

/* A segment of 64 MiB, of which `used` bytes, at the low end, are in use. */
static mvt_trace *one_segment(uint64_t used)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 64 * MIB, .stack = "keep:a.py:1");
    mvt_alloc(t, .addr = 0x40000000, .bytes = 64 * MIB, .stack = "first:a.py:2");
    mvt_free(t, .addr = 0x40000000);
    mvt_alloc(t, .addr = 0x40000000, .bytes = used, .stack = "keep:a.py:1");
    return t;
}

static void expect(mvt_trace *t, mv_oom_verdict verdict)
{
    mv_ooms found = mvt_ooms(t);

    cr_assert_eq(found.count, 1);
    cr_expect_str_eq(mv_oom_verdict_name(found.ooms[0].verdict), mv_oom_verdict_name(verdict));
    cr_expect(found.ooms[0].detailed);
}

Test(oom, nothing_free_is_capacity)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_oom(t, .addr = 4 * GIB, .bytes = 100 * MIB);
    expect(t, MV_OOM_CAPACITY);
}

/* Each failure names the command that shows the moment of the failure. The command for a later
 * failure contains that failure's number. */
Test(oom, a_later_failure_is_named_by_its_number)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_oom(t, .addr = 4 * GIB, .bytes = 100 * MIB);
    mvt_event(t, MV_ACTION_SNAPSHOT, (mvt_event_args){0});
    mvt_oom(t, .addr = 4 * GIB, .bytes = 200 * MIB);
    mv_ooms found = mvt_ooms(t);
    cr_assert_eq(found.count, 2);
    cr_expect(strstr(found.ooms[0].advice, "memviz peak --at oom shows who holds"), "%s",
              found.ooms[0].advice);
    cr_expect(strstr(found.ooms[1].advice, "memviz peak --at oom#2 shows who holds"), "%s",
              found.ooms[1].advice);
    for (uint32_t i = 0; i < 2; i++) {
        mv_moment_query ask;
        char at[MV_OOM_AT_TEXT], why[MV_WHY];
        mv_oom_at_text(at, found.ooms[i].number);
        cr_assert(mv_moment_read(mvt_done(t), 0, at, MV_ALL_EVENTS, &ask, why, sizeof why), "%s",
                  why);
        cr_expect_eq(ask.event, mv_oom_moment(&found.ooms[i]));
    }
}

Test(oom, sufficient_free_pieces_are_fragmentation)
{
    mvt_trace *t = one_segment(30 * MIB);

    mvt_alloc(t, .addr = 0x40000000 + 30 * MIB, .bytes = 2 * MIB, .stack = "pin:a.py:4");
    mvt_free(t, .addr = 0x40000000);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB, .stack = "ask:a.py:3");
    expect(t, MV_OOM_FRAGMENTATION);
}

Test(oom, little_free_is_capacity_even_if_little_is_missing)
{
    mvt_trace *t = one_segment(60 * MIB);

    mvt_oom(t, .addr = 90 * MIB, .bytes = 92 * MIB);
    mvt_event(t, MV_ACTION_SNAPSHOT, (mvt_event_args){0});
    /* shows that the device has more memory than that */
    mvt_oom(t, .addr = 8 * GIB, .bytes = 16 * GIB);
    cr_expect_eq(mvt_ooms(t).ooms[0].verdict, MV_OOM_OUTSIDE);
}

Test(oom, memory_of_another_stream_is_reported)
{
    mvt_trace *t = one_segment(2 * MIB);

    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB, .stream = 9);
    expect(t, MV_OOM_STREAM_OR_POOL);
}

Test(oom, a_free_that_waits_is_reported)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_free_requested(t, .addr = 0x40000000);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB);
    mvt_free_completed(t, .addr = 0x40000000);
    expect(t, MV_OOM_PENDING_FREE);
}

/* While a CUDA graph is captured, PyTorch does not wait for other streams, so blocks that were freed
 * in another pool or stream may be all that is in use. `used` MiB of 200 are allocated, the rest
 * waits. */
static mv_oom waiting_elsewhere(uint64_t used, uint64_t requested)
{
    mvt_trace *t = mvt_new();
    uint64_t at = 0x40000000;

    mvt_segment_alloc(t, .addr = at, .bytes = 200 * MIB, .stream = 9, .stack = "side:a.py:1");
    mvt_alloc(t, .addr = at, .bytes = 200 * MIB, .stream = 9, .stack = "warm_up:a.py:1");
    mvt_free(t, .addr = at, .stream = 9);
    if (used)
        mvt_alloc(t, .addr = at, .bytes = used * MIB, .stream = 9, .stack = "keep:a.py:2");
    mvt_alloc(t, .addr = at + used * MIB, .bytes = (200 - used) * MIB, .stream = 9,
              .stack = "side:a.py:3");
    mvt_free_requested(t, .addr = at + used * MIB, .stream = 9);
    mvt_oom(t, .addr = 4 * GIB, .bytes = requested * MIB, .stack = "forward:a.py:4");
    return mvt_ooms(t).ooms[0];
}

Test(oom, memory_that_waits_in_another_stream_is_reported)
{
    mv_oom all = waiting_elsewhere(0, 100), most = waiting_elsewhere(90, 110);
    mv_oom less = waiting_elsewhere(160, 110), beyond = waiting_elsewhere(0, 430);

    cr_expect_str_eq(mv_oom_verdict_name(all.verdict), "pending_free");
    cr_expect(strstr(all.why, "200 MiB was freed in other pools or streams"), "%s", all.why);
    cr_expect(strstr(all.advice, "before the capture of a CUDA graph"), "%s", all.advice);
    cr_expect_str_eq(mv_oom_verdict_name(most.verdict), "pending_free");
    cr_expect_str_eq(mv_oom_verdict_name(less.verdict), "capacity");
    cr_expect_str_eq(mv_oom_verdict_name(beyond.verdict), "capacity");
}

/* A hole of 62 MiB. Its last bytes were freed by separate events before the failure. */
static mvt_trace *late_hole(bool waits, bool alloc_between)
{
    mvt_trace *t = one_segment(2 * MIB);

    mvt_alloc(t, .addr = 0x40000000 + 2 * MIB, .bytes = 40 * MIB);
    mvt_free_requested(t, .addr = 0x40000000 + 2 * MIB);
    if (waits)
        mvt_alloc(t, .addr = 0x40000000 + 44 * MIB, .bytes = MIB);
    if (waits)
        mvt_free(t, .addr = 0x40000000 + 44 * MIB);
    mvt_free_completed(t, .addr = 0x40000000 + 2 * MIB);
    if (alloc_between)
        mvt_alloc(t, .addr = 0x40000000 + 63 * MIB, .bytes = MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB);
    return t;
}

Test(oom, a_hole_came_too_late_only_where_the_events_show_it)
{
    expect(late_hole(true, false), MV_OOM_PENDING_FREE);
    expect(late_hole(true, true), MV_OOM_STREAM_OR_POOL);
    expect(late_hole(false, false), MV_OOM_STREAM_OR_POOL);
}

/* The free completes a different hole, which is too small. */
Test(oom, a_free_that_completes_elsewhere_made_no_hole)
{
    mvt_trace *t = one_segment(2 * MIB);

    mvt_segment_alloc(t, .addr = 0x80000000, .bytes = 32 * MIB);
    mvt_alloc(t, .addr = 0x80000000, .bytes = 32 * MIB);
    mvt_free_requested(t, .addr = 0x80000000);
    mvt_alloc(t, .addr = 0x40000000 + 2 * MIB, .bytes = MIB);
    mvt_free_completed(t, .addr = 0x80000000);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB);
    mv_oom o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.hole, MV_HOLE_OTHER_POOL);
    cr_expect_not_null(strstr(o.why, "if the request was for the default pool"));
}

/* A run that would have run out of memory in any case does so whatever is requested. */
Test(oom, an_unexplained_hole_is_not_a_proof)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 8; i++) {
        mvt_segment_alloc(t, .addr = 0x40000000 + i * 0x10000000ull, .bytes = 64 * MIB);
        mvt_alloc(t, .addr = 0x40000000 + i * 0x10000000ull, .bytes = i == 7 ? 2 * MIB : 64 * MIB);
    }
    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB);
    expect(t, MV_OOM_CAPACITY);
}

static mv_oom split_limit(int64_t max_split, uint64_t used, uint64_t requested)
{
    mvt_trace *t = mvt_new();

    mvt_setting_int(t, "max_split_size", max_split);
    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 64 * MIB);
    mvt_alloc(t, .addr = 0x40000000, .bytes = 64 * MIB);
    mvt_free(t, .addr = 0x40000000);
    if (used)
        mvt_alloc(t, .addr = 0x40000000, .bytes = used);
    mvt_oom(t, .addr = 4 * GIB, .bytes = requested);
    return mvt_ooms(t).ooms[0];
}

Test(oom, the_split_limit_is_fragmentation_where_it_forbids_the_hole)
{
    mv_oom o = split_limit(32 << 20, 0, 20 * MIB);

    cr_expect_eq(o.hole, MV_HOLE_UNCUT);
    cr_expect_eq(o.verdict, MV_OOM_FRAGMENTATION);
    o = split_limit(32 << 20, 0, 40 * MIB); /* 24 MiB would be wasted, which is more than 20 MiB */
    cr_expect_eq(o.hole, MV_HOLE_UNCUT);
    o = split_limit(32 << 20, 0, 50 * MIB);
    cr_expect_eq(o.hole, MV_HOLE_OTHER_POOL);
    o = split_limit(128 << 20, 2 * MIB, 20 * MIB);
    cr_expect_eq(o.hole, MV_HOLE_OTHER_POOL);
    cr_expect_eq(o.verdict, MV_OOM_STREAM_OR_POOL);
}

Test(oom, a_full_device_is_capacity_only_if_pytorch_fills_it)
{
    for (int is_filled = 0; is_filled < 2; is_filled++) {
        mvt_trace *t = mvt_new();
        uint64_t held = is_filled ? 22 * GIB : 50 * GIB;

        mvt_segment_alloc(t, .addr = 0x4000000000, .bytes = held);
        mvt_alloc(t, .addr = 0x4000000000, .bytes = held);
        mvt_oom(t, .addr = 700 * MIB, .bytes = 1 * GIB);
        expect(t, is_filled ? MV_OOM_CAPACITY : MV_OOM_OUTSIDE);
    }
}

/* Host memory that is not free may be the page cache. */
Test(oom, memory_shared_with_the_host_has_no_owner)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x4000000000, .bytes = 50 * GIB);
    mvt_alloc(t, .addr = 0x4000000000, .bytes = 50 * GIB);
    mvt_oom(t, .addr = 700 * MIB, .bytes = 1 * GIB);
    mvt_final_heap(t);
    mv_trace trace = *mvt_done(t);
    mv_note_describe(&trace.notes[MV_NOTE_FILE_NOTE], MV_SHARED_MEMORY_NOTE,
                     strlen(MV_SHARED_MEMORY_NOTE));
    mv_oom o = mvt_ooms_of(mvt_arena(t), &trace).ooms[0];
    cr_expect_eq(o.verdict, MV_OOM_CAPACITY);
    cr_expect_eq(o.total, 0);
    cr_expect_eq(o.outside, 0);
    cr_expect_null(strstr(o.why, "others"), "%s", o.why);
}

/* ---- would the run have continued? ----------------------------------------------------------- */

/* Segments of 64 MiB. `kept` MiB of each stay in use; all of it was in use `rounds` times
 * before. */
static mvt_trace *holes_of(uint32_t segments, uint64_t kept, uint32_t rounds)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < segments; i++)
        mvt_segment_alloc(t, .addr = 0x40000000 + i * 0x10000000ull, .bytes = 64 * MIB);
    for (uint32_t k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < segments; i++)
            mvt_alloc(t, .addr = 0x40000000 + i * 0x10000000ull, .bytes = 64 * MIB,
                      .stack = "work:a.py:2");
        for (uint32_t i = 0; i < segments; i++)
            mvt_free(t, .addr = 0x40000000 + i * 0x10000000ull);
    }
    for (uint32_t i = 0; i < segments; i++)
        mvt_alloc(t, .addr = 0x40000000 + i * 0x10000000ull, .bytes = kept * MIB,
                  .stack = "keep:a.py:1");
    return t;
}

/* With the same holes, a run that has used more before continues without them, but a run that is
 * still growing does not. */
Test(oom, a_run_in_steady_state_is_fragmented_and_a_growing_run_is_not)
{
    mvt_trace *t = holes_of(8, 34, 2);

    mvt_oom(t, .addr = 4 * GIB, .bytes = 80 * MIB);
    expect(t, MV_OOM_FRAGMENTATION);
    t = holes_of(8, 34, 0);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 80 * MIB);
    expect(t, MV_OOM_CAPACITY);
}

/* A need that occurred only once, in the second half of the events, does not count. */
Test(oom, an_earlier_peak_does_not_make_holes_capacity)
{
    mvt_trace *t = holes_of(20, 2, 0);

    for (uint64_t at = 0x40000000; at < 0x40000000 + 20 * 0x10000000ull; at += 0x10000000)
        mvt_alloc(t, .addr = at + 2 * MIB, .bytes = 60 * MIB);
    for (uint64_t at = 0x40000000; at < 0x40000000 + 20 * 0x10000000ull; at += 0x10000000)
        mvt_free(t, .addr = at + 2 * MIB);
    mvt_oom(t, .addr = 300 * MIB, .bytes = 320 * MIB);
    expect(t, MV_OOM_FRAGMENTATION);
}

/* 1 MiB holes between small blocks are too small for 2 MiB. */
Test(oom, holes_of_the_other_kind_are_not_suspected)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x80000000, .bytes = 32 * MIB);
    mvt_alloc(t, .addr = 0x80000000, .bytes = 32 * MIB);
    for (uint32_t i = 0; i < 4; i++) {
        mvt_segment_alloc(t, .addr = 0x40000000 + i * 0x200000ull, .bytes = 2 * MIB);
        mvt_alloc(t, .addr = 0x40000000 + i * 0x200000ull, .bytes = MIB);
    }
    mvt_oom(t, .addr = 4 * GIB, .bytes = 2 * MIB);
    mv_oom o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.bytes.free, 4 * MIB);
    cr_expect_str_eq(mv_oom_verdict_name(o.verdict), "capacity");
}

Test(oom, a_limit_has_two_bounds)
{
    mvt_trace *t = one_segment(64 * MIB);
    const mv_oom_outlook *f;

    mvt_oom(t, .addr = 4 * GIB, .bytes = 60 * MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 20 * MIB); /* evidence for more than the first */
    mvt_oom(t, .addr = 4 * GIB, .bytes = 40 * MIB);
    mv_ooms found = mvt_ooms(t);
    for (uint32_t i = 0; i < 3; i++) {
        f = &found.ooms[i].outlook;
        cr_expect_eq(f->limit_least, 64 * MIB);
        cr_expect_eq(f->limit_most, (i ? 84 : 124) * MIB - 1, "%u", i);
        cr_expect_eq(f->limit, (f->limit_least + f->limit_most) / 2);
    }
    f = &found.ooms[2].outlook;
    cr_expect_eq(f->margin, (10 - 40) * (int64_t)MIB - 1);
    cr_expect_eq(f->margin_least, -40 * (int64_t)MIB);
    cr_expect_eq(f->margin_most, (20 - 40) * (int64_t)MIB - 1);
}

/* A request of 90 MiB next to 40 MiB of holes, with a limit between 256 and 306 MiB. */
Test(oom, the_side_of_a_limit_is_reported_only_if_both_bounds_agree)
{
    static const struct {
        uint64_t requested, then;
        const char *says;
    } cases[] = {
        {90 * MIB, 0,
         "the request would come within 50.0 MiB of the limit, which is only known "
         "approximately"},
        {90 * MIB, 24 * MIB, "at least 26.0 MiB would still be missing"},
        {130 * MIB, 48 * MIB, "at least 42.0 MiB would still be missing"},
    };

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mvt_trace *t = holes_of(4, 54, 0);
        if (cases[i].then) /* evidence for a lower limit */
            mvt_oom(t, .addr = 4 * GIB, .bytes = cases[i].then);
        mvt_oom(t, .addr = 4 * GIB, .bytes = cases[i].requested);
        mv_ooms found = mvt_ooms(t);
        cr_expect_not_null(strstr(found.ooms[found.count - 1].why, cases[i].says), "%s",
                           found.ooms[found.count - 1].why);
    }
}

Test(oom, a_full_device_is_its_own_limit)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_oom(t, .addr = 6 * MIB, .bytes = 60 * MIB);
    mv_oom o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.outlook.limit_least, 70 * MIB);
    cr_expect_eq(o.outlook.limit_most, 70 * MIB);
    cr_expect_eq(o.outlook.margin, -54 * (int64_t)MIB);
}

/* A limit that was lowered after more memory had been reserved. */
Test(oom, memory_reserved_before_a_lower_limit_does_not_count)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_segment_alloc(t, .addr = 0x80000000, .bytes = 512 * MIB);
    mvt_segment_free(t, .addr = 0x80000000, .bytes = 512 * MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 20 * MIB);
    mv_oom o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.outlook.limit_least, 64 * MIB);
    cr_expect_eq(o.outlook.limit_most, 84 * MIB - 1);
}

static uint32_t refusals(mvt_trace *t, uint32_t count, const uint64_t *sizes,
                         const int32_t *results, uint32_t event)
{
    mvt_final_heap(t);
    mv_trace trace = *mvt_done(t);
    mv_arena *arena = mvt_arena(t);
    mv_api_calls *c = &trace.api_calls;
    c->count = count;
    c->time_us = mv_push_array(arena, int64_t, count);
    c->addr = mv_push_array(arena, uint64_t, count);
    c->size = mv_push_array(arena, uint64_t, count);
    c->stack = mv_push_array(arena, mv_stack_id, count);
    c->api = mv_push_array(arena, mv_string_id, count);
    c->device = mv_push_array(arena, int32_t, count);
    c->result = mv_push_array(arena, int32_t, count);
    c->event = mv_push_array(arena, uint32_t, count);
    c->action = mv_push_array(arena, uint8_t, count);
    for (uint32_t i = 0; i < count; i++) {
        c->size[i] = sizes[i];
        c->result[i] = results[i];
        c->event[i] = event;
        c->action[i] = MV_API_ALLOC;
    }
    mv_ooms found = mvt_ooms_of(arena, &trace);
    for (uint32_t i = 0; i < found.count; i++)
        cr_expect(found.ooms[i].api_call == MV_NO_ROW || found.ooms[i].event == event);
    return found.count;
}

Test(oom, a_refused_call_counts_once_and_not_when_a_try_succeeded)
{
    static const uint64_t same[] = {100 * MIB, 100 * MIB}, other[] = {100 * MIB, 50 * MIB};
    static const int32_t both[] = {2, 2}, second[] = {2, 0};

    cr_expect_eq(refusals(one_segment(MIB), 2, same, both, 5), 1);
    cr_expect_eq(refusals(one_segment(MIB), 2, same, second, 5), 0);
    cr_expect_eq(refusals(one_segment(MIB), 2, other, both, 5), 2);
    cr_expect_eq(refusals(one_segment(MIB), 2, other, second, 5), 1);
    cr_expect_eq(refusals(one_segment(MIB), 1, same, both, 0), 1);
}

Test(oom, a_refused_call_that_the_events_answer_does_not_count)
{
    static const uint64_t size = 64 * MIB;
    static const int32_t refused = 2;
    mvt_trace *t = one_segment(MIB);

    cr_expect_eq(refusals(t, 1, &size, &refused, 0), 0); /* event 0 makes a segment of 64 MiB */
    t = one_segment(64 * MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 64 * MIB);
    cr_expect_eq(refusals(t, 1, &size, &refused, 5), 1); /* only the oom event */
}

static uint32_t check_change(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                             uint32_t domain, uint64_t bytes, const char *what)
{
    mv_domain_span own = {domain, domain + 1};
    mv_oom_need need = {domain, bytes, UINT64_MAX / 2, 0, mv_holes_largest(&heap->now, own)};
    /* Tries every window of neighbouring pieces. */
    uint64_t fewest = UINT64_MAX;
    for (uint32_t s = 0; s < map->count; s++) {
        if (heap->domains.of_segment[map->segment[s]] != domain)
            continue;
        for (uint32_t i = map->first_piece[s]; i < map->first_piece[s + 1]; i++) {
            uint64_t span = 0, used = 0;
            for (uint32_t k = i; k < map->first_piece[s + 1]; k++) {
                span += map->piece_size[k];
                used += map->piece_row[k] == MV_NO_ROW ? 0 : map->piece_size[k];
                if (span >= bytes && used < fewest)
                    fewest = used;
            }
        }
    }
    mv_oom_change change;

    mvt_ok(mv_oom_change_find(arena, heap, map, need, &change, mvt_err()));
    cr_expect_eq(change.free_segments, fewest != UINT64_MAX, "%s", what);
    if (fewest == UINT64_MAX)
        return 0;
    cr_expect_eq(change.free_bytes, fewest, "%s: %" PRIu64 ", not %" PRIu64, what,
                 change.free_bytes, fewest);
    cr_expect_eq(fewest == 0, bytes <= need.fits, "%s", what);
    return 1;
}

Test(oom, the_hole_to_open_has_the_fewest_bytes_in_use)
{
    uint32_t checked = 0;

    for (uint32_t seed = 1; seed <= 8; seed++) {
        mvt_trace *t = mvt_new();
        mv_heap heap;
        mv_heap_map map;
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 300, .expandable = seed % 2});
        mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        mvt_ok(mv_heap_init(mvt_arena(t), mvt_done(t), &lives, &heap, mvt_err()));
        while (mv_heap_next(&heap)) {
            if (heap.event % 40)
                continue;
            mvt_ok(mv_heap_map_make(mvt_arena(t), &heap, &map, mvt_err()));
            const char *what = mvt_format("seed %u event %u", seed, heap.event);
            for (uint32_t d = 0; d < heap.domains.count; d++)
                for (uint64_t bytes = 512; bytes <= 256 * MIB; bytes *= 6)
                    checked += check_change(mvt_arena(t), &heap, &map, d, bytes, what);
        }
    }
    cr_expect_gt(checked, 200);
}

Test(oom, figures_at_random_failures_equal_those_of_the_heap)
{
    uint32_t ooms = 0;

    for (uint32_t seed = 1; seed <= 12; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(
            t, (mvt_heap_opts){.seed = seed, .calls = 500, .expandable = seed % 3 == 0});
        mv_ooms found = mvt_ooms_of(mvt_arena(t), mvt_done(t));
        for (uint32_t i = 0; i < found.count; i++) {
            const mv_oom *o = &found.ooms[i];
            const mv_levels *now = &truth.levels[o->event];
            cr_expect_eq(o->bytes.reserved, now->reserved);
            cr_expect_eq(o->bytes.allocated, now->allocated);
            cr_expect_eq(o->bytes.allocated + o->bytes.pending, now->active);
            cr_expect_eq(o->bytes.free, now->reserved - now->active);
            ooms++;
        }
    }
    cr_expect_gt(ooms, 20);
}

/* Stream 9 had four blocks of 64 MiB and still has `kept` of them. Stream 0 requests memory when
 * the device has `device_free` left. The memory was needed late: the need rose over the second half
 * of the events. */
static mv_oom asked_beside(uint32_t kept, uint64_t requested, uint64_t device_free)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB);
    for (uint32_t i = 0; i < 20; i++) {
        mvt_alloc(t, .addr = 0x40000000, .bytes = 2 * MIB);
        mvt_free(t, .addr = 0x40000000);
    }
    for (uint32_t i = 0; i < 4; i++) {
        mvt_segment_alloc(t, .addr = 0x80000000 + i * 64 * MIB, .bytes = 64 * MIB, .stream = 9);
        mvt_alloc(t, .addr = 0x80000000 + i * 64 * MIB, .bytes = 64 * MIB, .stream = 9);
    }
    for (uint32_t i = kept; i < 4; i++)
        mvt_free(t, .addr = 0x80000000 + i * 64 * MIB, .stream = 9);
    mvt_oom(t, .addr = device_free, .bytes = requested);
    return mvt_ooms(t).ooms[0];
}

Test(oom, memory_kept_by_another_stream_is_proven_by_a_replay)
{
    mv_oom o = asked_beside(0, 200 * MIB, 4 * GIB);

    cr_expect_eq(o.verdict, MV_OOM_STREAM_OR_POOL, "%s", o.why);
    cr_expect(o.outlook.joined_surely);
    cr_expect_gt(o.outlook.rise, o.outlook.limit - o.outlook.most);
    cr_expect_not_null(strstr(o.why, "within 276 MiB, which was reserved anyway"), "%s", o.why);
    o = asked_beside(0, 200 * MIB, 40 * MIB); /* these 40 MiB were never reserved */
    cr_expect_eq(o.verdict, MV_OOM_STREAM_OR_POOL, "%s", o.why);
    cr_expect_not_null(strstr(o.why, "is served within 316 MiB"), "%s", o.why);
    cr_expect_null(strstr(o.why, "reserved anyway"), "%s", o.why);
    o = asked_beside(3, 120 * MIB, 4 * GIB); /* one pool also has a block in the way */
    cr_expect_eq(o.verdict, MV_OOM_CAPACITY, "%s", o.why);
    cr_expect_not(o.outlook.joined_surely);
}

/* Each of many failures has a separate limit, with releases between them. Without a bound, the work
 * would grow with the third power. */
Test(oom, the_work_of_many_failures_is_linear)
{
    enum { FAILURES = 4000 };
    mvt_trace *t = one_segment(30 * MIB);

    for (uint32_t i = 0; i < FAILURES; i++) {
        uint64_t at = 0x80000000 + i * 0x2000000ull;
        mvt_segment_alloc(t, .addr = at, .bytes = 20 * MIB);
        mvt_oom(t, .addr = 4 * GIB, .bytes = (uint64_t)(FAILURES + 64 - i) * MIB);
        if (i % 3 == 2)
            mvt_segment_free(t, .addr = at, .bytes = 20 * MIB);
    }
    mv_ooms found = mvt_ooms(t);
    uint32_t events = mv_trace_events(mvt_done(t), 0).count;
    cr_assert_eq(found.count, FAILURES);
    cr_expect_gt(found.untried, FAILURES / 2);
    cr_expect_gt(strlen(found.unlooked), 0);
    cr_expect_lt((FAILURES - found.untried) * (uint64_t)events,
                 MV_MOST_OOM_EVENTS(events) + 9ull * events);
}

Test(oom, a_limit_is_distinguished_from_a_full_device)
{
    mvt_trace *t = one_segment(64 * MIB);

    mvt_oom(t, .addr = 4 * GIB, .bytes = 100 * MIB);
    mv_oom o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.refused_by, MV_REFUSED_LIMIT);
    cr_expect_eq(strncmp(o.why, "the device did not run out of memory", 36), 0, "%s", o.why);
    cr_expect_null(strstr(o.advice, "batch"), "%s", o.advice);
    t = mvt_new();
    mvt_segment_alloc(t, .addr = 0x4000000000, .bytes = 22 * GIB);
    mvt_alloc(t, .addr = 0x4000000000, .bytes = 22 * GIB);
    mvt_oom(t, .addr = 700 * MIB, .bytes = 1 * GIB);
    o = mvt_ooms(t).ooms[0];
    cr_expect_eq(o.refused_by, MV_REFUSED_DEVICE);
    cr_expect_null(strstr(o.why, "did not run out"), "%s", o.why);
    cr_expect_not_null(strstr(o.advice, "batch"), "%s", o.advice);
}
