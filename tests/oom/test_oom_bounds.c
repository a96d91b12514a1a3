/* Limits, sufficient changes and remedies on both sides of a boundary. */
#include "tests/oom/fixture_oom.h"

#define BASE 0x40000000ull

static mv_oom last_of(mv_ooms found)
{
    cr_assert_gt(found.count, 0);
    return found.ooms[found.count - 1];
}

static mv_oom failure(mvt_trace *t)
{
    return last_of(mvt_ooms(t));
}

/* ---- smaller requests -------------------------------------------------------------------- */

/* A request beside a hole of `hole` bytes, with `left` bytes left on the device. Returns by how much
 * the request would have to be smaller. */
static uint64_t smaller_by(uint64_t requested, uint64_t hole, uint64_t left)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = BASE, .bytes = 64 * MIB);
    mvt_alloc(t, .addr = BASE, .bytes = 64 * MIB - hole, .stack = "keep:a.py:1");
    mvt_oom(t, .addr = left, .bytes = requested, .stack = "ask:a.py:2");
    return failure(t).change.smaller_by;
}

Test(oom_bounds, a_smaller_request_would_have_been_served)
{
    /* the device provides units of 2 MiB */
    cr_expect_eq(smaller_by(100 * MIB, 0, 50 * MIB), 50 * MIB);
    cr_expect_eq(smaller_by(100 * MIB, 0, 51 * MIB), 50 * MIB);
    cr_expect_eq(smaller_by(100 * MIB, 0, 52 * MIB - 512), 50 * MIB);
    /* below 10 MiB, requests share a segment of 20 MiB */
    cr_expect_eq(smaller_by(12 * MIB, 0, 10 * MIB), 2 * MIB);
    cr_expect_eq(smaller_by(12 * MIB, 0, 10 * MIB - 512), 0);
    cr_expect_eq(smaller_by(5 * MIB, 0, 19 * MIB), 0);
    /* holes are cut into units of 512 bytes */
    cr_expect_eq(smaller_by(5 * MIB, 3 * MIB, 19 * MIB), 2 * MIB);
    cr_expect_eq(smaller_by(30 * MIB, 3 * MIB, 20 * MIB), 10 * MIB);
    /* a hole cannot serve a request of the other kind */
    cr_expect_eq(smaller_by(5 * MIB, MIB, 0), 0);
    cr_expect_eq(smaller_by(5 * MIB, MIB + 512, 0), 4 * MIB - 512);
}

/* ---- whole pages ------------------------------------------------------------------------- */

/* An expandable segment with a mapped and allocated block of 20 MiB, and a request. */
static mv_oom expandable(uint64_t requested, uint64_t left)
{
    mvt_trace *t = mvt_new();

    mvt_setting_int(t, "expandable_segments", 1);
    mvt_segment_map(t, .addr = BASE, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = BASE, .bytes = 20 * MIB, .stack = "keep:a.py:1");
    mvt_oom(t, .addr = left, .bytes = requested, .stack = "ask:a.py:2");
    return failure(t);
}

Test(oom_bounds, an_expandable_segment_needs_whole_pages)
{
    mv_oom few = expandable(12 * MIB, 19 * MIB), enough = expandable(12 * MIB, 20 * MIB);

    cr_expect_str_eq(mv_oom_refuser_name(few.refused_by), "device");
    cr_expect_eq(few.segment, 20 * MIB);
    cr_expect_eq(few.change.more_memory, MIB);
    cr_expect_eq(few.outlook.limit_most, 39 * MIB);
    cr_expect_str_eq(mv_oom_refuser_name(enough.refused_by), "limit");
    /* the limit is compared with the size of an ordinary segment */
    cr_expect_eq(enough.segment, 12 * MIB);
    cr_expect_eq(enough.outlook.limit_most, 32 * MIB - 1);
    cr_expect_eq(expandable(100 * MIB, 59 * MIB).change.smaller_by, 60 * MIB);
}

/* A request of `first` bytes was served by whole pages, and a larger one was refused. */
static mv_oom within_pages(uint64_t first)
{
    mvt_trace *t = mvt_new();
    uint64_t mapped = (first + 20 * MIB - 1) / (20 * MIB) * (20 * MIB);

    mvt_setting_int(t, "expandable_segments", 1);
    mvt_segment_map(t, .addr = BASE, .bytes = mapped);
    mvt_alloc(t, .addr = BASE, .bytes = first, .stack = "keep:a.py:1");
    mvt_oom(t, .addr = 4 * GIB, .bytes = 100 * MIB, .stack = "ask:a.py:2");
    return failure(t);
}

Test(oom_bounds, whole_pages_may_exceed_the_limit)
{
    mv_oom over = within_pages(40 * MIB + 512);

    cr_expect_eq(within_pages(40 * MIB).outlook.limit_least, 40 * MIB);
    cr_expect_eq(over.outlook.limit_least, 42 * MIB);
    cr_expect_eq(over.bytes.reserved, 60 * MIB);
    cr_expect_eq(over.change.more_memory, 118 * MIB); /* the limit may be exceeded already */
    cr_expect_eq(over.change.smaller_by, 100 * MIB - (20 * MIB - 512)); /* the hole */
    cr_expect_eq(within_pages(59 * MIB).outlook.limit_least, 60 * MIB);
}

/* ---- other streams ----------------------------------------------------------------------- */

/* Another stream has `count` segments, each with a hole of `hole` MiB and a block of `used` MiB. The
 * request has the size of most of these holes. */
static mv_oom beside_stream(uint32_t count, uint64_t hole, uint64_t used)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = BASE + i * 0x10000000ull;
        mvt_segment_alloc(t, .addr = at, .bytes = (hole + used) * MIB, .stream = 7);
        mvt_alloc(t, .addr = at, .bytes = (hole + used) * MIB, .stream = 7, .stack = "all:a.py:5");
        mvt_free(t, .addr = at, .stream = 7);
        mvt_alloc(t, .addr = at, .bytes = hole * MIB, .stream = 7, .stack = "load:a.py:1");
        mvt_alloc(t, .addr = at + hole * MIB, .bytes = used * MIB, .stream = 7,
                  .stack = "keep:a.py:2");
    }
    for (uint32_t i = 0; i < count; i++)
        mvt_free(t, .addr = BASE + i * 0x10000000ull, .stream = 7);
    for (uint32_t i = 0; i < 8; i++) { /* the run no longer grows */
        mvt_alloc(t, .addr = BASE, .bytes = MIB + 512, .stream = 7, .stack = "brief:a.py:3");
        mvt_free(t, .addr = BASE, .stream = 7);
    }
    mvt_oom(t, .addr = 4 * GIB, .bytes = 200 * MIB, .stack = "ask:a.py:4");
    return failure(t);
}

Test(oom_bounds, expandable_segments_may_use_what_one_stream_could_not)
{
    mv_oom pieces = beside_stream(4, 60, 2), whole = beside_stream(1, 240, 8);
    mv_oom pinned = beside_stream(12, 18, 2);

    cr_expect_str_eq(mv_oom_verdict_name(pieces.verdict), "stream_or_pool", "%s", pieces.why);
    cr_expect(strstr(pieces.advice, "expandable_segments:True: replayed within"), "%s",
              pieces.advice);
    cr_expect_null(strstr(pieces.advice, "on one stream"), "%s", pieces.advice);
    cr_expect_str_eq(mv_oom_verdict_name(whole.verdict), "stream_or_pool", "%s", whole.why);
    cr_expect(strstr(whole.advice, "on one stream"), "%s", whole.advice);
    cr_expect(!pinned.outlook.serves && !pinned.outlook.joined_serves);
}

/* ---- the request itself ------------------------------------------------------------------ */

/* Two segments whose holes would suffice for most of a request. The need was as high before. */
Test(oom_bounds, one_large_request_is_not_a_rising_need)
{
    mvt_trace *t = mvt_new();
    uint64_t second = BASE + GIB;
    mv_oom o;

    mvt_segment_alloc(t, .addr = BASE, .bytes = 400 * MIB);
    mvt_alloc(t, .addr = BASE, .bytes = 400 * MIB, .stack = "big:a.py:1");
    mvt_free(t, .addr = BASE);
    mvt_alloc(t, .addr = BASE, .bytes = 11 * MIB, .stack = "keep:a.py:2");
    mvt_segment_alloc(t, .addr = second, .bytes = 396 * MIB);
    mvt_alloc(t, .addr = second, .bytes = 395 * MIB, .stack = "big:a.py:3");
    mvt_free(t, .addr = second);
    mvt_alloc(t, .addr = second, .bytes = 390 * MIB, .stack = "keep:a.py:4");
    mvt_oom(t, .addr = 4 * GIB, .bytes = 450 * MIB, .stack = "ask:a.py:5");
    o = failure(t);
    cr_expect_eq(o.outlook.rise, 451 * MIB);
    cr_expect_eq(o.outlook.rise_before, 7 * MIB);
    cr_expect_str_eq(mv_oom_verdict_name(o.verdict), "fragmentation", "%s", o.why);
    cr_expect(strstr(o.advice, "the middle between the bounds of the limit"), "%s", o.advice);
}

/* ---- other processes --------------------------------------------------------------------- */

static const char *advice_within(uint64_t held, uint64_t left)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = BASE, .bytes = held);
    mvt_alloc(t, .addr = BASE, .bytes = held, .stack = "keep:a.py:1");
    mvt_oom(t, .addr = left, .bytes = 200 * MIB, .stack = "ask:a.py:2");
    return failure(t).advice;
}

/* The remainder of a larger device that others use looks like a smaller device. */
Test(oom_bounds, a_device_of_unknown_size_may_have_other_users)
{
    const char *full = advice_within(3900 * MIB, 100 * MIB);
    const char *limited = advice_within(3900 * MIB, 300 * MIB);

    cr_expect(strstr(full, "if the device has more than 4.00 GiB, other processes"), "%s", full);
    cr_expect_null(strstr(limited, "other processes"), "%s", limited);
}

/* ---- captures of CUDA graphs ------------------------------------------------------------- */

/* The default pool has a segment of 200 MiB, of which `used` MiB are in use. */
static mv_oom in_a_capture(uint64_t used, uint64_t requested)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = BASE, .bytes = 200 * MIB);
    mvt_alloc(t, .addr = BASE, .bytes = 200 * MIB, .stack = "warm_up:a.py:1");
    mvt_free(t, .addr = BASE);
    if (used)
        mvt_alloc(t, .addr = BASE, .bytes = used * MIB, .stack = "keep:a.py:2");
    mvt_oom(t, .addr = 8 * MIB, .bytes = requested * MIB, .stream = 9, .stack = "forward:a.py:3");
    return failure(t);
}

Test(oom_bounds, unused_segments_are_returned_before_a_capture)
{
    mv_oom unused = in_a_capture(0, 150), used = in_a_capture(4, 150);

    cr_expect_str_eq(mv_oom_verdict_name(unused.verdict), "stream_or_pool");
    cr_expect_eq(unused.unused, 200 * MIB);
    cr_expect(strstr(unused.advice, "empty_cache() before the capture"), "%s", unused.advice);
    cr_expect_str_eq(mv_oom_verdict_name(used.verdict), "stream_or_pool");
    cr_expect_eq(used.unused, 0);
    cr_expect_null(strstr(used.advice, "before the capture"), "%s", used.advice);
}

/* ---- pools that the events do not name --------------------------------------------------- */

#define STAGE "stage:a.py:60"

/* Half of the default pool's segment of 200 MiB is free, and nothing of the other pool's segment of
 * 100 MiB, as before PyTorch 2.12: only the final heap names the pools. */
static mv_oom beside_default_pool(uint64_t pool_a, uint64_t pool_b, bool stages_in_default,
                                  const char *asked_by)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = BASE, .bytes = 200 * MIB, .stack = "main:a.py:1");
    mvt_alloc(t, .addr = BASE, .bytes = 100 * MIB,
              .stack = stages_in_default ? STAGE : "main:a.py:1");
    mvt_segment_alloc(t, .addr = 2 * BASE, .bytes = 100 * MIB, .stack = STAGE);
    mvt_alloc(t, .addr = 2 * BASE, .bytes = 50 * MIB, .stack = STAGE);
    mvt_alloc(t, .addr = 2 * BASE + 50 * MIB, .bytes = 50 * MIB, .stack = STAGE);
    mvt_oom(t, .addr = 60 * MIB, .bytes = 150 * MIB, .stack = asked_by);
    mvt_segment(t, .addr = BASE, .bytes = 200 * MIB, .stack = "main:a.py:1");
    mvt_block(t, 100 * MIB, .state = MV_BLOCK_ALLOCATED, .stack = "main:a.py:1");
    mvt_block(t, 100 * MIB, .state = MV_BLOCK_INACTIVE);
    mvt_segment(t, .addr = 2 * BASE, .bytes = 100 * MIB, .pool_a = pool_a, .pool_b = pool_b,
                .stack = STAGE);
    mvt_block(t, 50 * MIB, .state = MV_BLOCK_ALLOCATED, .stack = STAGE);
    mvt_block(t, 50 * MIB, .state = MV_BLOCK_ALLOCATED, .stack = STAGE);
    return last_of(mvt_ooms_of(mvt_arena(t), mvt_done(t)));
}

Test(oom_bounds, a_request_is_of_the_pool_in_which_its_line_allocates)
{
    mv_oom own = beside_default_pool(0, 1, false, STAGE);
    mv_oom other = beside_default_pool(0, 1, false, "main:a.py:2");
    mv_oom both = beside_default_pool(0, 1, true, STAGE);
    mv_oom graph = beside_default_pool(1, 0, false, STAGE);

    cr_expect_eq(own.usable, 0);
    cr_expect_eq(own.largest_hole, 0);
    cr_expect_str_eq(mv_oom_verdict_name(own.suspect), "stream_or_pool");
    cr_expect_eq(other.usable, 100 * MIB, "a line that has not allocated before");
    cr_expect_str_eq(mv_oom_verdict_name(other.suspect), "fragmentation");
    cr_expect_eq(both.usable, 100 * MIB, "a line that allocates in both pools");
    cr_expect_eq(graph.usable, 100 * MIB, "each graph may have a pool of its own");
}
