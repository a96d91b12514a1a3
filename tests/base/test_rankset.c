#include "base/rankset.h"

#include "tests/fixture/fixture_test.h"

/* Slow and simple versions of the functions. */
static uint32_t next_of(const bool *member, uint32_t count, uint32_t rank)
{
    while (rank < count && !member[rank])
        rank++;
    return rank < count ? rank : MV_NO_RANK;
}

static uint32_t prev_of(const bool *member, uint32_t rank)
{
    while (!member[rank])
        if (rank-- == 0)
            return MV_NO_RANK;
    return rank;
}

static void check(uint32_t count, uint32_t density)
{
    mv_rankset set;
    bool *member = mv_push_array(mvt_memory(), bool, count);
    uint64_t random = count * 31 + density;

    cr_assert(mv_rankset_init(mvt_memory(), count, &set));
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t rank = mvt_random(&random, count);
        member[rank] = mvt_random(&random, 16) < density;
        if (member[rank])
            mv_rankset_add(&set, rank);
        else
            mv_rankset_drop(&set, rank);
        rank = mvt_random(&random, count);
        cr_assert_eq(mv_rankset_has(&set, rank), member[rank]);
        cr_assert_eq(mv_rankset_next(&set, rank), next_of(member, count, rank));
        cr_assert_eq(mv_rankset_prev(&set, rank), prev_of(member, rank));
    }
    cr_expect_eq(mv_rankset_next(&set, count), MV_NO_RANK);
}

Test(rankset, neighbours_equal_those_of_a_plain_array)
{
    static const uint32_t counts[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 20000, 262145};

    for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check(counts[i], 1);
        check(counts[i], 8);
    }
}

Test(rankset, empty_set_has_no_members)
{
    mv_rankset set;

    cr_assert(mv_rankset_init(mvt_memory(), 0, &set));
    cr_expect_eq(mv_rankset_next(&set, 0), MV_NO_RANK);
    cr_expect_eq(mv_rankset_prev(&set, 0), MV_NO_RANK);
}
