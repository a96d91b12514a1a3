#include "analyze/lives/address_users.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"

static bool covers(const mv_alloc_lives *a, uint32_t row, uint64_t addr)
{
    return a->addr[row] <= addr && addr - a->addr[row] < (a->block[row] ? a->block[row] : 1);
}

/* A slow and simple version. */
static uint32_t slow_previous(const mv_alloc_lives *a, uint32_t row)
{
    for (uint32_t i = row; i-- > 0;)
        if (covers(a, i, a->addr[row]))
            return i;
    return MV_NO_ROW;
}

static uint32_t slow_next(const mv_alloc_lives *a, uint32_t row)
{
    for (uint32_t i = row + 1; i < a->count; i++)
        if (covers(a, i, a->addr[row]))
            return i;
    return MV_NO_ROW;
}

static void expect_as_slow(const mv_lives *lives, uint32_t step)
{
    const mv_alloc_lives *a = &lives->allocs;
    mv_address_users users;

    mvt_ok(mv_address_users_find(mvt_memory(), lives, &users, mvt_err()));
    cr_assert_eq(users.count, a->count);
    for (uint32_t i = 0; i < a->count; i += step) {
        cr_assert_eq(users.previous[i], slow_previous(a, i), "previous of %u", i);
        cr_assert_eq(users.next[i], slow_next(a, i), "next of %u", i);
    }
}

Test(address_users, users_equal_those_of_a_slow_search_on_random_lives)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t state = seed;
        mv_lives lives = mvt_random_lives(
            mvt_memory(), (mvt_lives_opts){.seed = seed, .most_events = 1 + (uint32_t)seed * 7});
        /* only a few addresses, so there is much overlap */
        for (uint32_t i = 0; i < lives.allocs.count; i++) {
            lives.allocs.addr[i] = 0x1000 + mvt_random(&state, 40);
            lives.allocs.block[i] = mvt_random(&state, 12);
        }
        expect_as_slow(&lives, 1);
    }
}

static void compare(const mv_trace *trace, uint32_t d, const char *name)
{
    (void)name;
    mv_lives lives = mvt_lives(mvt_memory(), trace, d);
    expect_as_slow(&lives, lives.allocs.count / 200 + 1);
}

EachDevice(address_users, users_equal_those_of_a_slow_search_on_real_snapshots, compare);

Test(address_users, the_last_byte_of_the_address_space_has_users)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = UINT64_MAX - 512, .bytes = 4096);
    mvt_free(t, .addr = UINT64_MAX - 512);
    mvt_alloc(t, .addr = UINT64_MAX - 256, .bytes = 100);
    mv_lives lives = mvt_lives(mvt_memory(), mvt_done(t), 0);
    expect_as_slow(&lives, 1);
}

Test(address_users, an_empty_table_has_no_users)
{
    mv_lives lives = {0};

    expect_as_slow(&lives, 1);
}

Test(address_users, memory_runs_out_at_every_place)
{
    mvt_trace *t = mvt_small();
    mv_lives lives = mvt_lives(mvt_memory(), mvt_done(t), 0);
    mv_address_users users;

    for (mvt_limit l = {.step = 256}; mvt_more_memory(&l);)
        l.code = mv_address_users_find(&l.arena, &lives, &users, mvt_err());
}
