/* The bytes in each pool per column, compared with levels summed from all rows. */
#include "analyze/lives/alive.h"
#include "tests/fixture/fixture_heap.h"
#include "viz/pictures/pool_levels.h"

typedef struct {
    mv_pool_level all;
    uint64_t group[MV_POOL_GROUPS];
} literal;

static bool is_in(const mv_envelopes *e, uint32_t segment, uint32_t segments, uint32_t at)
{
    return !e || e->of_segment[segment < segments ? segment : segments] == at;
}

static literal levels_after(const mv_lives *lives, const mv_pool_levels_opts *opts, uint32_t at,
                            uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;
    const mv_segment_lives *g = &lives->segments;
    literal l = {0};

    for (uint32_t i = 0; i < g->count; i++)
        if (is_in(opts->envelopes, i, g->count, at) && mv_segment_is_held(lives, i, event))
            l.all.held += g->size[i];
    for (uint32_t i = 0; i < a->count; i++) {
        uint8_t group = opts->group_of ? opts->group_of[i] : 0;
        if (group == MV_POOL_HIDDEN || !is_in(opts->envelopes, a->segment[i], g->count, at))
            continue;
        if (mv_alloc_is_active(lives, i, event))
            l.all.requested += a->requested[i];
        if (!mv_alloc_is_allocated(lives, i, event))
            continue;
        l.all.allocated += a->block[i];
        l.group[group] += a->block[i];
    }
    return l;
}

static void check_column(const mv_lives *lives, const mv_pool_levels_opts *opts,
                         const mv_pool_levels *found, uint32_t at, uint32_t column)
{
    const mv_pool_level *most = mv_pool_level_of(found, at, column);
    const uint64_t *stacked = mv_pool_stack_of(found, at, column);
    mv_window of = opts->columns[column];
    mv_pool_level want = {0};
    uint64_t sum = 0;
    bool is_moment = false;

    for (uint32_t e = of.first; e == of.first || e + 1 < of.end + 1; e++) {
        literal l = levels_after(lives, opts, at, e);
        bool is_same = l.all.allocated == most->allocated;
        for (uint32_t g = 0; g < opts->groups; g++)
            is_same = is_same && l.group[g] == stacked[g];
        is_moment |= is_same;
        want.held = l.all.held > want.held ? l.all.held : want.held;
        want.allocated = l.all.allocated > want.allocated ? l.all.allocated : want.allocated;
        want.requested = l.all.requested > want.requested ? l.all.requested : want.requested;
    }
    for (uint32_t g = 0; g < opts->groups; g++)
        sum += stacked[g];
    cr_assert_eq(most->held, want.held);
    cr_assert_eq(most->allocated, want.allocated);
    cr_assert_eq(most->requested, want.requested);
    cr_assert_eq(sum, most->allocated);
    cr_assert(is_moment, "the stack of column %u equals that at a moment in it", column);
}

static void check(mv_arena *arena, const mv_lives *lives, mv_pool_levels_opts opts, uint32_t first,
                  uint32_t step)
{
    mv_window *columns = mv_push_array(arena, mv_window, lives->events.count + 2);
    mv_pool_levels found;
    uint32_t end;

    opts.columns = columns;
    for (uint32_t e = first; e == first || e + 1 < lives->events.count + 1; e = end) {
        end = e + step < lives->events.count || e == MV_BEFORE ? e + step : lives->events.count;
        columns[opts.column_count++] = (mv_window){e, end};
        if (e % 3 == 0) /* the same moment again, as in a zoomed picture */
            columns[opts.column_count - 1].end = end = e + 1;
    }
    mvt_ok(mv_pool_levels_find(arena, lives, &opts, &found, mvt_err()));
    for (uint32_t at = 0; at < found.envelopes; at++)
        for (uint32_t c = 0; c < opts.column_count; c++)
            check_column(lives, &opts, &found, at, c);
}

Test(pool_levels, columns_equal_literal_levels)
{
    for (uint32_t seed = 1; seed <= 6; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(
            t, (mvt_heap_opts){
                   .seed = seed, .calls = 90, .unrecorded = seed % 3 * 20, .expandable = seed % 2});
        const mv_trace *trace = mvt_done(t);
        mv_arena *arena = mvt_arena(t);
        mv_lives lives = mvt_lives(arena, trace, 0);
        uint8_t *groups = mv_push_array(arena, uint8_t, lives.allocs.count);
        mv_pool_levels_opts opts = {.groups = 1};
        mv_envelopes e;

        mvt_ok(mv_envelopes_lay(arena, trace, &lives, 0, lives.events.count, 4, &e, mvt_err()));
        for (uint32_t i = 0; i < lives.allocs.count; i++)
            groups[i] = i % 5 == 4 ? MV_POOL_HIDDEN : (uint8_t)(i % 5);
        check(arena, &lives, opts, MV_BEFORE, 7);
        opts = (mv_pool_levels_opts){.envelopes = &e, .group_of = groups, .groups = 4};
        check(arena, &lives, opts, MV_BEFORE, 1);
        check(arena, &lives, opts, truth.events / 3, 11);
    }
}

Test(pool_levels, fails_when_memory_is_out)
{
    mvt_trace *t = mvt_small();
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    mv_window column = {MV_BEFORE, lives.events.count};
    mv_pool_levels_opts opts = {.columns = &column, .column_count = 1, .groups = 1};

    for (mvt_limit l = {.step = 256}; mvt_more_memory(&l);) {
        mv_pool_levels found;
        l.code = mv_pool_levels_find(&l.arena, &lives, &opts, &found, mvt_err());
    }
}
