#include "base/arena.h"

#include "base/pages.h"
#include "tests/fixture/fixture_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum { MEGABYTE = 1 << 20 };

static bool is_zero(const char *at, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            return false;
    return true;
}

Test(arena, pushes_are_zeroed_and_aligned)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);

    for (uint64_t bytes = 0; bytes < 3 * MV_ARENA_LARGE; bytes = bytes * 3 + 1) {
        char *at = mv_arena_push(arena, bytes, 1);
        cr_assert_not_null(at);
        cr_assert_eq((uintptr_t)at % 16, 0);
        cr_assert(is_zero(at, bytes));
        memset(at, 0xff, bytes);
    }
}

Test(arena, rewound_memory_comes_back_zeroed)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);

    cr_assert_not_null(mv_arena_push(arena, 100, 1));
    mv_arena_mark mark = mv_arena_here(arena);
    char *first = mv_arena_push(arena, 100, 1);
    memset(first, 0xff, 100);
    for (int i = 0; i < 100; i++) /* several chunks */
        cr_assert_not_null(mv_arena_push(arena, MV_ARENA_LARGE - 1, 1));
    mv_arena_rewind(arena, mark);
    char *second = mv_arena_push(arena, 100, 1);
    cr_assert_eq(second, first);
    cr_assert(is_zero(second, 100));
}

Test(arena, rewinding_to_before_the_first_chunk_frees_everything)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);

    mv_arena_mark mark = mv_arena_here(arena);
    cr_assert_not_null(mv_arena_push(arena, 100, 1));
    mv_arena_rewind(arena, mark);
    cr_assert_eq(arena->budget->used, 0);
}

Test(arena, overflow_and_huge_sizes_are_refused)
{
    mv_arena *arena = mvt_arena_of(UINT64_MAX);

    cr_assert_null(mv_arena_push(arena, UINT64_MAX / 8 + 1, 8));
    cr_assert_null(mv_arena_push(arena, UINT64_MAX, 1));
    cr_assert_null(mv_arena_push(arena, 1, UINT64_MAX / 2 + 1));
    cr_assert_null(mv_arena_grow(arena, NULL, UINT64_MAX));
    void *grown = mv_arena_grow(arena, NULL, 100);
    cr_assert_not_null(grown);
    cr_assert_null(mv_arena_grow(arena, grown, UINT64_MAX));
    cr_assert_null(mv_arena_grow(arena, grown, UINT64_MAX / 2));
    memset(grown, 1, 100); /* still alive */
}

Test(arena, limit_is_kept_and_shared)
{
    mv_budget budget = {.limit = 4 * MEGABYTE};
    mv_arena a, b;

    mv_arena_init(&a, &budget);
    mv_arena_init(&b, &budget);
    void *large = mv_arena_grow(&a, NULL, 3 * MEGABYTE);
    cr_assert_not_null(large);
    cr_assert_null(mv_arena_grow(&b, NULL, 2 * MEGABYTE));
    cr_assert_null(mv_arena_grow(&a, large, 5 * MEGABYTE));
    cr_assert_leq(budget.used, budget.limit);
    mv_arena_drop(&a, large);
    cr_assert_eq(budget.used, 0);
    cr_assert_not_null(mv_arena_grow(&b, NULL, 2 * MEGABYTE));
    mv_arena_release(&a);
    mv_arena_release(&b);
    cr_assert_geq(budget.peak, 3 * MEGABYTE);
    cr_assert_eq(budget.used, 0);
}

Test(arena, small_pushes_end_at_the_limit)
{
    mv_arena *arena = mvt_arena_of(2 * MEGABYTE);
    uint64_t pushed = 0;

    while (mv_arena_push(arena, 1000, 1)) {
        pushed += 1000;
        cr_assert_leq(pushed, arena->budget->limit);
    }
    cr_assert_gt(pushed, MEGABYTE);
}

Test(arena, growth_keeps_the_contents_and_zeroes_the_rest)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    unsigned char *at = NULL;
    uint64_t bytes = 0;

    for (uint64_t more = 1; more < 8 * MEGABYTE; more = more * 5 + 3) {
        at = mv_arena_grow(arena, at, more);
        cr_assert_not_null(at);
        for (uint64_t i = 0; i < bytes; i++)
            cr_assert_eq(at[i], 0xa5);
        cr_assert(is_zero((char *)at + bytes, more - bytes));
        memset(at, 0xa5, more);
        bytes = more;
    }
}

Test(arena, grown_blocks_survive_each_others_growth_and_drop)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    int *block[5] = {0};

    for (int round = 1; round <= 6; round++)
        for (int i = 0; i < 5; i++) {
            block[i] = mv_arena_grow(arena, block[i], (uint64_t)round * 100000 * (i + 1));
            cr_assert_not_null(block[i]);
            *block[i] = i;
        }
    mv_arena_drop(arena, block[2]);
    mv_arena_drop(arena, block[0]);
    mv_arena_drop(arena, NULL);
    cr_assert_eq(*block[1], 1);
    cr_assert_eq(*block[4], 4);
}

Test(arena, text_is_copied_with_a_nul)
{
    mv_arena *arena = mvt_arena_of(2 * MEGABYTE);

    char *text = mv_arena_text(arena, "ab\0cd", 5);
    cr_assert_arr_eq(text, "ab\0cd", 6);
}

Test(arena, sparse_columns_count_only_their_values)
{
    enum { VALUES = 10 };
    mv_arena *arena = mvt_arena_of(1 << 20);
    uint32_t *at;

    cr_expect_null(mv_push_array(arena, uint32_t, 1 << 20));
    at = mv_arena_push_sparse(arena, 1 << 20, sizeof *at, VALUES);
    cr_assert_not_null(at);
    cr_expect_leq(arena->budget->used, (VALUES + 1) * MV_PAGE);
    for (uint32_t i = 0; i < VALUES; i++) {
        uint32_t *value = &at[(1 << 20) / VALUES * i];
        mv_arena_show(value, sizeof *value);
        cr_expect_eq(*value, 0);
        *value = i;
    }
    cr_expect_null(mv_arena_push_sparse(arena, 1 << 20, sizeof *at, 1 << 20));
    cr_expect_null(mv_arena_push_sparse(arena, UINT64_MAX, sizeof *at, 1));
    cr_expect_not_null(mv_arena_push_sparse(arena, 3, sizeof *at, 3));
}

#ifdef HAS_ASAN
Test(arena, freed_and_unused_space_is_poisoned)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);

    char *small = mv_arena_push(arena, 16, 1);
    cr_assert_not(__asan_address_is_poisoned(small + 15));
    cr_assert(__asan_address_is_poisoned(small + 16));
    mv_arena_mark mark = mv_arena_here(arena);
    char *temporary = mv_arena_push(arena, 16, 1);
    cr_assert_not(__asan_address_is_poisoned(temporary));
    mv_arena_rewind(arena, mark);
    cr_assert(__asan_address_is_poisoned(temporary));
    char *grown = mv_arena_grow(arena, NULL, 1600);
    cr_assert_not(__asan_address_is_poisoned(grown + 1599));
    cr_assert(__asan_address_is_poisoned(grown + 1600));
    char *sparse = mv_arena_push_sparse(arena, 1600, 1, 1);
    cr_assert(__asan_address_is_poisoned(sparse + 8));
    mv_arena_show(sparse + 8, 8);
    cr_assert_not(__asan_address_is_poisoned(sparse + 8));
    cr_assert(__asan_address_is_poisoned(sparse + 16));
}
#endif

Test(arena, a_pool_keeps_what_arenas_release)
{
    enum { FIRST = 3 * MEGABYTE - 1000 };
    mv_budget budget = {.limit = 16 * MEGABYTE};
    mv_page_pool pool;
    mv_arena first, second;
    char *at, *grown;

    mv_page_pool_begin(&pool, &budget, 16 * MEGABYTE);
    mv_arena_init(&first, &budget);
    mv_arena_init(&second, &budget);
    at = mv_arena_push(&first, FIRST, 1);
    memset(at, 0xff, FIRST);
    mv_arena_release(&first);
    cr_expect_gt(budget.used, FIRST);
    cr_expect_eq(mv_arena_push(&second, FIRST - 5000, 1), at);
    cr_expect(is_zero(at, FIRST - 5000));
    memset(at, 0xff, FIRST - 5000);
    mv_arena_release(&second);
    grown = mv_arena_grow(&first, NULL, FIRST - 9000);
    cr_expect_eq(grown, at);
    cr_expect(is_zero(grown, FIRST - 9000));
    cr_expect_eq(mv_arena_grow(&first, grown, FIRST), at);
    cr_expect(is_zero(at, FIRST));
    memset(at, 0xff, FIRST);
    grown = mv_arena_grow(&first, at, 5 * MEGABYTE);
    cr_expect_neq(grown, at);
    cr_expect(is_zero(grown + FIRST, 5 * MEGABYTE - FIRST));
    cr_expect_eq((uint8_t)grown[FIRST - 1], 0xff);
    mv_arena_release(&first);
    mv_page_pool_end(&pool, &budget);
    cr_expect_eq(budget.used, 0);
}

/* Large blocks are returned to the system by several threads. */
Test(arena, releasing_a_large_block_leaves_others_alone)
{
    mv_budget budget = {.limit = 256 * MEGABYTE};
    uint64_t bytes = 37 * MEGABYTE + 4097;
    mv_arena arenas[3];
    char *at[3];

    for (unsigned i = 0; i < 3; i++) {
        mv_arena_init(&arenas[i], &budget);
        at[i] = mv_arena_push(&arenas[i], bytes, 1);
        memset(at[i], 0xff, bytes);
    }
    mv_arena_release(&arenas[1]);
    for (uint64_t i = 0; i < bytes; i++)
        cr_assert((at[0][i] & at[2][i] & 0xff) == 0xff);
    cr_expect_lt(budget.used, 3 * bytes);
    mv_arena_release(&arenas[0]);
    mv_arena_release(&arenas[2]);
    cr_expect_eq(budget.used, 0);
}

Test(arena, a_pool_is_emptied_before_it_keeps_too_much)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    mv_page_pool pool;

    mv_page_pool_begin(&pool, arena->budget, 4 * MEGABYTE);
    for (uint64_t bytes = 1 * MEGABYTE; bytes < 3 * MEGABYTE; bytes += 300000) {
        cr_assert_not_null(mv_arena_push(arena, bytes, 1));
        mv_arena_release(arena);
        cr_expect_geq(arena->budget->used, bytes);
        cr_expect_leq(arena->budget->used, 4 * MEGABYTE);
    }
    mv_page_pool_end(&pool, arena->budget);
}

Test(arena, a_pool_gives_mappings_that_are_up_to_twice_as_long)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    mv_page_pool pool;
    char *at;

    mv_page_pool_begin(&pool, arena->budget, 32 * MEGABYTE);
    at = mv_arena_push(arena, 8 * MEGABYTE, 1);
    memset(at, 0xff, 8 * MEGABYTE);
    mv_arena_release(arena);
    cr_expect_neq(mv_arena_push(arena, 3 * MEGABYTE, 1), at);
    cr_expect_eq(mv_arena_push(arena, 5 * MEGABYTE, 1), at);
    cr_expect(is_zero(at, 5 * MEGABYTE));
    mv_arena_release(arena);
    mv_page_pool_end(&pool, arena->budget);
}

Test(arena, a_push_gets_what_a_pool_keeps_before_it_is_refused)
{
    mv_arena *arena = mvt_arena_of(8 * MEGABYTE);
    mv_page_pool pool;

    mv_page_pool_begin(&pool, arena->budget, 16 * MEGABYTE);
    cr_assert_not_null(mv_arena_push(arena, 5 * MEGABYTE, 1));
    mv_arena_release(arena);
    cr_expect_not_null(mv_arena_push(arena, 6 * MEGABYTE, 1));
    cr_expect_null(mv_arena_push(arena, 3 * MEGABYTE, 1));
    cr_expect(arena->budget->lacked);
    mv_arena_release(arena);
    mv_page_pool_end(&pool, arena->budget);
}

Test(arena, lengths_of_a_pool_fit)
{
    for (uint64_t bytes = 4096; bytes < UINT64_C(1) << 36; bytes += bytes / 3) {
        uint64_t length = mv_page_pool_length(bytes);
        cr_expect_geq(length, bytes);
        cr_expect_eq(mv_page_pool_length(length), length);
        cr_expect(bytes < 36864 || length <= bytes + bytes / 8 + 4096, "%llu: %llu",
                  (unsigned long long)bytes, (unsigned long long)length);
    }
}

Test(arena, unset_memory_keeps_what_earlier_users_wrote)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    mv_page_pool pool;
    uint8_t *at;

    at = mv_arena_push_unset(arena, MEGABYTE, 1);
    cr_expect(at[0] == 0 && at[MEGABYTE - 1] == 0, "without a pool, all memory is new");
    mv_arena_release(arena);
    mv_page_pool_begin(&pool, arena->budget, 16 * MEGABYTE);
    at = mv_arena_push(arena, MEGABYTE, 1);
    memset(at, 0xff, MEGABYTE);
    mv_arena_release(arena);
    at = mv_arena_push_unset(arena, MEGABYTE, 1);
    cr_expect(at[0] != 0 && at[MEGABYTE - 1] != 0);
    mv_arena_clear(arena, at + 1, 2);
    cr_expect(at[0] != 0 && at[1] == 0 && at[2] == 0 && at[3] != 0);
    mv_arena_release(arena);
    at = mv_arena_push(arena, MEGABYTE, 1);
    cr_expect(at[0] == 0 && at[MEGABYTE - 1] == 0);
    mv_arena_release(arena);
    mv_page_pool_end(&pool, arena->budget);
}
