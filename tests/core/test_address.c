/* The allocations at an address, compared with a look at every row. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/address.h"

static void check_address(mv_arena *arena, const mv_lives *lives, const mv_addresses *found,
                          uint64_t addr)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t at = 0;
    mv_alive rows;

    mvt_ok(mv_addresses_at(arena, found, addr, &rows, mvt_err()));
    for (uint32_t r = 0; r < a->count; r++) {
        if (addr < a->addr[r] || addr - a->addr[r] >= a->block[r])
            continue;
        cr_assert_lt(at, rows.count);
        cr_assert_eq(rows.row[at++], r);
    }
    cr_assert_eq(at, rows.count, "%#lx", (unsigned long)addr);
    mv_arena_drop(arena, rows.row);
}

Test(address, history_of_every_address_on_random_tables_is_right)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        mv_arena *arena = mvt_memory();
        mv_lives lives;
        mv_addresses found;
        mvt_random_lives(arena, (mvt_lives_opts){.seed = seed, .most_events = 1 + 40 * (seed % 20)},
                         &lives);
        mvt_ok(mv_addresses_make(arena, &lives, &found, mvt_err()));
        for (int i = 0; i < 60; i++)
            check_address(arena, &lives, &found, mvt_random(&random, 4096 * 260));
        for (uint32_t r = 0; r < lives.allocs.count; r += 17) {
            check_address(arena, &lives, &found, lives.allocs.addr[r]);
            check_address(arena, &lives, &found, lives.allocs.addr[r] - 1);
            check_address(arena, &lives, &found, lives.allocs.addr[r] + lives.allocs.block[r]);
        }
    }
}

/* Blocks of nonsense size end with the address space. */
Test(address, blocks_that_never_end_are_found)
{
    uint64_t addr[] = {0x1000, UINT64_MAX - 10, 0}, block[] = {UINT64_MAX, 100, 0};
    mv_lives lives = {.allocs = {.count = 3, .addr = addr, .block = block}};
    mv_arena *arena = mvt_memory();
    mv_addresses found;
    mv_alive rows;

    mvt_ok(mv_addresses_make(arena, &lives, &found, mvt_err()));
    mvt_ok(mv_addresses_at(arena, &found, UINT64_MAX - 5, &rows, mvt_err()));
    cr_expect_eq(rows.count, 2);
    mvt_ok(mv_addresses_at(arena, &found, 0, &rows, mvt_err()));
    cr_expect_eq(rows.count, 0);
    lives.allocs.count = 0;
    mvt_ok(mv_addresses_make(arena, &lives, &found, mvt_err()));
    mvt_ok(mv_addresses_at(arena, &found, 0, &rows, mvt_err()));
    cr_expect_eq(rows.count, 0);
}

Test(address, histories_in_a_real_trace_are_right)
{
    mv_arena *arena = mvt_memory();
    mv_addresses found;
    mv_trace trace = mvt_load(arena, "gpt_train");
    mv_lives lives = mvt_lives(arena, &trace, 0);

    mvt_ok(mv_addresses_make(arena, &lives, &found, mvt_err()));
    for (uint32_t r = 0; r < lives.allocs.count; r += 13)
        check_address(arena, &lives, &found, lives.allocs.addr[r] + lives.allocs.block[r] / 2);
}

Test(address, fails_when_memory_is_out)
{
    mv_lives lives;

    mvt_random_lives(mvt_memory(), (mvt_lives_opts){.seed = 9, .most_events = 2000}, &lives);
    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);) {
        mv_addresses found;
        mv_alive rows;
        l.code = mv_addresses_make(&l.arena, &lives, &found, mvt_err());
        if (l.code == MV_OK)
            l.code = mv_addresses_at(&l.arena, &found, 4096 * 80, &rows, mvt_err());
    }
}
