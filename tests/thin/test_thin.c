/* A thinned trace must explain its final heap as well as the whole trace does, keep its blocks'
 * sizes and all peaks, and lack exactly the bytes that it reports as missing. */
#include "analyze/thin/thin.h"

#include "tests/fixture/fixture_heap.h"

typedef struct {
    const mv_trace *whole;
    mv_thinned thinned;
    mv_lives before, after; /* of device 0 */
} pair;

static pair thin(const mv_trace *trace, uint64_t most)
{
    pair p = {.whole = trace};

    mvt_ok(mv_trace_downsample(mvt_memory(), trace, most, &p.thinned, mvt_err()));
    p.before = mvt_lives(mvt_memory(), trace, 0);
    p.after = mvt_lives(mvt_memory(), &p.thinned.trace, 0);
    return p;
}

static uint32_t moved(const pair *p, uint32_t event)
{
    return event == UINT32_MAX ? event : mv_thinned_before(&p->thinned, 0, event);
}

static void expect_peak(const mv_peak *a, const mv_peak *b, const char *name)
{
    cr_expect_eq(b->bytes.allocated, a->bytes.allocated, "%s", name);
    cr_expect_eq(b->bytes.active, a->bytes.active, "%s", name);
    cr_expect_eq(b->bytes.requested, a->bytes.requested, "%s", name);
    cr_expect_eq(b->bytes.reserved, a->bytes.reserved, "%s", name);
}

static void expect_totals(const pair *p, const char *name)
{
    mv_totals a, b;

    mvt_ok(mv_totals_find(mvt_memory(), p->whole, &p->before, &a, mvt_err()));
    mvt_ok(mv_totals_find(mvt_memory(), &p->thinned.trace, &p->after, &b, mvt_err()));
    expect_peak(&a.peak, &b.peak, name);
    cr_assert_eq(a.pool_count, b.pool_count, "%s", name);
    for (uint32_t i = 0; i < a.pool_count; i++)
        expect_peak(&a.pools[i].peak, &b.pools[i].peak, name);
    cr_expect_eq(b.audit.residual, a.audit.residual, "%s", name);
    cr_expect_eq(b.audit.exact, a.audit.exact, "%s", name);
    cr_expect_eq(p->after.history, p->before.history, "%s: %s", name, p->after.history_why);
    cr_expect_eq(p->after.doubts.lost_frees, p->before.doubts.lost_frees, "%s", name);
    cr_expect_eq(p->after.doubts.final_mismatches, p->before.doubts.final_mismatches, "%s", name);
}

/* Event by event. */
static void expect_missing(const pair *p, const char *name)
{
    mv_series a, b;
    uint64_t most = 0;

    mvt_ok(mv_totals_series(mvt_memory(), &p->before, &a, mvt_err()));
    mvt_ok(mv_totals_series(mvt_memory(), &p->after, &b, mvt_err()));
    for (uint32_t i = 0; i < a.count; i++) {
        uint32_t at = mv_thinned_before(&p->thinned, 0, i + 1);
        uint64_t there = at ? b.allocated[at - 1] : b.before.allocated;
        cr_assert_leq(there, a.allocated[i], "%s event %u", name, i);
        cr_assert_eq(at ? b.reserved[at - 1] : b.before.reserved, a.reserved[i]);
        most = a.allocated[i] - there > most ? a.allocated[i] - there : most;
    }
    if (p->whole->device_count == 1)
        cr_assert_eq(most, p->thinned.most_bytes, "%s", name);
    else
        cr_assert_leq(most, p->thinned.most_bytes, "%s", name);
}

static void check(const mv_trace *trace, const char *name)
{
    uint64_t all = mv_events_of_all(trace);

    for (uint32_t part = 0; part <= 4; part++) {
        pair p = thin(trace, all * part / 4);
        cr_assert_eq(mv_events_of_all(&p.thinned.trace) + p.thinned.left_out, all, "%s", name);
        cr_assert_eq(p.thinned.trace.notes[MV_NOTE_THINNED].count, p.thinned.left_out);
        cr_assert(part < 4 || p.thinned.left_out == 0);
        if (trace->device_count == 0)
            continue;
        /* The rows of the thinned trace must be the rows whose events were kept, in order. */
        const mv_alloc_lives *a = &p.before.allocs, *b = &p.after.allocs;
        uint32_t row = 0;
        for (uint32_t j = 0; j < a->count; j++) {
            if (a->birth[j] != MV_BEFORE && p.thinned.kept &&
                !mv_bitmap_has(&p.thinned.kept[0], a->birth[j]))
                continue;
            cr_assert_lt(row, b->count, "%s", name);
            cr_assert_eq(b->addr[row], a->addr[j], "%s row %u", name, j);
            cr_assert_eq(b->block[row], a->block[j], "%s row %u of %u", name, j, a->count);
            cr_assert_eq(b->requested[row], a->requested[j], "%s row %u", name, j);
            cr_assert_eq(b->birth[row], moved(&p, a->birth[j]), "%s row %u", name, j);
            cr_assert_eq(b->freed[row], moved(&p, a->freed[j]), "%s row %u", name, j);
            cr_assert_eq(b->completed[row], moved(&p, a->completed[j]), "%s row %u", name, j);
            row++;
        }
        cr_assert_eq(row, b->count, "%s", name);
        expect_totals(&p, name);
        expect_missing(&p, name);
    }
}

LongTest(thin, random_heaps_keep_sizes_and_peaks)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        mvt_trace *t = mvt_new();
        const char *name = mvt_format("seed %u", seed);
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                        .calls = seed % 20 == 0 ? 40000 : 500, /* several pieces */
                                        .unrecorded = seed % 3 == 0 ? 100 : 0,
                                        .expandable = seed % 4 == 1,
                                        .max_split = seed % 5 == 2 ? 20 << 20 : 0,
                                        .drains = seed % 7 == 3});
        check(mvt_done(t), name);
    }
}

EachSnapshot(thin, every_snapshot_keeps_sizes_and_peaks, check);

/* A page of one device contains all devices, but the command has found the lives of one. */
static void check_steps(const mv_trace *trace, const char *name)
{
    uint64_t most = mv_events_of_all(trace) / 2;
    mv_thinned whole, steps;

    if (trace->device_count == 0)
        return;
    mvt_ok(mv_trace_downsample(mvt_memory(), trace, most, &whole, mvt_err()));
    mv_lives lives = mvt_lives(mvt_memory(), trace, trace->device_count - 1);
    mvt_ok(mv_downsample_begin(mvt_memory(), trace, most, &steps, mvt_err()));
    mvt_ok(mv_downsample_device(mvt_memory(), trace, &lives, &steps, mvt_err()));
    mvt_ok(mv_downsample_end(mvt_memory(), trace, &steps, mvt_err()));
    cr_assert_eq(steps.left_out, whole.left_out, "%s", name);
    cr_assert_eq(steps.most_bytes, whole.most_bytes, "%s", name);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const mv_events *a = &whole.trace.devices[i].events, *b = &steps.trace.devices[i].events;
        cr_assert_eq(a->count, b->count, "%s", name);
        for (uint32_t j = 0; j < a->count; j++)
            cr_assert(a->addr[j] == b->addr[j] && a->action[j] == b->action[j], "%s", name);
    }
}

Test(thin, devices_whose_lives_are_known_are_thinned_with_them)
{
    mvt_each_snapshot(check_steps);
}
