#include "base/bits.h"

#include "tests/fixture/fixture_test.h"

Test(bits, against_flags)
{
    mv_arena *arena = mvt_arena_of(1 << 20);

    for (uint32_t count = 0; count < 300; count += count < 130 ? 1 : 13) {
        bool flag[300] = {false};
        uint32_t random = count + 1;
        mv_bits bits;
        cr_assert(mv_bits_init(arena, count, &bits));
        for (uint32_t step = 0; count && step < 60; step++) {
            uint32_t size = 0, at = (random = random * 1664525u + 1013904223u) >> 8;
            at %= count;
            flag[at] = random >> 30 != 0;
            (flag[at] ? mv_bits_add : mv_bits_drop)(&bits, at);
            for (uint32_t i = 0; i < count; i++)
                size += flag[i];
            cr_assert_eq(mv_bits_size(&bits), size);
        }
        for (uint32_t from = 0; from <= count; from++) {
            uint32_t next = from;
            while (next < count && !flag[next])
                next++;
            cr_assert_eq(mv_bits_next(&bits, from), next, "%u of %u", from, count);
            cr_assert(from == count || mv_bits_has(&bits, from) == flag[from]);
        }
    }
    arena->budget->limit = 0;
    cr_assert_not(mv_bits_init(arena, 1 << 24, &(mv_bits){0}));
}
