/* Servers whose requests overlap. Blocks that are never freed are a leak, whatever else is freed.
 * Windows, caches and growth that stops are not. A recording may end anywhere: if its floor rises
 * to the end, the verdict must not be clean. */
#include "tests/leaks/fixture_server.h"

#include "analyze/leaks/leaks.h"
#include "analyze/lives/lives_window.h"

enum { CUTS = 16, LATEST = 12 };

/* Returns whether the floor rises in each of the latest steps, which excludes a full cache. This is
 * a second definition of a rising floor, separate from mv_floor_trend. */
static bool rises_plainly(const mv_lives *lives, const mv_steps *steps)
{
    mv_floor floor;

    if (steps->count < LATEST + 2)
        return false;
    mvt_ok(mv_floor_find(mvt_memory(), lives, steps, &floor, mvt_err()));
    for (uint32_t b = floor.bins - LATEST; b < floor.bins; b++)
        if (floor.least[b] <= floor.least[b - 1])
            return false;
    for (uint32_t b = 2; b + LATEST < floor.bins; b++)
        if (floor.least[b] >= floor.least[floor.bins - LATEST])
            return false;
    return true;
}

static mv_leaks evaluate(const mv_trace *trace, const mv_lives *lives)
{
    mv_leaks found;

    mvt_ok(mv_leaks_find(mvt_memory(), trace, lives, &found, mvt_err()));
    cr_expect(found.verdict != MV_VERDICT_CLEAN ||
                  (!found.floor.rises && !rises_plainly(lives, &found.steps)),
              "%u steps: %s", found.steps.count, found.why);
    return found;
}

/* Makes reports on the run and its cuts. Unless blocks are kept, none of them may be a leak, except
 * that any may be one until a window is full for the first time. */
static mv_leaks evaluate_all(const char *name, mvt_server_load load, uint32_t *kept)
{
    mvt_trace *t = mvt_new();
    mv_lives window;

    *kept = mvt_server(t, load);
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    for (uint32_t c = 1; c < CUTS; c++) {
        mvt_ok(mv_lives_within(mvt_memory(), &lives, (mv_window){0, lives.events.count * c / CUTS},
                               &window, mvt_err()));
        mv_leaks found = evaluate(trace, &window);
        cr_expect(load.keep > 0 || load.steps * c / CUTS <= load.window ||
                      found.verdict != MV_VERDICT_LEAK,
                  "%s: cut %u", name, c);
    }
    return evaluate(trace, &lives);
}

static void expect_leak(mvt_server_load load)
{
    uint32_t kept;

    const char *name = mvt_format("window %u, one in %u kept, %u sizes, seed %llu", load.window,
                                  load.keep, load.sizes, (unsigned long long)load.seed);
    mv_leaks found = evaluate_all(name, load, &kept);
    cr_assert_eq(found.verdict, MV_VERDICT_LEAK, "%s: %s", name, found.why);
    cr_expect_eq(found.count, 1, "%s", name);
    cr_expect(found.leaks[0].blocks + 3 >= kept - kept / 10 &&
                  found.leaks[0].blocks <= kept + load.window,
              "%s: %u of %u", name, found.leaks[0].blocks, kept);
    cr_expect(found.floor.rises, "%s", name);
}

LongTest(leak_servers, a_part_that_is_kept_is_a_leak)
{
    static const uint32_t windows[] = {0, 1, 2, 4, 8, 15}, keeps[] = {1, 2, 3, 4, 5, 7, 10};

    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (size_t k = 0; k < sizeof keeps / sizeof *keeps; k++)
            expect_leak((mvt_server_load){.steps = 300, .window = windows[w], .keep = keeps[k]});
}

Test(leak_servers, a_kept_part_is_a_leak_with_marks_and_in_a_short_run)
{
    expect_leak((mvt_server_load){.steps = 300, .window = 1, .keep = 3, .is_marked = true});
    expect_leak((mvt_server_load){.steps = 120, .window = 4, .keep = 5, .is_marked = true});
    expect_leak((mvt_server_load){.steps = 60, .window = 2, .keep = 4});
}

LongTest(leak_servers, a_kept_random_part_of_many_sizes_is_a_leak)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (uint32_t sizes = 1; sizes <= 26; sizes += 5)
            expect_leak((mvt_server_load){.steps = 600,
                                          .window = 4,
                                          .keep = 3 + (uint32_t)seed,
                                          .sizes = sizes,
                                          .by_chance = true,
                                          .seed = seed});
}

/* A few blocks are kept among requests of many sizes, so the floor varies by more than one
 * block. */
Test(leak_servers, a_rise_in_noise_is_not_clean)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint32_t kept;
        mv_leaks found = evaluate_all("noise",
                                      (mvt_server_load){.steps = 120,
                                                        .window = 30,
                                                        .keep = 8,
                                                        .sizes = 26,
                                                        .by_chance = true,
                                                        .seed = seed},
                                      &kept);

        cr_expect_neq(found.verdict, MV_VERDICT_CLEAN, "seed %u: %s", (unsigned)seed, found.why);
    }
}

static void expect(const char *name, mv_leak_verdict verdict, mvt_server_load load)
{
    uint32_t kept;
    mv_leaks found = evaluate_all(name, load, &kept);

    cr_expect_eq(found.verdict, verdict, "%s: %s", name, found.why);
}

Test(leak_servers, windows_and_caches_are_clean)
{
    static const uint32_t windows[] = {0, 1, 3, 8, 30};

    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (uint32_t sizes = 1; sizes <= 20; sizes += 19) {
            mvt_server_load load = {.steps = 300, .window = windows[w], .sizes = sizes};

            expect("a window", MV_VERDICT_CLEAN, load);
            load.by_chance = true;
            expect("a window by chance", MV_VERDICT_CLEAN, load);
            load.warm = 120;
            expect("a window that fills", MV_VERDICT_CLEAN, load);
        }
}

Test(leak_servers, growth_that_stops_is_clean_and_growth_to_the_end_is_unknown)
{
    expect("kept for a while", MV_VERDICT_CLEAN,
           (mvt_server_load){.steps = 300, .window = 2, .keep = 3, .stop = 100});
    expect("kept for longer", MV_VERDICT_CLEAN,
           (mvt_server_load){.steps = 300, .window = 1, .keep = 5, .stop = 200});
    expect("a cache that is still filling", MV_VERDICT_UNKNOWN,
           (mvt_server_load){.steps = 300, .window = 60, .warm = 300});
    expect(
        "one of many sizes", MV_VERDICT_UNKNOWN,
        (mvt_server_load){.steps = 300, .window = 60, .warm = 300, .sizes = 20, .is_marked = true});
}
