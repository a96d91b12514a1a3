#include "analyze/fragmentation/fragmentation.h"

#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"

typedef struct {
    mv_lives lives;
    mv_sites sites;
    mv_fragmentation f;
} result;

static result find_in(const mv_trace *trace, uint32_t device, const mv_moment *at)
{
    result r = {.lives = mvt_lives(mvt_memory(), trace, device)};

    mvt_ok(mv_sites_find(mvt_memory(), trace, &r.sites, mvt_err()));
    mvt_ok(mv_fragmentation_find(mvt_memory(), trace, &r.lives, &r.sites,
                                 (mv_fragmentation_opts){.at = at, .window = MV_ALL_EVENTS}, &r.f,
                                 mvt_err()));
    return r;
}

static result found(mvt_trace *t)
{
    return find_in(mvt_done(t), 0, NULL);
}

/* ---- words --------------------------------------------------------------------------------- */

/* "ok" states the excess and the rule, like the other verdict. */
Test(fragmentation, ok_reports_the_excess_and_the_usual_amount)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 100 * MIB);
    mvt_alloc(t, .addr = 0x40000000, .bytes = 96 * MIB);
    mvt_free(t, .addr = 0x40000000);
    mvt_segment_alloc(t, .addr = 0x60000000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x40000000, .bytes = 80 * MIB);
    mvt_final_heap(t);
    result r = found(t);
    cr_expect_str_eq(r.f.figures, "102 MiB reserved, 96.0 MiB needed");
    cr_expect(r.f.at.event != MV_BEFORE && !r.f.over_plain);
    cr_expect_str_eq(r.f.why, "6.00 MiB beyond the need; up to 48.0 MiB (half of it) are usual");
    cr_expect(r.f.beyond == 6 * MIB && r.f.allowed == 48 * MIB);
}

/* An unknown answer gives its specific reason. The reason is not the past if the file contains the
 * past. */
Test(fragmentation, an_unknown_answer_has_its_reason)
{
    mvt_run run =
        mvt_here_or_sh("COLUMNS=200 $MEMVIZ fragmentation $SNAPS/../skipped/no_frees.pickle");
    mvt_trace *t = mvt_new();

    cr_expect(strstr(run.out, "ok (history incomplete)"), "%s", run.out);
    cr_expect(strstr(run.out, "needed at once is unknown: 3 allocations ended without a free"),
              "%s", run.out);
    cr_expect_null(strstr(run.out, "before the trace"), "%s", run.out);
    /* the segments have stacks, but their events are not in the file */
    mvt_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB, .stack = "f:a.py:1");
    mvt_free(t, .addr = 0x40000000);
    mvt_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB, .stack = "f:a.py:1");
    mvt_segment(t, .addr = 0x40000000, .bytes = 20 * MIB, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    result r = found(t);
    cr_expect(!r.f.fragmented && !r.f.is_known);
    cr_expect(strstr(r.f.why, "file contains no segment events"), "%s", r.f.why);
    /* no event is an allocation, but the final heap has blocks */
    t = mvt_new();
    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 200 * MIB);
    mvt_segment_alloc(t, .addr = 0x60000000, .bytes = 20 * MIB);
    mvt_segment(t, .addr = 0x40000000, .bytes = 200 * MIB);
    mvt_block(t, .bytes = 200 * MIB);
    mvt_segment(t, .addr = 0x60000000, .bytes = 20 * MIB);
    mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_ALLOCATED);
    r = found(t);
    cr_expect(!r.f.fragmented && !r.f.is_known);
    cr_expect(strstr(r.f.why, "allocations were not recorded"), "%s", r.f.why);
    /* the first segment is older than the events, and its size is unknown */
    t = mvt_new();
    mvt_alloc(t, .addr = 0x80000000, .bytes = 4 * MIB);
    mvt_full_segment(t, .addr = 0x40000000, .bytes = 20 * MIB);
    mv_trace trace = *mvt_done(t);
    trace.notes[MV_NOTE_NO_HEAP].count = 1;
    r = find_in(&trace, 0, NULL);
    cr_expect_eq(r.lives.history, MV_HISTORY_LATE);
    cr_expect(!r.f.fragmented && !r.f.is_known);
    cr_expect(strstr(r.f.why, "the file has no final heap"), "%s", r.f.why);
}

/* The allocator asks the device for a whole segment, which is larger than the request. */
Test(fragmentation, a_refused_segment_is_not_the_request)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 64 * MIB);
    mvt_alloc(t, .addr = 0x40000000, .bytes = 60 * MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 7 * MIB);
    mvt_final_heap(t);
    result r = found(t);
    cr_expect_str_eq(r.f.figures,
                     "64.0 MiB reserved + a refused segment of 20.0 MiB, 67.0 MiB needed");
}

/* A recording that begins with a heap of `before` MiB, 10 MiB of them in use, and then reserves 180
 * MiB more for 20 MiB. */
static mvt_trace *begun_late(uint64_t before)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x40000000, .bytes = before * MIB);
    mvt_block(t, .bytes = 10 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = (before - 10) * MIB, .state = MV_BLOCK_INACTIVE);
    mvt_segment(t, .addr = 0x80000000, .bytes = 180 * MIB);
    mvt_block(t, .bytes = 20 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 160 * MIB, .state = MV_BLOCK_INACTIVE);
    mvt_segment_alloc(t, .addr = 0x80000000, .bytes = 180 * MIB);
    mvt_alloc(t, .addr = 0x80000000, .bytes = 20 * MIB);
    return t;
}

/* Memory reserved before the events counts as needed. The report names it, and the figures add
 * up. */
Test(fragmentation, a_need_from_before_the_trace_is_not_the_need_of_the_run)
{
    result r = found(begun_late(200));

    cr_assert_eq(r.lives.history, MV_HISTORY_LATE);
    cr_expect(r.f.fragmented && r.f.is_known);
    cr_expect_str_eq(r.f.figures, "380 MiB reserved, at least 30.0 MiB needed");
    cr_expect_str_eq(r.f.why,
                     "the allocator holds 90 % more than the 200 MiB reserved before the trace");
    cr_expect_eq(r.f.base, 200 * MIB);
    cr_expect_eq(r.f.beyond, r.f.bytes.reserved - r.f.base);
    r = found(begun_late(20));
    cr_expect_str_eq(r.f.figures, "200 MiB reserved, at least 30.0 MiB needed");
    cr_expect_str_eq(r.f.why, "the allocator holds 6.7 times the most in use at once in the trace");
    cr_expect_eq(r.f.base, 30 * MIB);
    cr_expect_eq(r.f.beyond, 170 * MIB);
}

/* 60 MiB are reserved at the end, but at most 40 MiB were in use at once within the trace. */
Test(fragmentation, memory_that_no_event_needed_is_not_called_needed)
{
    mvt_trace *t = mvt_new();
    mv_moment end = {0};

    mvt_segment(t, .addr = 0x40000000, .bytes = 60 * MIB);
    mvt_block(t, .bytes = 10 * MIB, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 50 * MIB, .state = MV_BLOCK_INACTIVE);
    mvt_alloc(t, .addr = 0x40000000 + 10 * MIB, .bytes = 30 * MIB);
    mvt_free(t, .addr = 0x40000000 + 10 * MIB);
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    mvt_ok(mv_moment_find(mvt_arena(t), &lives,
                          (mv_moment_query){.kind = MV_MOMENT_AFTER,
                                            .event = lives.events.count - 1,
                                            .window = {0, lives.events.count}},
                          &end, mvt_err()));
    result r = find_in(mvt_done(t), 0, &end);
    cr_assert_eq(r.lives.history, MV_HISTORY_LATE);
    cr_expect(!r.f.fragmented && r.f.is_known && r.f.over_plain);
    cr_expect_str_eq(r.f.figures, "60.0 MiB reserved, at least 40.0 MiB needed");
    cr_expect_str_eq(r.f.why,
                     "at most 20.0 MiB beyond the need; up to 32.0 MiB (32 MiB) are usual");
    cr_expect(r.f.base == 60 * MIB && r.f.beyond == 0);
}

Test(fragmentation, json_has_the_base_of_the_excess)
{
    cJSON *report = mvt_json(0, "$MEMVIZ fragmentation --json $SNAPS/ring.pickle");
    const cJSON *row = mvt_member(report, "devices.0");

    cr_expect_eq(mvt_json_number(row, "needed"), 220482048);
    cr_expect_eq(mvt_json_number(row, "base"), 283115520);
    cr_expect_eq(mvt_json_number(row, "beyond"),
                 mvt_json_number(row, "taken") - mvt_json_number(row, "base"));
    cr_expect_eq(mvt_json_number(report, "base"), 283115520);
}

static void expect_sums(const mv_fragmentation *f, const char *what)
{
    mv_heap_sums sum = {0};
    uint64_t whole = 0, growth = 0, rows = 0;

    for (uint32_t i = 0; i < f->domain_count; i++) {
        const mv_heap_sums *b = &f->domains[i].bytes;
        cr_expect_eq(b->reserved, b->allocated + b->pending + b->free, "%s", what);
        cr_expect_leq(f->domains[i].whole, b->free, "%s", what);
        sum.reserved += b->reserved;
        sum.allocated += b->allocated;
        sum.pending += b->pending;
        sum.rounding += b->rounding;
        sum.free += b->free;
        whole += f->domains[i].whole;
    }
    cr_expect(memcmp(&sum, &f->bytes, sizeof sum) == 0, "%s: domains", what);
    cr_expect_eq(whole, f->whole, "%s", what);
    cr_expect_eq(f->bytes.reserved, f->at.bytes.reserved, "%s", what);
    cr_expect_eq(f->bytes.allocated, f->at.bytes.allocated, "%s", what);
    cr_expect_eq(f->bytes.allocated + f->bytes.pending, f->at.bytes.active, "%s", what);
    for (uint32_t i = 0; i < f->growths.count; i++)
        growth += f->growths.rows[i].segment_bytes;
    for (uint32_t i = 0; i < MV_REASON_COUNT; i++)
        rows += f->growths.bytes[i];
    cr_expect_eq(growth, rows, "%s: growth", what);
    uint64_t stranded = 0, lines = 0;
    for (uint32_t j = 0; j < f->pins.segment_count; j++) {
        const mv_stranded *s = &f->pins.segments[j];
        uint64_t pinned = 0;
        for (uint32_t p = 0; p < s->pins; p++)
            pinned += f->pins.pins[s->first_pin + p].stranded;
        cr_expect_eq(pinned, s->stranded, "%s segment %u", what, j);
        stranded += s->stranded;
    }
    for (uint32_t j = 0; j < f->pins.line_count; j++)
        lines += f->pins.lines[j].stranded;
    cr_expect_eq(stranded, f->stranded, "%s", what);
    cr_expect_eq(lines, f->stranded, "%s", what);
    cr_expect_eq(f->pins.stranded, f->stranded, "%s", what);
}

/* "far more" used to be printed for 4.00 GiB next to 3.58 GiB; the sentence must fit its
 * figures. */
static void expect_proportion(const mv_fragmentation *f, const char *what)
{
    uint64_t base = f->demand.needed, more = f->beyond;
    char part[32];

    cr_expect(!f->fragmented || f->beyond > f->allowed || strstr(f->why, "holes"), "%s: %s", what,
              f->why);
    if (!f->fragmented || base == 0 || f->beyond > f->bytes.reserved + f->failed - base ||
        strstr(f->why, "holes"))
        return;
    if (more < base / 200)
        snprintf(part, sizeof part, "no more than");
    else if (more < base)
        snprintf(part, sizeof part, "%.0f %% more", 100 * (double)more / (double)base);
    else
        snprintf(part, sizeof part, "%.1f times", 1 + (double)more / (double)base);
    cr_expect(strstr(f->why, part), "%s: %s, not %s", what, f->why, part);
}

static void check_snapshot(const mv_trace *trace, uint32_t device, const char *name)
{
    result r = find_in(trace, device, NULL);
    mv_totals totals;
    mvt_ok(mv_totals_find(mvt_memory(), trace, &r.lives, &totals, mvt_err()));
    cr_expect_eq(r.f.demand.reserved, totals.peak.bytes.reserved, "%s", name);
    expect_sums(&r.f, name);
    expect_proportion(&r.f, name);
    /* All pending bytes are charged to the line that freed them. */
    const mv_waiting *w = &r.f.waiting;
    uint64_t bytes = 0;
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        bytes += w->lines[i].bytes;
        blocks += w->lines[i].blocks;
        cr_expect(i == 0 || w->lines[i].bytes <= w->lines[i - 1].bytes, "%s", name);
    }
    cr_expect_eq(bytes, w->bytes, "%s", name);
    cr_expect_eq(blocks, w->blocks, "%s", name);
    cr_expect_eq(w->bytes, r.f.bytes.pending, "%s", name);
}

EachDevice(fragmentation, figures_add_up_on_every_snapshot, check_snapshot);

static uint64_t most_of(const mv_holes *holes, mv_domain_span span)
{
    uint64_t most = 0;

    for (uint32_t d = span.first; d < span.end; d++) {
        uint64_t one = mv_holes_largest(holes, (mv_domain_span){d, d + 1});
        most = one > most ? one : most;
    }
    return most;
}

static const mv_segment_growth *row_at(const mv_segment_growths *g, uint32_t event)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->rows[i].event == event)
            return &g->rows[i];
    return NULL;
}

static uint32_t check_growth(mvt_heap_opts opts)
{
    mvt_trace *t = mvt_new();
    mv_heap heap;
    char what[64];
    uint32_t rows = 0;

    mvt_heap_run(t, opts);
    const mv_trace *trace = mvt_done(t);
    result r = found(t);
    snprintf(what, sizeof what, "seed %u", opts.seed);
    expect_sums(&r.f, what);
    mvt_ok(mv_heap_init(mvt_arena(t), trace, &r.lives, &heap, mvt_err()));
    for (uint32_t i = 0; i < r.lives.events.count; i++) {
        const mv_segment_growth *g = row_at(&r.f.growths, i);
        snprintf(what, sizeof what, "seed %u event %u", opts.seed, i);
        if (g) {
            const mv_domains *d = &heap.domains;
            mv_heap_sums own = mv_heap_domain(&heap, g->domain);
            mv_domain_span alone = {g->domain, g->domain + 1};
            cr_expect_eq(g->free, mv_heap_total(&heap).free, "%s", what);
            cr_expect_eq(g->usable, own.free, "%s", what);
            cr_expect_eq(g->largest, most_of(&heap.now, alone), "%s", what);
            cr_expect_geq(g->free + own.pending, g->request, "%s", what);
            switch (g->reason) {
            case MV_REASON_SPLIT_LIMIT:
            case MV_REASON_UNKNOWN:
                cr_expect_geq(g->largest, g->request, "%s", what);
                break;
            case MV_REASON_PENDING:
                cr_expect_geq(most_of(mv_heap_settled(&heap), alone), g->request, "%s", what);
                break;
            case MV_REASON_NO_HOLE:
                cr_expect(g->largest < g->request && g->usable >= g->request, "%s", what);
                break;
            case MV_REASON_STREAM:
                cr_expect_geq(most_of(&heap.now, d->same_pool[g->domain]), g->request, "%s", what);
                break;
            case MV_REASON_POOL:
                cr_expect_geq(most_of(&heap.now, d->same_kind[g->domain]), g->request, "%s", what);
                break;
            case MV_REASON_SMALL:
            case MV_REASON_LARGE:
                cr_expect_lt(most_of(&heap.now, d->same_kind[g->domain]), g->request, "%s", what);
                break;
            default:
                cr_expect_lt(most_of(&heap.now, (mv_domain_span){0, d->count}), g->request, "%s",
                             what);
            }
        }
        rows += g != NULL;
        mv_heap_next(&heap);
    }
    cr_expect_eq(rows, r.f.growths.count);
    return rows;
}

Test(fragmentation, growth_on_random_heaps_has_its_reason)
{
    uint32_t rows = 0;

    for (uint32_t seed = 1; seed <= 24; seed++)
        rows += check_growth((mvt_heap_opts){.seed = seed,
                                             .calls = 400,
                                             .expandable = seed % 3 == 0,
                                             .max_split = seed % 3 == 1 ? 32 << 20 : 0});
    cr_expect_gt(rows, 200);
}

/* ---- reasons ------------------------------------------------------------------------------- */

/* 40 MiB are free on stream 0, in 2 pieces of 20 MiB, each behind a block in use. */
static mvt_trace *two_holes(void)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 2; i++) {
        uint64_t at = 0x10000000 + i * 0x10000000;
        mvt_segment_alloc(t, .addr = at, .bytes = 24 * MIB, .stack = "keep:a.py:1");
        mvt_alloc(t, .addr = at, .bytes = 24 * MIB, .stack = "big:a.py:2");
        mvt_free(t, .addr = at);
        mvt_alloc(t, .addr = at, .bytes = 4 * MIB, .stack = "keep:a.py:1");
    }
    return t;
}

static void expect_reason(mvt_trace *t, mv_growth_reason reason, uint64_t usable, uint64_t largest)
{
    mvt_final_heap(t);
    result r = found(t);
    cr_assert_eq(r.f.growths.count, 1);
    cr_expect_str_eq(mv_growth_reason_name(r.f.growths.rows[0].reason),
                     mv_growth_reason_name(reason));
    cr_expect_eq(r.f.growths.rows[0].usable, usable);
    cr_expect_eq(r.f.growths.rows[0].largest, largest);
    expect_sums(&r.f, mv_growth_reason_name(reason));
}

Test(fragmentation, enough_memory_in_pieces_is_not_a_hole)
{
    mvt_trace *t = two_holes();

    mvt_full_segment(t, .addr = 0x70000000, .bytes = 30 * MIB, .stack = "ask:a.py:3");
    expect_reason(t, MV_REASON_NO_HOLE, 40 * MIB, 20 * MIB);
}

Test(fragmentation, a_hole_of_another_stream_is_reported)
{
    mvt_trace *t = two_holes();

    mvt_segment_alloc(t, .addr = 0x70000000, .bytes = 20 * MIB, .stream = 7);
    mvt_alloc(t, .addr = 0x70000000, .bytes = 12 * MIB, .stream = 7);
    expect_reason(t, MV_REASON_STREAM, 0, 0);
}

Test(fragmentation, a_block_that_waits_for_a_stream_is_reported)
{
    mvt_trace *t = mvt_new();

    mvt_full_segment(t, .addr = 0x10000000, .bytes = 24 * MIB);
    mvt_free_requested(t, .addr = 0x10000000);
    mvt_full_segment(t, .addr = 0x70000000, .bytes = 24 * MIB);
    mvt_free_completed(t, .addr = 0x10000000);
    expect_reason(t, MV_REASON_PENDING, 0, 0);
}

Test(fragmentation, the_split_limit_is_reported)
{
    mvt_trace *t = mvt_new();

    mvt_setting_int(t, "max_split_size", 32 << 20);
    mvt_full_segment(t, .addr = 0x10000000, .bytes = 64 * MIB);
    mvt_free(t, .addr = 0x10000000);
    mvt_full_segment(t, .addr = 0x70000000, .bytes = 12 * MIB);
    expect_reason(t, MV_REASON_SPLIT_LIMIT, 64 * MIB, 64 * MIB);
}

Test(fragmentation, small_requests_do_not_use_large_holes)
{
    mvt_trace *t = two_holes();

    mvt_segment_alloc(t, .addr = 0x70000000, .bytes = 2 * MIB);
    mvt_alloc(t, .addr = 0x70000000, .bytes = 512);
    expect_reason(t, MV_REASON_SMALL, 0, 0);
}

Test(fragmentation, a_segment_for_more_than_the_free_bytes_is_not_a_row)
{
    mvt_trace *t = two_holes();

    mvt_full_segment(t, .addr = 0x70000000, .bytes = 50 * MIB);
    mvt_final_heap(t);
    result r = found(t);
    cr_expect_eq(r.f.growths.count, 0);
}

Test(fragmentation, a_hole_is_shared_by_its_neighbours)
{
    mvt_trace *t = mvt_new();
    mv_moment at = {.event = 6};

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 20 * MIB, .stack = "a:a.py:1");
    mvt_alloc(t, .addr = 0x10000000, .bytes = 8 * MIB, .stack = "a:a.py:1");
    mvt_alloc(t, .addr = 0x10000000 + 8 * MIB, .bytes = 4 * MIB, .stack = "gone:a.py:2");
    mvt_alloc(t, .addr = 0x10000000 + 12 * MIB, .bytes = 4 * MIB, .stack = "b:a.py:3");
    mvt_free(t, .addr = 0x10000000 + 8 * MIB);
    mvt_alloc(t, .addr = 0x10000000 + 16 * MIB, .bytes = 2 * MIB, .stack = "c:a.py:4");
    mvt_final_heap(t);
    result r = find_in(mvt_done(t), 0, &at);
    cr_assert_eq(r.f.pins.line_count, 3);
    cr_expect_eq(r.f.stranded, 6 * MIB);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(r.f.pins.lines[i].stranded, 2 * MIB);
    cr_expect_eq(r.f.pins.lines[0].bytes, 8 * MIB);
    cr_expect_eq(r.f.pins.lines[0].oldest, 1);
}

/* ---- verdicts ------------------------------------------------------------------------------ */

LongTest(fragmentation, verdicts_on_real_snapshots_are_right)
{
    static const struct {
        const char *name;
        bool fragmented;
    } cases[] = {
        {"frag_pinned_by_small", true},
        {"frag_pinned_by_small_expandable", false},
        {"frag_varying_batch", true},
        {"frag_varying_batch_expandable", false},
        {"oom_fragmented", true},
        {"gc_limit_off", true},
        {"gpt_train", false},
        {"gpt_train_expandable", false},
        {"resnet_all", false},
        {"mlp_train", false},
        {"no_leak_warmup", false},
        {"no_leak_cache_growth", false},
        {"leak_in_training", false},
        {"late_start", false},
        {"ring", false},
        {"state_only", false},
        {"no_history", false},
        {"oom", false},
        {"oom_outside", false},
        {"streams", false},
        {"graphs", false},
        {"generate", false},
        {"profiler_steps", false},
        {"eval_without_no_grad", false},
        {"graph_trees", false},
        {"expandable_empty", false},
    };

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_trace trace = mvt_load(mvt_memory(), cases[i].name);
        result r = find_in(&trace, 0, NULL);
        cr_expect_eq(r.f.fragmented, cases[i].fragmented, "%s", cases[i].name);
        cr_expect(r.f.fragmented || r.f.waits || r.f.advice_count == 0, "%s", cases[i].name);
        cr_expect_eq(r.f.waits, strcmp(cases[i].name, "streams") == 0, "%s", cases[i].name);
    }
}

/* Layers that gather 40 MiB each and free them at once. The frees complete when the step ends, or
 * immediately in the last layers. */
static mvt_trace *gathered(uint32_t layers, uint32_t waiting, const char *freed_at)
{
    mvt_trace *t = mvt_new();

    mvt_full_segment(t, .addr = 0x10000000, .bytes = 40 * MIB, .stack = "load:m.py:1");
    for (uint32_t i = 0; i < layers; i++) {
        uint64_t addr = 0x100000000 + (i < waiting ? i : waiting) * (uint64_t)0x10000000;
        if (i <= waiting)
            mvt_full_segment(t, .addr = addr, .bytes = 40 * MIB, .stack = "gather:fsdp.py:7");
        mvt_free_requested(t, .addr = addr, .stack = freed_at);
        if (i >= waiting)
            mvt_free_completed(t, .addr = addr);
    }
    for (uint32_t i = 0; i < waiting; i++)
        mvt_free_completed(t, .addr = 0x100000000 + i * (uint64_t)0x10000000);
    mvt_final_heap(t);
    return t;
}

static const char *culprit_of(const mv_trace *trace, const result *r, mv_stack_id stack)
{
    static char label[128];

    return mv_culprit_label(trace, r->sites.kinds, stack, label, sizeof label);
}

Test(fragmentation, memory_that_waits_for_a_stream_is_a_verdict)
{
    mvt_trace *t = gathered(12, 12, "reshard:fsdp.py:90");
    result r = found(t);

    cr_expect_str_eq(mv_fragmentation_verdict_name(&r.f), "waiting");
    cr_expect_str_eq(r.f.figures, "520 MiB reserved, 520 MiB needed");
    cr_expect_str_eq(r.f.why, "440 MiB in 11 blocks were freed, but another stream may still use "
                              "them: without the wait, 80.0 MiB would have been needed at once");
    cr_assert_eq(r.f.waiting.count, 1);
    cr_expect(r.f.waiting.lines[0].is_free);
    cr_expect_str_eq(culprit_of(mvt_done(t), &r, r.f.waiting.lines[0].stack), "fsdp.py:90 reshard");
    cr_assert_eq(r.f.advice_count, 1);
    cr_expect(strstr(r.f.advice[0].text, "fsdp.py:90 reshard freed 440 MiB"), "%s",
              r.f.advice[0].text);
    cr_expect(strstr(r.f.advice[0].text, "record_stream()"), "%s", r.f.advice[0].text);
}

/* If frees have the stack of the allocation, the file does not show who freed the block. */
Test(fragmentation, the_freeing_line_is_not_guessed)
{
    mvt_trace *t = gathered(12, 12, NULL);
    result r = found(t);

    cr_expect(r.f.waits);
    cr_assert_eq(r.f.waiting.count, 1);
    cr_expect_not(r.f.waiting.lines[0].is_free);
    cr_expect_str_eq(culprit_of(mvt_done(t), &r, r.f.waiting.lines[0].stack), "fsdp.py:7 gather");
    cr_expect(strstr(r.f.advice[0].text, "the line that freed them is not in the file"), "%s",
              r.f.advice[0].text);
}

/* On both sides of the rule's boundary: with 80 MiB allocated, 40 MiB are normal. */
Test(fragmentation, few_blocks_that_wait_are_not_a_verdict)
{
    result r = found(gathered(12, 1, NULL));

    cr_expect_not(r.f.waits);
    cr_expect_str_eq(mv_fragmentation_verdict_name(&r.f), "ok");
    cr_expect_eq(r.f.waiting.bytes, 40 * MIB);
    r = found(gathered(12, 2, NULL));
    cr_expect(r.f.waits);
}

Test(fragmentation, the_line_that_keeps_small_tensors_is_named)
{
    mv_trace trace = mvt_load(mvt_memory(), "frag_pinned_by_small");
    result r = find_in(&trace, 0, NULL);
    const mv_pins *pins = &r.f.pins;

    cr_expect_str_eq(culprit_of(&trace, &r, pins->lines[0].stack),
                     "train.py:159 frag_pinned_by_small");
    cr_expect_str_eq(culprit_of(&trace, &r, pins->pins[pins->segments[0].first_pin].stack),
                     "train.py:159 frag_pinned_by_small");
    cr_assert_geq(r.f.advice_count, 3);
    cr_expect(strstr(r.f.advice[2].text, "train.py:159") != NULL, "%s", r.f.advice[2].text);
    cr_expect_gt(r.f.advice[2].saves, 0, "kept apart, its blocks cost nothing");
    cr_expect_gt(r.f.growths.bytes[MV_REASON_NO_HOLE], 500 * MIB);
}

Test(fragmentation, between_steps_memory_is_not_fragmented)
{
    cJSON *report = mvt_json(0, "$MEMVIZ fragmentation --at end --json $SNAPS/gpt_train.pickle");

    cr_expect_str_eq(mvt_json_text(report, "verdict"), "ok");
    cr_expect(cJSON_IsTrue(mvt_member(report, "over_plain")));
}

Test(fragmentation, times_and_addresses_elsewhere_change_nothing)
{
    mv_trace trace = mvt_load(mvt_memory(), "frag_pinned_by_small");
    result a = find_in(&trace, 0, NULL);

    for (uint32_t i = 0; i < trace.devices[0].events.count; i++) {
        trace.devices[0].events.time_us[i] += 12345678;
        trace.devices[0].events.addr[i] += 64 * MIB;
    }
    for (uint32_t i = 0; i < trace.segments.count; i++)
        trace.segments.address[i] += 64 * MIB;
    for (uint32_t i = 0; i < trace.blocks.count; i++)
        trace.blocks.address[i] += 64 * MIB;
    result b = find_in(&trace, 0, NULL);
    cr_expect_eq(a.f.fragmented, b.f.fragmented);
    cr_expect_eq(a.f.beyond, b.f.beyond);
    cr_expect_eq(a.f.stranded, b.f.stranded);
    cr_expect_eq(a.f.pins.lines[0].stranded, b.f.pins.lines[0].stranded);
    cr_expect_eq(a.f.growths.count, b.f.growths.count);
}

/* A segment of 100 MiB, full at the peak, of which `used` MiB are in use at the end. */
static bool is_idle(uint64_t used, const char *at)
{
    mvt_trace *t = mvt_new();
    mv_moment moment = {.event = 3};

    mvt_full_segment(t, .addr = 0x40000000, .bytes = 100 * MIB);
    mvt_free(t, .addr = 0x40000000);
    mvt_alloc(t, .addr = 0x40000000, .bytes = used * MIB);
    mvt_final_heap(t);
    result r = find_in(mvt_done(t), 0, at ? &moment : NULL);
    cr_expect_eq(r.f.demand.end_reserved, 100 * MIB);
    cr_expect_eq(r.f.demand.end_active, used * MIB);
    return r.f.is_idle;
}

Test(fragmentation, memory_that_is_idle_at_the_end_is_reported)
{
    mvt_run run =
        mvt_here_or_sh("COLUMNS=200 $MEMVIZ fragmentation $SNAPS/frag_pinned_by_small.pickle");

    cr_expect(is_idle(20, NULL));
    cr_expect(is_idle(49, NULL));
    cr_expect(!is_idle(50, NULL));  /* not more than half */
    cr_expect(!is_idle(20, "end")); /* the report describes another moment, which was given */
    cr_expect(strstr(run.out, "at the end of the trace: 642 MiB reserved, 43.8 MiB in use"), "%s",
              run.out);
}

Test(fragmentation, a_file_without_devices_is_ok)
{
    cJSON *report = mvt_json(0, "printf '\\200\\004}\\224(\\214\\010segments]\\214\\015"
                                "device_traces]u.' > none.pickle; "
                                "$MEMVIZ fragmentation --json none.pickle");

    cr_expect_str_eq(mvt_json_text(report, "verdict"), "ok");
}
