#include <inttypes.h>

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"

/* ---- PyTorch's own counters beside real snapshots ------------------------------------------ */

static cJSON *truth_of(const char *name)
{
    return mvt_json_file("snapshots/%s.truth.json", name);
}

static void expect_stat(const cJSON *truth, const char *name, const char *key, uint64_t value)
{
    const cJSON *stats = cJSON_GetObjectItemCaseSensitive(truth, "stats");
    const cJSON *stat = cJSON_GetObjectItemCaseSensitive(stats, key);

    if (stat) /* a pool that was never used has no counters */
        cr_expect_eq(value, (uint64_t)stat->valuedouble, "%s: %s is %.0f, not %" PRIu64, name, key,
                     stat->valuedouble, value);
}

static void expect_levels(const cJSON *truth, const char *name, const char *pool,
                          const char *moment, const mv_levels *levels)
{
#define EXPECT(level) \
    expect_stat(truth, name, mvt_format(#level "_bytes.%s.%s", pool, moment), levels->level);
    EXPECT(allocated)
    EXPECT(active)
    EXPECT(requested)
    EXPECT(reserved)
#undef EXPECT
}

static uint64_t active_rows(const mv_alloc_lives *allocs)
{
    uint64_t active = 0;

    for (uint32_t i = 0; i < allocs->count; i++)
        active += allocs->completed[i] == MV_NEVER;
    return active;
}

static mv_levels sum_pools(const mv_totals *totals)
{
    mv_levels sum = {0};

    for (uint32_t i = 0; i < totals->pool_count; i++) {
        sum.allocated += totals->pools[i].current.bytes.allocated;
        sum.active += totals->pools[i].current.bytes.active;
        sum.requested += totals->pools[i].current.bytes.requested;
        sum.reserved += totals->pools[i].current.bytes.reserved;
    }
    return sum;
}

static void expect_same_levels(const mv_levels *a, const mv_levels *b, const char *what)
{
    cr_expect_eq(a->allocated, b->allocated, "%s: allocated", what);
    cr_expect_eq(a->active, b->active, "%s: active", what);
    cr_expect_eq(a->requested, b->requested, "%s: requested", what);
    cr_expect_eq(a->reserved, b->reserved, "%s: reserved", what);
}

/* The truth counts the process's current device, which is 0 in all of these snapshots. */
static void check_snapshot(const mv_trace *trace, const char *name)
{
    cJSON *truth = truth_of(name);

    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        mv_totals totals;
        mv_lives lives = mvt_lives(mvt_memory(), trace, device);
        mvt_ok(mv_totals_find(mvt_memory(), trace, &lives, &totals, mvt_err()));
        mv_levels sum = sum_pools(&totals);
        expect_same_levels(&sum, &totals.current.bytes, name);
        cr_expect_eq(totals.total.allocated - totals.total.freed, totals.current.bytes.allocated,
                     "%s", name);
        if (truth && device == 0) {
            expect_levels(truth, name, "all", "current", &totals.current.bytes);
            expect_levels(truth, name, "small_pool", "current",
                          &totals.kinds[MV_SEGMENT_SMALL].current.bytes);
            expect_levels(truth, name, "large_pool", "current",
                          &totals.kinds[MV_SEGMENT_LARGE].current.bytes);
            expect_stat(truth, name, "allocation.all.current", totals.current.allocations);
            expect_stat(truth, name, "active.all.current", active_rows(&lives.allocs));
            if (lives.history == MV_HISTORY_COMPLETE) {
                expect_levels(truth, name, "all", "peak", &totals.peak.bytes);
                expect_levels(truth, name, "small_pool", "peak",
                              &totals.kinds[MV_SEGMENT_SMALL].peak.bytes);
                expect_levels(truth, name, "large_pool", "peak",
                              &totals.kinds[MV_SEGMENT_LARGE].peak.bytes);
                expect_stat(truth, name, "allocated_bytes.all.allocated", totals.total.allocated);
                expect_stat(truth, name, "allocated_bytes.all.freed", totals.total.freed);
                cr_expect(totals.audit.exact, "%s is not exact: %s", name,
                          totals.audit.count ? totals.audit.notes[0] : "no reason");
                cr_expect_eq(totals.audit.residual, 0, "%s", name);
            } else {
                cr_expect(!totals.audit.exact, "%s", name);
                cr_expect_gt(totals.audit.count, 0, "%s: no note says why", name);
            }
        }
    }
}

/* PyTorch also counts a retry for a request that fails in the end. */
static void expect_requests(const char *name)
{
    cJSON *truth = truth_of(name);
    const cJSON *stats = truth ? cJSON_GetObjectItemCaseSensitive(truth, "stats") : NULL;

    if (!stats || !cJSON_GetObjectItemCaseSensitive(stats, "num_ooms"))
        return;
    const cJSON *device =
        mvt_member(mvt_json(0, "$MEMVIZ stats --json $SNAPS/%s.pickle*", name), "devices.0");
    if (strcmp(mvt_json_text(device, "history"), "complete") != 0)
        return;
    cr_expect_eq(mvt_json_number(device, "failed"), mvt_json_number(stats, "num_ooms"), "%s", name);
    cr_expect_eq(mvt_json_number(device, "failed") + mvt_json_number(device, "retries"),
                 mvt_json_number(stats, "num_alloc_retries"), "%s", name);
}

LongTest(totals, requests_that_failed_or_were_retried_are_pytorchs_own_counts)
{
    mvt_each_name(expect_requests);
}

Test(totals, real_snapshots_have_pytorchs_own_figures)
{
    mvt_each_snapshot(check_snapshot);
}

Test(totals, series_passes_through_every_step_that_was_measured)
{
    static const char *const names[] = {"gpt_train", "leak_in_training", "no_leak_warmup",
                                        "gpt_train_expandable", "frag_varying_batch"};
    mv_arena *arena = mvt_memory();

    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *truth = truth_of(names[i]);
        mv_series series;
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        mvt_ok(mv_totals_series(arena, &lives, &series, mvt_err()));
        /* `marks` are memory_allocated() and memory_reserved() after each step. Each pair must
         * occur in the series, in that order. Figures from before the first event do not count. */
        const cJSON *marks = mvt_member(truth, "marks"), *mark;
        uint32_t at = 0;
        cr_assert_gt(cJSON_GetArraySize(marks), 3);
        cJSON_ArrayForEach(mark, marks) {
            const char *label = mvt_json_text(mark, "label");
            double allocated = mvt_json_number(mark, "allocated");
            double reserved = mvt_json_number(mark, "reserved");
            if (strcmp(label, "start") == 0)
                continue;
            while (at < series.count && (series.allocated[at] != (uint64_t)allocated ||
                                         series.reserved[at] != (uint64_t)reserved))
                at++;
            cr_expect_lt(at, series.count, "%s: %s is never reached", names[i], label);
        }
    }
}

static void raise(uint64_t level, uint32_t event, uint64_t *peak, uint32_t *at)
{
    if (level > *peak) {
        *peak = level;
        *at = event;
    }
}

static mv_peak true_peak(const mvt_heap_truth *truth)
{
    mv_peak peak = {truth->before, MV_BEFORE, MV_BEFORE, MV_BEFORE, MV_BEFORE};

    for (uint32_t i = 0; i < truth->events; i++) {
        const mv_levels *now = &truth->levels[i];
        raise(now->allocated, i, &peak.bytes.allocated, &peak.allocated_event);
        raise(now->active, i, &peak.bytes.active, &peak.active_event);
        raise(now->requested, i, &peak.bytes.requested, &peak.requested_event);
        raise(now->reserved, i, &peak.bytes.reserved, &peak.reserved_event);
    }
    return peak;
}

static void check_random(mvt_heap_opts opts)
{
    mvt_trace *t = mvt_new();
    mvt_heap_truth truth = mvt_heap_run(t, opts);
    const mv_trace *trace = mvt_done(t);
    mv_totals totals;
    mv_series series;
    const char *what = mvt_format("seed %u", opts.seed);
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);

    mvt_ok(mv_totals_find(mvt_arena(t), trace, &lives, &totals, mvt_err()));
    mvt_ok(mv_totals_series(mvt_arena(t), &lives, &series, mvt_err()));
    mv_peak peak = true_peak(&truth);
    expect_same_levels(&totals.peak.bytes, &peak.bytes, what);
    cr_expect_eq(totals.peak.allocated_event, peak.allocated_event, "%s", what);
    cr_expect_eq(totals.peak.active_event, peak.active_event, "%s", what);
    cr_expect_eq(totals.peak.requested_event, peak.requested_event, "%s", what);
    cr_expect_eq(totals.peak.reserved_event, peak.reserved_event, "%s", what);
    expect_same_levels(&series.before, &truth.before, what);
    cr_assert_eq(series.count, truth.events);
    for (uint32_t i = 0; i < truth.events; i++) {
        mv_levels now = {series.allocated[i], series.active[i], series.requested[i],
                         series.reserved[i]};
        expect_same_levels(&now, &truth.levels[i], mvt_format("seed %u event %u", opts.seed, i));
    }
    cr_expect(totals.audit.exact, "%s: %s", what,
              totals.audit.count ? totals.audit.notes[0] : "no note");
}

Test(totals, random_traces_have_the_levels_of_the_literal_allocator)
{
    for (uint32_t seed = 1; seed <= 24; seed++)
        check_random((mvt_heap_opts){.seed = seed,
                                     .calls = 400,
                                     .expandable = seed % 3 == 0,
                                     .max_split = seed % 3 == 1 ? 32 << 20 : 0,
                                     .drains = seed % 4 == 0});
}

/* ---- events that were not recorded ---------------------------------------------------------- */

/* Makes the trace as _record_memory_history(skip_actions) leaves it: without the actions in a set
 * (bits), and without the first `cut` events, as a full buffer would leave it. */
static mv_trace skipped(mv_arena *arena, const mv_trace *trace, uint32_t set, uint32_t cut)
{
    mv_trace out = *trace;
    mv_device *device = mv_push_array(arena, mv_device, 1);
    const mv_events *from = &trace->devices[0].events;
    mv_events *to = &device->events;

#define PUSH(T, number, name, ...)                                  \
    to->name = mv_arena_push(arena, from->count, sizeof *to->name); \
    cr_assert_not_null(to->name);
    MV_EVENT_COLUMNS(PUSH, )
#undef PUSH
    for (uint32_t i = cut; i < from->count; i++) {
        if (set >> from->action[i] & 1)
            continue;
#define COPY(T, number, name, ...) to->name[to->count] = from->name[i];
        MV_EVENT_COLUMNS(COPY, )
#undef COPY
        to->count++;
    }
    out.devices = device;
    out.device_count = 1;
    return out;
}

static void expect_bound(uint64_t figure, mv_bound bound, uint64_t truth, const char *what,
                         const char *measure)
{
    if (!(bound & MV_BOUND_LEAST))
        cr_expect_leq(truth, figure, "%s: %s %" PRIu64 " is %s, the truth is %" PRIu64, what,
                      measure, figure, mv_bound_name(bound), truth);
    if (!(bound & MV_BOUND_MOST))
        cr_expect_geq(truth, figure, "%s: %s %" PRIu64 " is %s, the truth is %" PRIu64, what,
                      measure, figure, mv_bound_name(bound), truth);
}

static void expect_bounds(const mv_trace *trace, const mvt_heap_truth *truth, const char *what)
{
    mv_levels most = true_peak(truth).bytes;
    mv_totals totals;
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);

    mvt_ok(mv_totals_find(mvt_memory(), trace, &lives, &totals, mvt_err()));
    expect_bound(totals.peak.bytes.allocated, totals.audit.peak.allocated, most.allocated, what,
                 "allocated");
    expect_bound(totals.peak.bytes.active, totals.audit.peak.active, most.active, what, "active");
    expect_bound(totals.peak.bytes.requested, totals.audit.peak.requested, most.requested, what,
                 "requested");
    expect_bound(totals.peak.bytes.reserved, totals.audit.peak.reserved, most.reserved, what,
                 "reserved");
}

/* A cut where the heap is empty would look like a whole history: cut earlier. */
static uint32_t place_to_cut(const mvt_heap_truth *truth, uint32_t at)
{
    while (at > 0 && truth->levels[at - 1].reserved == 0)
        at--;
    return at;
}

Test(totals, bounds_hold_with_any_events_missing)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 60,
                              .expandable = seed % 3 == 0,
                              .max_split = seed % 3 == 1 ? 32 << 20 : 0,
                              .drains = seed % 4 == 0};
        static const mv_action actions[] = {MV_ACTION_ALLOC,          MV_ACTION_FREE_REQUESTED,
                                            MV_ACTION_FREE_COMPLETED, MV_ACTION_SEGMENT_ALLOC,
                                            MV_ACTION_SEGMENT_FREE,   MV_ACTION_SEGMENT_MAP,
                                            MV_ACTION_SEGMENT_UNMAP};
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(t, opts);
        const mv_trace *trace = mvt_done(t);
        uint64_t random = opts.seed;
        for (uint32_t set = 0; set < 1u << sizeof actions / sizeof *actions; set++) {
            uint32_t skip = 0, cut = place_to_cut(&truth, mvt_random(&random, truth.events));
            for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++)
                skip |= (set >> i & 1) << actions[i];
            /* if nothing ends in the file, nothing shows that something ended before it */
            bool has_ends = (set & 6) != 6;
            for (uint32_t part = 0; part < 1u + has_ends; part++) {
                mv_trace less = skipped(mvt_arena(t), trace, skip, part ? cut : 0);
                const char *what = mvt_format("seed %u without set %#x from event %u", opts.seed,
                                              set, part ? cut : 0);
                expect_bounds(&less, &truth, what);
            }
        }
        mvt_drop(t);
    }
}

/* ---- small traces ------------------------------------------------------------------------ */

typedef struct {
    mvt_trace *t;
    mv_lives lives;
    mv_totals totals;
} result;

/* A trace that begins with a segment of 2 MiB at 0x200000. */
static mvt_trace *small_segment(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20);
    return t;
}

static result totals_of(mvt_trace *t)
{
    result r = {.t = t};
    const mv_trace *trace = mvt_done(t);

    r.lives = mvt_lives(mvt_arena(t), trace, 0);
    mvt_ok(mv_totals_find(mvt_arena(t), trace, &r.lives, &r.totals, mvt_err()));
    return r;
}

Test(totals, deferred_free_ends_allocated_before_active_and_requested)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 1000);
    mvt_free_requested(t, .addr = 0x200000);
    mvt_alloc(t, .addr = 0x200400, .bytes = 600);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 1024, .requested = 1000, .state = MV_BLOCK_PENDING_FREE);
    mvt_block(t, .bytes = 1024, .requested = 600, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 2048);
    result r = totals_of(t);
    cr_expect_eq(r.totals.current.bytes.allocated, 1024);
    cr_expect_eq(r.totals.current.bytes.active, 2048);
    cr_expect_eq(r.totals.current.bytes.requested, 1600);
    cr_expect_eq(r.totals.current.allocations, 1);
    cr_expect_eq(r.totals.peak.bytes.allocated, 1024);
    cr_expect_eq(r.totals.peak.allocated_event, 1);
    cr_expect_eq(r.totals.peak.bytes.active, 2048);
    cr_expect_eq(r.totals.peak.active_event, 3);
    cr_expect(r.totals.audit.exact);
}

enum { KEPT_REQUESTED = 1, KEPT_COMPLETED = 2 };

/* 1,024 bytes wait for a stream while 512 are allocated, in a file that contains only some of the
 * events. */
static result waiting_beside_another(unsigned kept)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 1024);
    if (kept & KEPT_REQUESTED)
        mvt_free_requested(t, .addr = 0x200000);
    mvt_segment_alloc(t, .addr = 0x800000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x800000, .bytes = 512);
    if (kept & KEPT_COMPLETED)
        mvt_free_completed(t, .addr = 0x200000);
    mvt_alloc(t, .addr = 0x800200, .bytes = 512);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 2 << 20);
    mvt_segment(t, .addr = 0x800000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 1024);
    return totals_of(t);
}

/* The true peaks are 1,024 bytes allocated, and 1,536 bytes active and requested. */
Test(totals, frees_that_are_missing_make_peaks_bounds)
{
    static const struct {
        unsigned kept;
        uint64_t allocated, active;
        mv_bound of_allocated, of_others; /* active and requested */
        const char *note;
    } all[] = {
        {KEPT_REQUESTED | KEPT_COMPLETED, 1024, 1536, MV_BOUND_EXACT, MV_BOUND_EXACT, NULL},
        {KEPT_COMPLETED, 1536, 1536, MV_BOUND_MOST, MV_BOUND_EXACT, "has no free_requested"},
        {KEPT_REQUESTED, 1024, 1024, MV_BOUND_EXACT, MV_BOUND_LEAST, "has no free_completed"},
        {0, 1536, 1536, MV_BOUND_ABOUT, MV_BOUND_ABOUT, ""},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        result r = waiting_beside_another(all[i].kept);
        const mv_audit *audit = &r.totals.audit;

        cr_expect_eq(r.totals.peak.bytes.allocated, all[i].allocated, "%u", i);
        cr_expect_eq(r.totals.peak.bytes.active, all[i].active, "%u", i);
        cr_expect_eq(audit->peak.allocated, all[i].of_allocated, "%u", i);
        cr_expect_eq(audit->peak.active, all[i].of_others, "%u", i);
        cr_expect_eq(audit->peak.requested, all[i].of_others, "%u", i);
        cr_expect_eq(audit->residual, 0, "%u", i);
        cr_expect_eq(audit->exact, all[i].note == NULL, "%u", i);
        if (all[i].note)
            cr_expect(audit->count == 1 && strstr(audit->notes[0], all[i].note), "%u", i);
    }
}

/* Event 0 completes an earlier free request. The run never exceeded 4 MiB: b was allocated while
 * a waited. */
Test(totals, a_free_that_the_first_event_completes_was_requested_before)
{
    mvt_trace *t = mvt_new();

    mvt_free_completed(t, .addr = 0x2000000, .bytes = 4 << 20);
    mvt_alloc(t, .addr = 0x2000000, .bytes = 1 << 20);
    mvt_free(t, .addr = 0x2000000);
    mvt_segment(t, .addr = 0x2000000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 4 << 20);
    mvt_block(t, .bytes = 2 << 20, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 14 << 20);
    result r = totals_of(t);
    cr_expect_eq(r.totals.peak.bytes.allocated, 3 << 20);
    cr_expect_eq(r.totals.peak.bytes.active, 6 << 20);
    cr_expect_eq(r.totals.audit.peak.allocated, MV_BOUND_LEAST);
}

/* If there is no segment event and no segment at the end, nothing shows the reserved memory. */
Test(totals, segments_of_blocks_without_segments_are_unknown)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x2000000, .bytes = 4 << 20);
    mvt_free(t, .addr = 0x2000000);
    result r = totals_of(t);
    cr_expect_eq(r.totals.peak.bytes.allocated, 4 << 20);
    cr_expect_eq(r.totals.audit.peak.allocated, MV_BOUND_ABOUT);
    cr_expect_eq(r.totals.audit.peak.reserved, MV_BOUND_LEAST);
    cr_expect(!r.totals.audit.exact);
    cr_expect(r.lives.is_missing_segment_events);
}

/* Two segments, one after the other, of which only the ends are in the file. Each of them contains
 * a block from before the first event, which shows that both existed at once. */
static result ended_segments(bool is_shown)
{
    mvt_trace *t = mvt_new();

    if (is_shown)
        mvt_free(t, .addr = 0x800000, .bytes = 512);
    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_free(t, .addr = 0x200000);
    mvt_segment_free(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x800000, .bytes = 512);
    mvt_free(t, .addr = 0x800000);
    mvt_segment_free(t, .addr = 0x800000, .bytes = 2 << 20);
    return totals_of(t);
}

Test(totals, segments_that_only_their_ends_show_may_follow_each_other)
{
    result r = ended_segments(false);

    cr_expect_eq(r.totals.peak.bytes.reserved, 4 << 20);
    cr_expect_eq(r.totals.audit.peak.reserved, MV_BOUND_ABOUT);
    r = ended_segments(true);
    cr_expect_eq(r.totals.peak.bytes.reserved, 4 << 20);
    cr_expect_eq(r.totals.audit.peak.reserved, MV_BOUND_LEAST);
}

/* Without its segment_free the first segment seems to exist to the end, and others may have ended
 * before the first event. */
Test(totals, a_segment_missing_from_the_final_heap_makes_reserved_uncertain)
{
    mvt_trace *t = small_segment();

    mvt_segment_alloc(t, .addr = 0x800000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x800000, .bytes = 512);
    mvt_segment(t, .addr = 0x800000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 512);
    result r = totals_of(t);
    cr_expect_eq(r.totals.peak.bytes.reserved, 4 << 20);
    cr_expect_eq(r.totals.audit.peak.reserved, MV_BOUND_ABOUT);
    cr_expect_eq(r.totals.audit.peak.allocated, MV_BOUND_LEAST);
}

Test(totals, without_a_final_heap_the_current_figures_come_from_the_events)
{
    mvt_trace *t = mvt_new();
    mv_totals totals;

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x200000, .bytes = 1000);
    mvt_alloc(t, .addr = 0x200400, .bytes = 500);
    mvt_free(t, .addr = 0x200000);
    mv_trace trace = *mvt_done(t);
    trace.notes[MV_NOTE_NO_HEAP].count = 1;
    mv_lives lives = mvt_lives(mvt_arena(t), &trace, 0);
    mvt_ok(mv_totals_find(mvt_arena(t), &trace, &lives, &totals, mvt_err()));
    cr_expect_eq(totals.current.bytes.allocated, 512);
    cr_expect_eq(totals.current.bytes.requested, 500);
    cr_expect_eq(totals.current.bytes.reserved, 2 << 20);
    cr_expect_eq(totals.current.allocations, 1);
    cr_expect_eq(totals.current.segments, 1);
    cr_expect_eq(totals.peak.bytes.allocated, 1536);
    cr_expect_eq(totals.audit.peak.allocated, MV_BOUND_LEAST);
    cr_expect_eq(totals.audit.peak.reserved, MV_BOUND_LEAST);
    cr_expect_eq(totals.audit.residual, 0);
    cr_expect_eq(lives.history, MV_HISTORY_COMPLETE);
    cr_expect(strstr(lives.history_why, "no final heap"), "%s", lives.history_why);
}

/* A file without the key differs from a file with an empty heap, even after conversion. */
Test(totals, a_missing_final_heap_stays_missing_in_other_formats)
{
    static const mvt_expected_run all[] = {{"f.msgpack", 0, "the file has no final heap", ""},
                                           {NULL, 0, "now 4 segments, 2 allocations", NULL},
                                           {"f.bin", 0, "the file has no final heap", ""},
                                           {NULL, 0, "now 4 segments, 2 allocations", NULL}};

    MVT_EXPECT_RUNS("f=%s; $MEMVIZ convert -q $SNAPS/../skipped/no_final_heap.pickle -o $f && "
                    "$MEMVIZ stats $f",
                    all);
}

Test(totals, private_pools_have_separate_rows)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_segment_alloc(t, .addr = 0x600000, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 0x600000, .bytes = 1024);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 512);
    mvt_segment(t, .addr = 0x600000, .bytes = 2 << 20, .small = true, .pool_a = 1);
    mvt_block(t, .bytes = 1024, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 1024);
    result r = totals_of(t);
    cr_assert_eq(r.totals.pool_count, 2);
    cr_expect_eq(r.totals.pools[0].peak.bytes.allocated, 512);
    cr_expect_eq(r.totals.pools[0].pool_id.row, MV_DEFAULT_POOL.row);
    cr_expect_eq(r.totals.pools[1].peak.bytes.allocated, 1024);
    cr_expect_eq(r.totals.pools[1].current.bytes.reserved, 2 << 20);
    cr_expect_eq(r.totals.kinds[MV_SEGMENT_SMALL].peak.bytes.allocated, 1536);
}

/* A file without pools has rows in unknown pools. If it names a pool, released memory counts as
 * part of the default pool. */
Test(totals, pools_missing_from_the_file_are_unknown)
{
    for (int has_pools = 0; has_pools < 2; has_pools++) {
        mvt_trace *t = mvt_new();

        mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20);
        mvt_alloc(t, .addr = 0x200000, .bytes = 512);
        mvt_free(t, .addr = 0x200000);
        mvt_segment_free(t, .addr = 0x200000, .bytes = 2 << 20);
        mvt_segment_alloc(t, .addr = 0x600000, .bytes = 2 << 20);
        mvt_alloc(t, .addr = 0x600000, .bytes = 1024);
        if (has_pools) {
            mvt_segment(t, .addr = 0x600000, .bytes = 2 << 20, .small = true, .pool_a = 1);
            mvt_block(t, .bytes = 1024, .state = MV_BLOCK_ALLOCATED);
            mvt_block(t, .bytes = (2 << 20) - 1024);
        }
        result r = totals_of(t);
        cr_assert_eq(r.totals.pool_count, has_pools ? 2 : 1);
        cr_expect_eq(r.totals.pools[0].pool_id.row, has_pools ? MV_DEFAULT_POOL.row : MV_NO_ROW);
        cr_expect_eq(r.totals.pools[0].peak.bytes.allocated, has_pools ? 512 : 1024);
    }
}

Test(totals, residual_shows_unexplained_bytes)
{
    mvt_trace *t = small_segment();

    mvt_alloc(t, .addr = 0x200000, .bytes = 512);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 4096, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 4608);
    result r = totals_of(t);
    cr_expect_eq(r.totals.current.bytes.allocated, 4608);
    cr_expect_eq(r.totals.audit.residual, 4096);
    cr_expect(!r.totals.audit.exact);
    cr_expect_gt(r.totals.audit.count, 0);
    cr_expect_eq(r.totals.peak.bytes.allocated, 4608);
}

Test(totals, without_events_the_final_heap_is_the_peak)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (2 << 20) - 512);
    result r = totals_of(t);
    cr_expect_eq(r.totals.peak.bytes.allocated, 512);
    cr_expect_eq(r.totals.peak.allocated_event, MV_BEFORE);
    cr_expect_eq(r.totals.peak.bytes.reserved, 2 << 20);
    cr_expect(!r.totals.audit.exact);
}

/* The levels must equal those of the whole trace. Each block whose size cannot be known is at most
 * 1 MiB too small. */
static void expect_tail(const mv_lives *cut, const mv_series *tail, const mv_series *whole,
                        const char *what)
{
    uint32_t first = whole->count - tail->count;
    uint64_t slack = cut->doubts.inexact_blocks << 20;

    cr_expect_neq(cut->history, MV_HISTORY_COMPLETE, "%s", what);
    cr_expect_eq(cut->doubts.lone_frees + cut->doubts.lost_frees + cut->doubts.lone_segments +
                     cut->doubts.misplaced + cut->doubts.resized_blocks +
                     cut->doubts.final_mismatches,
                 0, "%s", what);
    for (uint32_t i = 0; i < tail->count; i++) {
        uint32_t at = first + i;
        cr_assert_eq(tail->requested[i], whole->requested[at], "%s event %u", what, i);
        cr_assert_eq(tail->reserved[i], whole->reserved[at], "%s event %u", what, i);
        cr_assert(tail->allocated[i] <= whole->allocated[at] &&
                      whole->allocated[at] - tail->allocated[i] <= slack,
                  "%s event %u", what, i);
        cr_assert(tail->active[i] <= whole->active[at] &&
                      whole->active[at] - tail->active[i] <= slack,
                  "%s event %u", what, i);
    }
}

static void check_cut(mv_arena *arena, const mv_trace *trace, const mv_series *whole,
                      uint32_t first, const char *name)
{
    mv_trace cut = *trace;
    mv_series tail;

    mvt_drop_first(arena, &cut, first);
    const char *what = mvt_format("%s from event %u", name, first);
    mv_lives lives = mvt_lives(arena, &cut, 0);
    mvt_ok(mv_totals_series(arena, &lives, &tail, mvt_err()));
    expect_tail(&lives, &tail, whole, what);
    cr_expect_leq(lives.doubts.inexact_blocks, 16, "%s", what);
}

Test(totals, levels_do_not_depend_on_where_the_trace_begins)
{
    static const char *const names[] = {
        "gpt_train",     "gpt_train_expandable", "whatif_2", "whatif_5",    "streams",   "graphs",
        "retry_release", "expandable_empty",     "mempool",  "graph_trees", "resnet_all"};
    mv_arena *arena = mvt_memory();

    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_series whole;
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        mvt_ok(mv_totals_series(arena, &lives, &whole, mvt_err()));
        for (uint32_t part = 1; part < 8; part++)
            check_cut(arena, &trace, &whole, (uint32_t)((uint64_t)whole.count * part / 8),
                      names[i]);
    }
}
