#include "base/grow.h"

#include "tests/fixture/fixture_test.h"

typedef struct {
    uint32_t *rows;
    uint32_t count, capacity;
} list;

Test(grow, rows_stay_and_new_ones_are_zero)
{
    list l = {0};
    uint32_t moves = 0;

    for (uint32_t i = 0; i < 300000; i++) {
        uint32_t capacity = l.capacity;
        cr_assert(mv_append(mvt_memory(), l.rows, l.count, l.capacity, i * 7));
        moves += capacity != l.capacity;
        cr_assert(l.count <= l.capacity);
    }
    for (uint32_t i = 0; i < l.count; i++)
        cr_assert_eq(l.rows[i], i * 7);
    for (uint32_t i = l.count; i < l.capacity; i++)
        cr_assert_eq(l.rows[i], 0);
    cr_assert(moves < 20, "%u", moves);
}

Test(grow, a_row_may_be_a_struct_with_commas)
{
    typedef struct {
        uint64_t a, b;
    } pair;
    mv_arena *arena = mvt_arena_of(1 << 20);
    pair *rows = NULL;
    uint64_t count = 0, capacity = 0;

    cr_assert(mv_append(arena, rows, count, capacity, (pair){1, 2}));
    cr_assert(mv_append(arena, rows, count, capacity, (pair){.b = 3, .a = 4}));
    cr_assert(count == 2 && rows[0].b == 2 && rows[1].a == 4);
}

Test(grow, rows_are_as_many_as_requested)
{
    list l = {0};

    cr_assert(mv_room_for(mvt_memory(), l.rows, l.count, l.capacity));
    cr_assert_null(l.rows, "nothing is wanted");
    cr_assert(mv_room_for(mvt_memory(), l.rows, 1000000, l.capacity));
    cr_assert(l.capacity >= 1000000);
    l.rows[999999] = 1;
}

Test(grow, without_room_the_list_is_unchanged)
{
    mv_arena *arena = mvt_arena_of(1 << 20);
    list l = {0};
    uint64_t wide = 0;
    char *bytes = NULL;

    for (uint32_t i = 0; mv_append(arena, l.rows, l.count, l.capacity, i); i++)
        ;
    cr_assert(l.count > 1000 && l.count == l.capacity);
    for (uint32_t i = 0; i < l.count; i++)
        cr_assert_eq(l.rows[i], i);
    uint64_t beyond = (uint64_t)UINT32_MAX + 1;
    cr_assert_not(mv_room_for(arena, l.rows, beyond, l.capacity));
    cr_assert_not(mv_room_for(arena, bytes, UINT64_MAX, wide), "more than there is");
    cr_assert_not(mv_grow_u64(arena, &bytes, &wide, UINT64_MAX / 2, 8), "bytes overflow");
    cr_assert(!bytes && wide == 0);
}
