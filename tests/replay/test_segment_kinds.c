#include "analyze/replay/segment_kinds.h"

#include "tests/fixture/fixture.h"

/* Two segments of 20 MiB, one in the default pool and one in pool (a, b). */
static const char *note(bool is_expandable, bool other_is_expandable, uint64_t a, uint64_t b)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x10000000, .bytes = 20 * MIB, .expandable = is_expandable);
    mvt_block(t, .bytes = 20 * MIB);
    mvt_segment(t, .addr = 0x50000000, .bytes = 20 * MIB, .expandable = other_is_expandable,
                .pool_a = a, .pool_b = b);
    mvt_block(t, .bytes = 20 * MIB);
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    const char *text = mv_segment_kinds_note(mvt_arena(t), mvt_done(t), &lives);
    cr_assert_not_null(text);
    return text;
}

Test(segment_kinds, one_pool_with_both_kinds_was_recorded_under_two_settings)
{
    cr_expect(strstr(note(true, false, 0, 0), "was changed while the program ran"));
    cr_expect_str_eq(note(true, true, 0, 0), "");
    cr_expect_str_eq(note(false, false, 0, 0), "");
}

Test(segment_kinds, a_pool_with_its_own_allocator_is_unchanged)
{
    cr_expect(strstr(note(true, false, 0, 3), "pool (0, 3) is not expandable although others are"));
    cr_expect(strstr(note(false, false, 0, 3), "pool (0, 3) is of a MemPool: if that has"));
    cr_expect_str_eq(note(true, true, 0, 3), "");
    cr_expect_str_eq(note(false, false, 3, 0), ""); /* the pool of a CUDA graph */
}
