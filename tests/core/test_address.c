/* Who lived at an address beside a look at every row. */
#include <criterion/criterion.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/address.h"

static void check_address(mv_arena *arena, const mv_lives *lives, const mv_addresses *found,
                          uint64_t addr)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t at = 0;
    mv_alive rows;
    mv_err err;

    cr_assert_eq(mv_addresses_at(arena, found, addr, &rows, &err), MV_OK);
    for (uint32_t r = 0; r < a->count; r++) {
        if (addr < a->addr[r] || addr - a->addr[r] >= a->block[r])
            continue;
        cr_assert_lt(at, rows.count);
        cr_assert_eq(rows.row[at++], r);
    }
    cr_assert_eq(at, rows.count, "%#lx", (unsigned long)addr);
    mv_arena_drop(arena, rows.row);
}

Test(address, history_on_random_tables)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        mv_budget budget = {.limit = 1u << 28};
        uint64_t random = seed;
        mv_arena arena;
        mv_lives lives;
        mv_addresses found;
        mv_err err;
        mv_arena_init(&arena, &budget);
        mvt_random_lives(
            &arena, (mvt_lives_opts){.seed = seed, .most_events = 1 + 40 * (seed % 20)}, &lives);
        cr_assert_eq(mv_addresses_make(&arena, &lives, &found, &err), MV_OK);
        for (int i = 0; i < 60; i++)
            check_address(&arena, &lives, &found, mvt_random(&random, 4096 * 260));
        for (uint32_t r = 0; r < lives.allocs.count; r += 17) {
            check_address(&arena, &lives, &found, lives.allocs.addr[r]);
            check_address(&arena, &lives, &found, lives.allocs.addr[r] - 1);
            check_address(&arena, &lives, &found, lives.allocs.addr[r] + lives.allocs.block[r]);
        }
        mv_arena_release(&arena);
    }
}

/* Blocks of nonsense size end with the address space. */
Test(address, of_blocks_that_never_end)
{
    uint64_t addr[] = {0x1000, UINT64_MAX - 10, 0}, block[] = {UINT64_MAX, 100, 0};
    mv_lives lives = {.allocs = {.count = 3, .addr = addr, .block = block}};
    mv_budget budget = {.limit = 1u << 24};
    mv_arena arena;
    mv_addresses found;
    mv_alive rows;
    mv_err err;

    mv_arena_init(&arena, &budget);
    cr_assert_eq(mv_addresses_make(&arena, &lives, &found, &err), MV_OK);
    cr_assert_eq(mv_addresses_at(&arena, &found, UINT64_MAX - 5, &rows, &err), MV_OK);
    cr_expect_eq(rows.count, 2);
    cr_assert_eq(mv_addresses_at(&arena, &found, 0, &rows, &err), MV_OK);
    cr_expect_eq(rows.count, 0);
    lives.allocs.count = 0;
    cr_assert_eq(mv_addresses_make(&arena, &lives, &found, &err), MV_OK);
    cr_assert_eq(mv_addresses_at(&arena, &found, 0, &rows, &err), MV_OK);
    cr_expect_eq(rows.count, 0);
    mv_arena_release(&arena);
}

Test(address, histories_in_a_real_trace)
{
    mv_budget budget = {.limit = (uint64_t)4 << 30};
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_addresses found;
    mv_err err;

    mv_arena_init(&arena, &budget);
    mvt_load(&arena, "gpt_train", &trace);
    cr_assert_eq(mv_lives_find(&arena, &trace, 0, &lives, &err), MV_OK);
    cr_assert_eq(mv_addresses_make(&arena, &lives, &found, &err), MV_OK);
    for (uint32_t r = 0; r < lives.allocs.count; r += 13)
        check_address(&arena, &lives, &found, lives.allocs.addr[r] + lives.allocs.block[r] / 2);
    mv_arena_release(&arena);
}

Test(address, fails_when_memory_is_out)
{
    mv_budget all = {.limit = 1u << 24};
    mv_arena arena;
    mv_lives lives;

    mv_arena_init(&arena, &all);
    mvt_random_lives(&arena, (mvt_lives_opts){.seed = 9, .most_events = 2000}, &lives);
    for (uint64_t limit = 0;; limit += 4096) {
        mv_budget budget = {.limit = limit};
        mv_arena small;
        mv_addresses found;
        mv_alive rows;
        mv_err err;
        mv_code code;
        mv_arena_init(&small, &budget);
        code = mv_addresses_make(&small, &lives, &found, &err);
        if (code == MV_OK)
            code = mv_addresses_at(&small, &found, 4096 * 80, &rows, &err);
        mv_arena_release(&small);
        if (code == MV_OK)
            break;
        cr_assert_eq(code, MV_NOMEM);
        cr_assert_lt(limit, 1u << 24);
    }
    mv_arena_release(&arena);
}
