#include "base/map.h"

#include "tests/fixture/fixture_test.h"

enum { KEYS = 3000 };

/* Distinct multiples of powers of two, like addresses. */
static uint64_t key_of(uint32_t k)
{
    return (uint64_t)(2 * (k / 3) + 1) << (k % 3 * 20 + 9);
}

Test(map, a_map_equals_a_list)
{
    static uint32_t value[KEYS];
    static bool has[KEYS];
    mv_map map = {.arena = mvt_memory()};
    uint64_t random = 5;
    uint32_t count = 0;

    for (uint32_t step = 0; step < 200000; step++) {
        uint32_t k = mvt_random(&random, KEYS), v = mvt_random(&random, 1 << 24);
        bool is_growing = step / 20000 % 2 == 0;
        uint32_t what = mvt_random(&random, 8);
        if (what < (is_growing ? 4u : 1u)) {
            cr_assert(mv_map_put(&map, key_of(k), v));
            count += !has[k];
            has[k] = true;
            value[k] = v;
        } else if (what < 5) {
            cr_assert_eq(mv_map_take(&map, key_of(k)), has[k] ? value[k] : MV_NOT_IN_MAP);
            count -= has[k];
            has[k] = false;
        } else if (what == 5) {
            uint32_t *at = mv_map_value(&map, key_of(k));
            cr_assert_eq(*at, has[k] ? value[k] : 0);
            count += !has[k];
            has[k] = true;
            value[k] = ++*at;
        }
        cr_assert_eq(mv_map_find(&map, key_of(k)), has[k] ? value[k] : MV_NOT_IN_MAP);
        cr_assert_eq(map.count, count);
    }
    for (uint32_t k = 0; k < KEYS; k++)
        cr_assert_eq(mv_map_find(&map, key_of(k)), has[k] ? value[k] : MV_NOT_IN_MAP);
}

Test(map, every_key_and_value_is_allowed)
{
    mv_map map = {.arena = mvt_arena_of(1 << 20)};

    cr_assert_eq(mv_map_find(&map, 0), MV_NOT_IN_MAP);
    cr_assert_eq(mv_map_take(&map, 0), MV_NOT_IN_MAP);
    mv_map_prefetch(&map, 0);
    cr_assert(mv_map_put(&map, 0, 0) && mv_map_put(&map, UINT64_MAX, 7));
    mv_map_prefetch(&map, 1);
    cr_assert_eq(mv_map_find(&map, 0), 0);
    cr_assert_eq(mv_map_find(&map, UINT64_MAX), 7);
    cr_assert_eq(mv_map_find(&map, 1), MV_NOT_IN_MAP);
}

Test(map, reserved_keys_cannot_fail)
{
    mv_arena *arena = mvt_arena_of(1 << 20);
    mv_map map = {.arena = arena};
    const mv_map_slot *slots;

    cr_assert(mv_map_reserve(&map, 10000));
    slots = map.slots;
    arena->budget->limit = 0;
    for (uint32_t k = 0; k < 10000; k++)
        cr_assert(mv_map_put(&map, k * 4096ull, k));
    cr_assert_eq(map.slots, slots);
}

Test(map, without_memory_a_map_is_unchanged)
{
    mv_map map = {.arena = mvt_arena_of(1 << 20)};
    uint32_t keys = 0;

    while (mv_map_put(&map, keys * 512ull, keys))
        keys++;
    cr_assert(keys > 1000);
    cr_assert_null(mv_map_value(&map, keys * 512ull));
    cr_assert_not(mv_map_reserve(&map, UINT64_MAX));
    for (uint32_t k = 0; k < keys; k++)
        cr_assert_eq(mv_map_find(&map, k * 512ull), k);
    cr_assert_eq(mv_map_take(&map, 512), 1);
    cr_assert(mv_map_put(&map, keys * 512ull, keys), "there is room for one again");
}

/* A hash that multiplies keys by a constant and folds the product maps all of these keys to the
 * same slot. Files with such addresses used to take quadratic time. */
Test(map, keys_cannot_be_chosen_to_share_a_place)
{
    const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* multiples of 0x9e3779b97f4a7c15 */
    enum { CHOSEN = 10000 };
    mv_map map = {.arena = mvt_arena_of(1 << 22)};
    uint32_t places = 0;

    cr_assert_eq(inverse * UINT64_C(0x9e3779b97f4a7c15), 1);
    cr_assert(mv_map_reserve(&map, CHOSEN));
    bool *is_home = mv_push_array(mvt_memory(), bool, map.mask + 1);
    for (uint64_t k = 0; k < CHOSEN; k++) {
        uint64_t home = mv_map_home(&map, (k << 32 | k) * inverse);
        places += !is_home[home];
        is_home[home] = true;
    }
    cr_expect_gt(places, CHOSEN / 2, "%u places for %u keys", places, CHOSEN);
}
