/* The curve of allocated bytes without some of its parts, compared with a sum after every event. */
#include "analyze/peak/curve.h"
#include "analyze/totals/moment.h"
#include "tests/fixture/fixture_heap.h"

enum { PARTS = 7 };

typedef struct {
    mvt_trace *t;
    mv_lives lives;
    uint32_t *part_of;
    mv_window window;
    mv_curve curve;
} run;

static run run_of(mvt_heap_opts opts, uint32_t first, uint32_t end)
{
    run r = {.t = mvt_new()};
    mvt_heap_truth truth = mvt_heap_run(r.t, opts);

    r.lives = mvt_lives(mvt_arena(r.t), mvt_done(r.t), 0);
    r.part_of = mv_push_array(mvt_arena(r.t), uint32_t, r.lives.allocs.count);
    for (uint32_t i = 0; i < r.lives.allocs.count; i++)
        r.part_of[i] = i * 2654435761u >> 8 & 1 ? i % PARTS : (i / 3) % PARTS;
    r.window = (mv_window){first, end < truth.events ? end : truth.events};
    mvt_ok(
        mv_curve_find(mvt_arena(r.t), &r.lives, r.window, r.part_of, PARTS, &r.curve, mvt_err()));
    return r;
}

/* Computes the level after an event, allocation by allocation. */
static uint64_t slow_level(const run *r, uint32_t event, const uint8_t *gone)
{
    uint64_t level = 0;

    for (uint32_t i = 0; i < r->lives.allocs.count; i++)
        if (!gone[r->part_of[i]] && mv_alloc_is_allocated(&r->lives, i, event))
            level += r->lives.allocs.block[i];
    return level;
}

static uint64_t slow_peak(const run *r, const uint8_t *gone, uint32_t *event)
{
    uint64_t peak = slow_level(r, r->window.first - 1, gone);

    *event = r->window.first - 1;
    for (uint32_t i = r->window.first; i < r->window.end; i++)
        if (slow_level(r, i, gone) > peak) {
            peak = slow_level(r, i, gone);
            *event = i;
        }
    return peak;
}

static void check_peak(const run *r, const uint8_t *gone)
{
    uint32_t slow_at;
    mv_curve_top fast = mv_curve_peak(&r->curve, gone);
    uint64_t slow = slow_peak(r, gone, &slow_at);

    cr_expect_eq(fast.bytes, slow);
    /* The window's first moment is MV_BEFORE. */
    cr_expect_eq(fast.event, slow_at == r->window.first - 1 ? MV_BEFORE : slow_at);
}

static void check_without(const run *r, uint8_t *gone)
{
    mv_curve_top top, peak = mv_curve_peak(&r->curve, gone);
    uint64_t *fast = mv_curve_peaks_without(mvt_arena(r->t), &r->curve, gone, &top);
    uint32_t event;

    cr_assert(fast);
    cr_expect(top.bytes == peak.bytes && top.event == peak.event);
    for (uint32_t p = 0; p < PARTS; p++) {
        uint8_t was = gone[p];
        gone[p] = 1;
        cr_expect_eq(fast[p], slow_peak(r, gone, &event), "part %u", p);
        gone[p] = was;
    }
}

static void check_bytes(const run *r, uint32_t event)
{
    uint64_t bytes[PARTS] = {0};
    uint8_t gone[PARTS];

    mv_curve_bytes_at(&r->curve, event, bytes);
    for (uint32_t p = 0; p < PARTS; p++) {
        for (uint32_t k = 0; k < PARTS; k++)
            gone[k] = k != p;
        cr_expect_eq(bytes[p], slow_level(r, event, gone));
    }
}

static void check_run(mvt_heap_opts opts, uint32_t first, uint32_t end)
{
    run r = run_of(opts, first, end);
    uint8_t gone[PARTS] = {0};

    check_peak(&r, gone);
    check_without(&r, gone);
    if (r.window.end > r.window.first)
        check_bytes(&r, (r.window.first + r.window.end) / 2);
    gone[opts.seed % PARTS] = 1;
    gone[opts.seed / 2 % PARTS] = 1;
    check_peak(&r, gone);
    check_without(&r, gone);
}

Test(curve, the_curve_equals_a_count_at_every_moment_of_random_heaps)
{
    for (uint32_t seed = 1; seed <= 16; seed++) {
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 100,
                              .unrecorded = seed % 3 == 0 ? 30 : 0,
                              .expandable = seed % 4 == 1,
                              .drains = seed % 5 == 0};
        check_run(opts, 0, UINT32_MAX);
        check_run(opts, 20, 60);
        check_run(opts, 30, 30);
    }
}

/* Stretches below what remains at `event` without the part that then holds the most change no peak. */
static void check_without_low(run *r, uint32_t event, const uint64_t *without, mv_curve_top top)
{
    uint64_t bytes[PARTS] = {0}, all = 0, most = 0, *fast;
    mv_curve_top found;

    mv_curve_bytes_at(&r->curve, event, bytes);
    for (uint32_t p = 0; p < PARTS; p++) {
        all += bytes[p];
        most = bytes[p] > most ? bytes[p] : most;
    }
    r->curve.least = all - most;
    fast = mv_curve_peaks_without(mvt_arena(r->t), &r->curve, NULL, &found);
    cr_assert(fast);
    cr_expect(found.bytes == top.bytes && found.event == top.event);
    for (uint32_t p = 0; p < PARTS; p++)
        cr_expect_eq(fast[p], without[p], "part %u", p);
}

/* A window of more than 2^16 events is divided into pieces, for several threads. The walk of
 * mv_curve_peak along all events is not. */
Test(curve, the_pieces_of_a_long_trace_add_up)
{
    enum { BLOCKS = 60000, WAITING = 1000, KEPT = 5000 };
    mvt_trace *t = mvt_new();
    run r = {.t = t};
    mv_moment peak;
    mv_curve_top top;
    uint64_t *without;

    for (uint64_t i = 0; i < BLOCKS; i++) {
        mvt_alloc(t, .addr = i << 20, .bytes = 512 * (1 + (i < BLOCKS / 2 ? i : BLOCKS - i) % 977));
        if (i % 3 == 0) { /* freed at once */
            mvt_alloc(t, .addr = (i << 20) + (1 << 19), .bytes = 512 * (1 + i % 11));
            mvt_free(t, .addr = (i << 20) + (1 << 19));
        }
        if (i >= WAITING && (i - WAITING) % KEPT > 0)
            mvt_free(t, .addr = (i - WAITING) << 20);
    }
    r.lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    r.part_of = mv_push_array(mvt_arena(t), uint32_t, r.lives.allocs.count);
    for (uint32_t i = 0; i < r.lives.allocs.count; i++)
        r.part_of[i] = i % KEPT == 0 ? 0 : 1 + i * 2654435761u % (PARTS - 1);
    for (uint32_t first = 0; first < 2; first++) {
        mv_moment_query ask = {.kind = MV_MOMENT_PEAK,
                               .window = {first * 1000, r.lives.events.count}};
        uint8_t gone[PARTS] = {0};
        mvt_ok(mv_curve_find(mvt_arena(t), &r.lives, ask.window, r.part_of, PARTS, &r.curve,
                             mvt_err()));
        cr_assert_gt(r.curve.pieces, 1);
        without = mv_curve_peaks_without(mvt_arena(t), &r.curve, NULL, &top);
        cr_expect(top.bytes == mv_curve_peak(&r.curve, NULL).bytes);
        cr_expect(top.event == mv_curve_peak(&r.curve, NULL).event);
        for (uint32_t p = 0; p < PARTS; p++) {
            gone[p] = 1;
            cr_expect_eq(without[p], mv_curve_peak(&r.curve, gone).bytes, "part %u", p);
            gone[p] = 0;
        }
        mvt_ok(mv_moment_find(mvt_arena(t), &r.lives, ask, &peak, mvt_err()));
        cr_expect(peak.event == top.event && peak.bytes.allocated == top.bytes);
        check_without_low(&r, peak.event, without, top);
        check_without_low(&r, r.lives.events.count / 4, without, top);
    }
}

/* Steps of segments differ from steps of allocations with the same row number. */
Test(curve, segments_have_their_own_steps)
{
    mvt_trace *t = mvt_new();
    uint32_t part_of[1] = {0};
    mv_curve curve;

    mvt_alloc(t, .addr = 0x1000, .bytes = 512);
    for (uint64_t i = 1; i <= 50; i++)
        mvt_segment_alloc(t, .addr = i << 24, .bytes = 2 << 20);
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    mvt_ok(mv_curve_find(mvt_arena(t), &lives, (mv_window){0, lives.events.count}, part_of, 1,
                         &curve, mvt_err()));
    cr_expect_eq(mv_curve_peak(&curve, NULL).bytes, 512);
}

Test(curve, an_empty_trace_has_a_flat_curve)
{
    mvt_trace *t = mvt_new();
    mv_curve curve;
    mv_curve_top top;
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);

    mvt_ok(mv_curve_find(mvt_arena(t), &lives, (mv_window){0, 0}, NULL, 0, &curve, mvt_err()));
    cr_expect(mv_curve_peaks_without(mvt_arena(t), &curve, NULL, &top));
    cr_expect(top.bytes == 0 && top.event == MV_BEFORE);
    top = mv_curve_peak(&curve, NULL);
    cr_expect(top.bytes == 0 && top.event == MV_BEFORE);
}
