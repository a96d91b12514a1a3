#include "base/intern.h"

#include "tests/fixture/fixture_test.h"

/* Returns how many rows the table returns for a hash, including `want`. */
static unsigned candidates(const mv_intern *t, uint64_t hash, uint32_t want, bool *found)
{
    unsigned count = 0;

    *found = false;
    for (mv_probe p = mv_intern_start(t, hash); mv_intern_next(t, &p);) {
        count++;
        *found = *found || p.row == want;
    }
    return count;
}

Test(intern, an_empty_table_finds_nothing)
{
    mv_intern t = {0};
    mv_probe p = mv_intern_start(&t, 42);

    cr_assert_not(mv_intern_next(&t, &p));
}

Test(intern, every_row_is_found_again)
{
    enum { ROWS = 20000 };
    mv_intern t = {.arena = mvt_memory()};
    unsigned extra = 0;
    bool found;

    for (uint32_t i = 0; i < ROWS; i++)
        cr_assert(mv_intern_add(&t, mv_mix(i, 1), i));
    for (uint32_t i = 0; i < ROWS; i++) {
        extra += candidates(&t, mv_mix(i, 1), i, &found) - 1;
        cr_assert(found, "row %u", i);
    }
    cr_assert_lt(extra, 10, "the hash distinguishes rows");
    cr_assert_geq(t.capacity, 2 * t.count);
    for (uint32_t i = 0; i < ROWS; i++)
        cr_assert_eq(candidates(&t, mv_mix(i, 2), i, &found) > 1, 0);
}

Test(intern, all_rows_of_equal_hash_are_found)
{
    mv_intern t = {.arena = mvt_memory()};
    bool found;

    for (uint32_t i = 0; i < 3000; i++)
        cr_assert(mv_intern_add(&t, UINT64_MAX, i));
    cr_assert_eq(candidates(&t, UINT64_MAX, 2999, &found), 3000);
    cr_assert(found);
}

/* They would take quadratic time. */
Test(intern, a_blind_table_keeps_one_of_equal_rows)
{
    mv_intern t = {.arena = mvt_memory(), .is_blind = true};
    bool found;

    for (uint32_t i = 0; i < 3000; i++)
        cr_assert(mv_intern_add(&t, i % 2 ? UINT64_MAX : 1, i));
    cr_assert_eq(t.count, 2);
    cr_assert_eq(candidates(&t, 1, 0, &found), 0);
    t.is_blind = false;
    cr_assert_eq(candidates(&t, 1, 0, &found), 1);
    cr_assert(found);
    cr_assert_eq(candidates(&t, UINT64_MAX, 1, &found), 1);
    cr_assert(found);
}

Test(intern, without_memory_the_table_is_unchanged)
{
    mv_intern t = {.arena = mvt_arena_of(16 << 10)};
    uint32_t rows = 0;
    bool found;

    while (mv_intern_add(&t, mv_mix(rows, 0), rows))
        cr_assert_lt(++rows, 10000);
    cr_assert_gt(rows, 100);
    cr_assert_eq(t.count, rows);
    candidates(&t, mv_mix(rows - 1, 0), rows - 1, &found);
    cr_assert(found);
}
