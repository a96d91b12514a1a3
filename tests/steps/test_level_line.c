#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_lives.h"

#include "analyze/steps/level_line.h"
#include "analyze/steps/step_floor.h"

/* Returns the allocated bytes after each event, computed from the rows. */
static int64_t *levels_of(const mv_lives *lives, int64_t *before)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t events = lives->events.count;
    int64_t *level = mv_push_array(mvt_memory(), int64_t, events);

    *before = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        *(a->birth[i] == MV_BEFORE ? before : &level[a->birth[i]]) += (int64_t)a->block[i];
        if (a->freed[i] < events)
            level[a->freed[i]] -= (int64_t)a->block[i];
    }
    for (uint32_t e = 0; e < events; e++)
        level[e] += e ? level[e - 1] : *before;
    return level;
}

static void check_floor(const mv_lives *lives, const int64_t *level, int64_t before, uint32_t every)
{
    mv_steps steps = {.at = mv_push_array(mvt_memory(), uint32_t, lives->events.count)};
    mv_floor floor;

    for (uint32_t at = every / 2; at < lives->events.count; at += every)
        steps.at[steps.count++] = at;
    mvt_ok(mv_floor_find(mvt_memory(), lives, &steps, &floor, mvt_err()));
    for (uint32_t bin = 0; bin < floor.bins; bin++) {
        uint32_t first = bin ? steps.at[bin - 1] : 0, moment = first;
        uint32_t end = bin < steps.count ? steps.at[bin] : lives->events.count;
        int64_t least = first ? level[first - 1] : before, most = least;

        for (uint32_t e = first; e < end; e++) {
            moment = level[e] < least ? e + 1 : moment;
            least = level[e] < least ? level[e] : least;
            most = level[e] > most ? level[e] : most;
        }
        cr_assert_eq(floor.least[bin], (uint64_t)least, "bin %u", bin);
        cr_assert_eq(floor.most[bin], (uint64_t)most, "bin %u", bin);
        cr_assert_eq(floor.moment[bin], moment, "bin %u", bin);
    }
}

/* Returns the number of parts. */
static uint32_t check(const mv_lives *lives)
{
    int64_t before, *level = levels_of(lives, &before);
    mv_level_line line;

    cr_assert(mv_level_line_find(mvt_memory(), lives, &line));
    cr_expect_eq((int64_t)line.before[0], before);
    for (uint32_t part = 0; part < line.parts; part++) {
        mv_level_walk w = mv_level_walk_at(&line, part);
        while (w.event < lives->events.count && w.event >> line.shift == part) {
            uint32_t e = w.event;
            cr_assert_eq(mv_level_walk_next(&w), level[e], "event %u", e);
        }
        cr_expect_eq(w.level, line.before[part + 1]);
    }
    check_floor(lives, level, before, 700);
    check_floor(lives, level, before, 150000);
    return line.parts;
}

Test(level_line, parts_have_the_levels_of_the_rows)
{
    mvt_lives_opts opts = {.most_events = 150000, .is_plain = true};
    mvt_trace *t = mvt_new();
    mv_lives lives;

    for (opts.seed = 1; opts.seed <= 3; opts.seed++) {
        lives = mvt_random_lives(mvt_memory(), opts);
        cr_expect_geq(check(&lives), 2);
    }
    for (int i = 0; i < 30000; i++) {
        mvt_alloc(t, .addr = 0x10000000, .bytes = MIB);
        mvt_free(t, .addr = 0x10000000, .bytes = MIB);
    }
    mvt_free(t, .addr = 0x20000000, .bytes = MIB); /* from before the first event */
    lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    cr_expect_eq(lives.allocs.preexisting, 1);
    cr_expect_geq(check(&lives), 2);
}

Test(level_line, blocks_that_end_without_a_free)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();
    mv_lives lives;

    mvt_segment_alloc(t, .addr = S, .bytes = 20 * MIB);
    for (int i = 0; i < 3; i++)
        mvt_alloc(t, .addr = S, .bytes = 4 * MIB);
    mvt_free(t, .addr = S);
    lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    cr_expect_eq(lives.doubts.lost_frees, 2);
    check(&lives);
}
