#include "base/search.h"

#include <criterion/criterion.h>

enum { MOST = 40 };

Test(search, bounds_equal_those_of_a_linear_search)
{
    uint32_t small[MOST];
    uint64_t large[MOST];
    int64_t times[MOST];

    for (uint32_t count = 0; count <= MOST; count++) {
        for (uint32_t i = 0; i < count; i++) {
            small[i] = i / 3 * 2 + 1;
            large[i] = (uint64_t)small[i] << 40;
            times[i] = (int64_t)small[i] - 12;
        }
        for (uint32_t key = 0; key < MOST; key++) {
            uint64_t lower = 0, upper = 0;
            while (lower < count && small[lower] < key)
                lower++;
            while (upper < count && small[upper] <= key)
                upper++;
            cr_assert_eq(mv_lower_bound_u32(small, count, key), lower);
            cr_assert_eq(mv_upper_bound_u32(small, count, key), upper);
            cr_assert_eq(mv_lower_bound_u64(large, count, (uint64_t)key << 40), lower);
            cr_assert_eq(mv_upper_bound_u64(large, count, (uint64_t)key << 40), upper);
            cr_assert_eq(mv_lower_bound_i64(times, count, (int64_t)key - 12), lower);
            cr_assert_eq(mv_upper_bound_i64(times, count, (int64_t)key - 12), upper);
        }
    }
}

Test(search, bisection_compares_only_rows_of_its_part)
{
    for (uint64_t low = 0; low < 20; low++)
        for (uint64_t high = low; high < 20; high++)
            for (uint64_t place = low; place <= high; place++) {
                mv_bisect b = mv_bisect_over(low, high);
                uint32_t asked = 0;
                while (mv_bisect_next(&b)) {
                    cr_assert(b.middle >= low && b.middle < high);
                    cr_assert(++asked <= 5);
                    mv_bisect_narrow(&b, b.middle < place);
                }
                cr_assert_eq(b.low, place);
            }
}

Test(search, bounds_are_right_at_the_limits_of_the_numbers)
{
    mv_bisect b = mv_bisect_over(0, UINT64_MAX);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, b.middle < UINT64_MAX - 1);
    cr_assert_eq(b.low, UINT64_MAX - 1);
    cr_assert_eq(mv_upper_bound_u64((uint64_t[]){UINT64_MAX}, 1, UINT64_MAX), 1);
    cr_assert_eq(mv_lower_bound_i64((int64_t[]){INT64_MIN}, 1, INT64_MIN), 0);
}
