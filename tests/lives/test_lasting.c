/* The list of lasting allocations, compared with a test of each allocation. */
#include "analyze/lives/lasting.h"
#include "tests/fixture/fixture_heap.h"

static bool is_lasting(const mv_alloc_lives *a, uint32_t row, const uint32_t *moment,
                       uint32_t count)
{
    if (row < a->preexisting || a->freed[row] == MV_NEVER)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (a->birth[row] < moment[i] && moment[i] <= a->freed[row])
            return true;
    return false;
}

static void check(const mv_alloc_lives *a, const uint32_t *moment, uint32_t count)
{
    mv_lasting found;
    uint32_t at = 0;

    cr_assert(mv_lasting_find(mvt_memory(), a, moment, count, &found));
    for (uint32_t row = 0; row < a->count; row++) {
        bool is_listed = at < found.count && found.row[at] == row;
        cr_expect_eq(is_listed, is_lasting(a, row, moment, count), "row %u", row);
        at += is_listed;
    }
    cr_expect_eq(at, found.count);
}

Test(lasting, allocations_of_random_heaps_are_listed)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(
            t, (mvt_heap_opts){.seed = seed, .calls = 200, .unrecorded = seed % 2 * 30});
        mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        uint32_t third = truth.events / 3, moment[] = {0, third, third, 2 * third, truth.events};

        for (uint32_t count = 0; count <= 5; count++)
            check(&lives.allocs, moment, count);
    }
}

/* More than 2^16 rows are divided among threads. */
Test(lasting, rows_of_all_threads_are_listed_in_order)
{
    enum { ROWS = 200000 };
    mv_alloc_lives a = {.count = ROWS, .preexisting = 10};
    uint32_t moment[] = {1000, 70000, 70003, 150000};

    a.birth = mv_push_array(mvt_memory(), uint32_t, ROWS);
    a.freed = mv_push_array(mvt_memory(), uint32_t, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        a.birth[i] = i < a.preexisting ? MV_BEFORE : i;
        a.freed[i] = i % 5000 == 7 ? MV_NEVER : i + i % 3;
    }
    check(&a, moment, 4);
}
