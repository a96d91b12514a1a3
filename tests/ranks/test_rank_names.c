#include "analyze/ranks/rank_names.h"

#include "tests/fixture/fixture.h"

static void check(const mv_rank_place *places, const char *const *expected, uint32_t count)
{
    const char **names = mv_rank_names(mvt_memory(), places, count);

    cr_assert_not_null(names);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_str_eq(names[i], expected[i], "%s", places[i].path);
}

Test(rank_names, the_last_part_of_the_name_is_enough_when_it_differs)
{
    check((mv_rank_place[]){{"/a/rank0.pickle", 0}, {"/b/rank1.pickle", 0}, {"xrank1.pickle", 0}},
          (const char *[]){"rank0.pickle", "rank1.pickle", "xrank1.pickle"}, 3);
}

Test(rank_names, folders_distinguish_files_of_one_name)
{
    check((mv_rank_place[]){{"/d/run1/host/r.pickle", 0},
                            {"/d/run2/host/r.pickle", 0},
                            {"/d/run2/other/r.pickle", 0},
                            {"r.pickle", 0},
                            {"/d/run2/s.pickle", 0}},
          (const char *[]){"run1/host/r.pickle", "run2/host/r.pickle", "other/r.pickle", "r.pickle",
                           "s.pickle"},
          5);
}

Test(rank_names, devices_distinguish_ranks_of_one_file)
{
    check((mv_rank_place[]){{"a.pickle", 0}, {"a.pickle", 3}},
          (const char *[]){"device 0", "device 3"}, 2);
    check((mv_rank_place[]){{"a.pickle", 0}, {"a.pickle", 3}, {"b.pickle", 3}},
          (const char *[]){"a.pickle device 0", "a.pickle device 3", "b.pickle"}, 3);
}

Test(rank_names, names_do_not_depend_on_the_order)
{
    check((mv_rank_place[]){{"y/r.pickle", 0}, {"b.pickle", 1}, {"x/r.pickle", 0}, {"b.pickle", 0}},
          (const char *[]){"y/r.pickle", "b.pickle device 1", "x/r.pickle", "b.pickle device 0"},
          4);
}
