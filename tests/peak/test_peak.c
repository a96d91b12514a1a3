/* The holders of memory at a moment: sums; marginal bytes, compared with the slow way; targets,
 * compared with every set of sites; and changes that must not affect a report. */
#include "analyze/code/sites.h"
#include "analyze/peak/peak.h"
#include "tests/fixture/fixture_training.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    mv_lives lives;
    mv_peak_opts opts;
    mv_attribution found;
} survey;

static mv_moment moment_of(survey *s, const char *at)
{
    mv_moment_query ask;
    mv_moment moment;
    char why[200];

    cr_assert(mv_moment_read(s->trace, s->lives.device, at, s->opts.window, &ask, why, sizeof why),
              "%s", why);
    mvt_ok(mv_moment_find(s->arena, &s->lives, ask, &moment, mvt_err()));
    return moment;
}

static survey survey_of(mv_arena *arena, const mv_trace *trace, uint32_t device, const char *at)
{
    survey s = {.arena = arena, .trace = trace};

    s.lives = mvt_lives(arena, trace, device);
    s.opts.window = (mv_window){0, s.lives.events.count};
    s.opts.kinds = mv_frame_kinds(arena, trace);
    mvt_ok(mv_peak_attribute(s.arena, s.trace, &s.lives, moment_of(&s, at), s.opts, &s.found,
                             mvt_err()));
    return s;
}

static void check_sums(const mv_attribution *a)
{
    uint64_t sites = a->unattributed, categories = 0, ranges = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        sites += a->sites[i].bytes;
        cr_expect_gt(a->sites[i].bytes, 0);
        cr_expect_gt(a->sites[i].blocks, 0);
        cr_expect_leq(a->sites[i].marginal, a->peak);
        cr_expect(i == 0 || a->sites[i].bytes <= a->sites[i - 1].bytes);
        cr_expect_lt(a->sites[i].category, a->categories.count);
    }
    for (uint32_t i = 0; i < a->categories.count; i++)
        categories += a->category_bytes[i];
    for (uint32_t i = 0; i < a->range_count; i++)
        ranges += a->ranges[i].bytes;
    cr_expect_eq(sites, a->at.bytes.allocated);
    cr_expect_eq(categories, a->at.bytes.allocated);
    cr_expect_eq(ranges, a->at.bytes.allocated);
    cr_expect_geq(a->peak, a->at.bytes.allocated);
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t d = 0; d < mv_trace_devices(trace); d++) {
        survey s = survey_of(mvt_memory(), trace, d, "peak");

        check_sums(&s.found);
        cr_expect_eq(s.found.peak, s.found.at.bytes.allocated, "%s", name);
        if (s.lives.events.count > 777) {
            s = survey_of(mvt_memory(), trace, d, "777");
            check_sums(&s.found);
        }
    }
}

EachSnapshot(peak, figures_add_up_on_every_snapshot, check_snapshot);

/* Finds the highest moment without the allocations of one site, which is given by category and
 * group. */
static uint64_t slow_peak_without(const survey *s, const mv_sites *sites, const mv_peak_site *site)
{
    const mv_alloc_lives *a = &s->lives.allocs;
    uint32_t group = sites->group[mv_site_of(sites, site->stack)];
    uint64_t peak = 0;

    for (uint32_t e = 0; e <= s->lives.events.count; e++) {
        uint64_t level = 0;
        for (uint32_t i = 0; i < a->count; i++) {
            bool is_own = sites->group[mv_site_of(sites, a->stack[i])] == group &&
                          s->found.categories.of_alloc[i] == site->category;
            if (!is_own && mv_alloc_is_allocated(&s->lives, i, e - 1))
                level += a->block[i];
        }
        if (level > peak)
            peak = level;
    }
    return peak;
}

LongTest(peak, marginal_bytes_of_random_training_equal_the_slow_way)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        mvt_trace *t = mvt_new();
        mvt_training_truth truth;
        mv_sites sites;

        mvt_training(t, seed, (mvt_leak)seed, &truth);
        survey s = survey_of(mvt_arena(t), mvt_done(t), 0, "peak");
        check_sums(&s.found);
        mvt_ok(mv_sites_find(s.arena, s.trace, &sites, mvt_err()));
        for (uint32_t i = 0; i < s.found.count && i < 6; i++)
            cr_expect_eq(s.found.peak - s.found.sites[i].marginal,
                         slow_peak_without(&s, &sites, &s.found.sites[i]), "seed %d, site %u",
                         (int)seed, i);
    }
}

/* The peak belongs to one line, but another line has a separate peak right after it. */
Test(peak, without_a_line_the_peak_is_elsewhere)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x10000, .bytes = 512, .stack = "base:a.py:1");
    mvt_alloc(t, .addr = 0x20000, .bytes = 10240, .stack = "first:a.py:2");
    mvt_free(t, .addr = 0x20000);
    mvt_alloc(t, .addr = 0x20000, .bytes = 8192, .stack = "second:a.py:3");
    mvt_free(t, .addr = 0x20000);
    survey s = survey_of(mvt_arena(t), mvt_done(t), 0, "peak");
    check_sums(&s.found);
    cr_assert_eq(s.found.count, 2);
    cr_expect_eq(s.found.at.event, 1);
    cr_expect_eq(s.found.sites[0].bytes, 10240);
    cr_expect_eq(s.found.sites[0].marginal, 2048);
    cr_expect_eq(s.found.sites[1].bytes, 512);
    cr_expect_eq(s.found.sites[1].marginal, 512);
}

Test(peak, memory_without_stacks_is_unattributed)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x10000, .bytes = 1024);
    mvt_alloc(t, .addr = 0x20000, .bytes = 512, .stack = "f:a.py:2");
    survey s = survey_of(mvt_arena(t), mvt_done(t), 0, "end");
    check_sums(&s.found);
    cr_expect_eq(s.found.count, 1);
    cr_expect_eq(s.found.unattributed, 1024);
    cr_expect_eq(s.found.unattributed_blocks, 1);
    cr_expect_eq(s.found.category_bytes[MV_CATEGORY_UNKNOWN], 1536);
}

enum { LINES = 8 };

/* A run in which up to LINES lines allocate and free at random. */
static mvt_trace *random_lines(uint64_t random)
{
    mvt_trace *t = mvt_new();
    uint64_t held[24] = {0};

    for (uint32_t i = 0; i < 120; i++) {
        uint32_t slot = mvt_random(&random, 24);
        if (held[slot]) {
            mvt_free(t, .addr = held[slot]);
            held[slot] = 0;
            continue;
        }
        held[slot] = 0x100000 * (slot + 1);
        const char *stack = mvt_format("f:a.py:%u", 1 + mvt_random(&random, LINES));
        mvt_alloc(t, .addr = held[slot], .bytes = 512 * (1 + mvt_random(&random, 100)),
                  .stack = stack);
    }
    return t;
}

/* Finds the fewest parts whose removal keeps the curve within a target, by trying every set.
 * Returns UINT32_MAX if even removing all of them is not enough. */
static uint32_t slow_fewest(const mv_attribution *a, uint64_t bytes)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t set = 0; set < 1u << a->curve.parts; set++) {
        uint8_t gone[16] = {0};
        uint32_t count = 0;
        for (uint32_t p = 0; p < a->curve.parts; p++)
            count += gone[p] = set >> p & 1;
        if (count < best && mv_curve_peak(&a->curve, gone).bytes <= bytes)
            best = count;
    }
    return best;
}

Test(peak, targets_need_as_few_lines_as_the_best_set)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        mvt_trace *t = random_lines(seed);
        survey s = survey_of(mvt_arena(t), mvt_done(t), 0, "peak");

        cr_assert_leq(s.found.curve.parts, 16);
        if (s.found.curve.parts <= 10)
            for (uint64_t tenth = 0; tenth <= 10; tenth++) {
                const mv_attribution *a = &s.found;
                uint64_t bytes = s.found.peak / 10 * tenth;
                uint32_t fewest = slow_fewest(a, bytes);
                uint8_t gone[16] = {0};
                mv_peak_target target;
                uint64_t fall = 0;
                mvt_ok(mv_peak_reach(s.arena, a, (mv_peak_aim){bytes, MV_BOUND_ABOUT}, &target,
                                     mvt_err()));
                cr_expect(!target.is_known && !target.is_least);
                mvt_ok(mv_peak_reach(s.arena, a, (mv_peak_aim){bytes, MV_BOUND_EXACT}, &target,
                                     mvt_err()));
                cr_expect_eq(target.reaches, fewest != UINT32_MAX);
                for (uint32_t i = 0; i < target.count; i++) {
                    gone[target.part[i]] = 1;
                    fall += target.fall[i];
                }
                cr_expect_eq(mv_curve_peak(&a->curve, gone).bytes, target.peak);
                cr_expect_eq(a->peak - fall, target.peak);
                if (!target.reaches)
                    continue;
                cr_expect_leq(target.peak, bytes);
                cr_expect_geq(target.count, fewest);
                cr_expect(target.count <= fewest + 1, "%u instead of %u", target.count, fewest);
                cr_expect(!target.is_least || target.count == fewest, "%u is not least: %u",
                          target.count, fewest);
            }
    }
}

Test(peak, times_and_folders_change_nothing)
{
    static const char *const names[] = {"gpt_train", "annotated", "resnet_all", "streams"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_arena *arena = mvt_arena_of(1ull << 30);
        mv_trace trace = mvt_load(arena, names[i]);

        survey before = survey_of(arena, &trace, 0, "peak");
        for (uint32_t e = 0; e < trace.devices[0].events.count; e++)
            trace.devices[0].events.time_us[e] += 123456789;
        for (uint32_t k = 0; k < trace.annotations.count; k++)
            trace.annotations.time_us[k] += 123456789;
        for (uint64_t k = 0; k + 10 < trace.strings.at[trace.strings.count]; k++)
            if (memcmp(trace.strings.bytes + k, "/workspace", 10) == 0)
                memcpy(trace.strings.bytes + k, "/home/me/w", 10);
        survey after = survey_of(arena, &trace, 0, "peak");
        const mv_attribution *a = &before.found;
        const mv_attribution *b = &after.found;
        cr_assert_eq(a->count, b->count);
        cr_expect_eq(a->at.event, b->at.event);
        cr_expect_eq(a->unattributed, b->unattributed);
        for (uint32_t j = 0; j < a->count; j++) {
            cr_expect_eq(a->sites[j].bytes, b->sites[j].bytes);
            cr_expect_eq(a->sites[j].category, b->sites[j].category);
            cr_expect_eq(a->sites[j].marginal, b->sites[j].marginal);
            cr_expect_eq(a->sites[j].annotation.row, b->sites[j].annotation.row);
        }
        mv_arena_release(arena);
    }
}
