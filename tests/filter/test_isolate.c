/* A subset of the allocations as a separate table, and the largest allocations, compared with a
 * slow and simple version on the whole table. */
#include "analyze/filter/isolate.h"
#include "analyze/lives/alive.h"
#include "tests/fixture/fixture_heap.h"

Test(isolate, levels_equal_the_sums_of_the_rows)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 150,
                              .unrecorded = seed % 3 * 40,
                              .expandable = seed % 2,
                              .drains = seed % 5 == 0};
        mvt_trace *t = mvt_new();
        mv_arena *arena = mvt_arena(t);
        uint64_t random = opts.seed;
        mv_filter_bits kept;
        mvt_heap_run(t, opts);
        mv_lives lives = mvt_lives(arena, mvt_done(t), 0);
        cr_assert(mv_filter_bits_init(arena, lives.allocs.count, &kept));
        for (uint32_t i = 0; i < lives.allocs.count; i++)
            if (mvt_random(&random, 3))
                mv_filter_bits_add(&kept, i);
        /* After each event, the subset's levels are sums over the rows that were kept from the
         * whole table. */
        mv_lives part;
        mv_series series;
        mvt_ok(mv_isolate_lives(arena, &lives, &kept, &part, mvt_err()));
        cr_assert_eq(part.allocs.count, kept.matches);
        mvt_ok(mv_totals_series(arena, &part, &series, mvt_err()));
        for (uint32_t e = MV_BEFORE; e + 1 <= lives.events.count; e++) {
            uint64_t allocated = 0, active = 0;
            for (uint32_t j = 0; j < lives.allocs.count; j++) {
                if (!mv_filter_has(&kept, j))
                    continue;
                allocated += mv_alloc_is_allocated(&lives, j, e) ? lives.allocs.block[j] : 0;
                active += mv_alloc_is_active(&lives, j, e) ? lives.allocs.block[j] : 0;
            }
            cr_assert_eq(e == MV_BEFORE ? series.before.allocated : series.allocated[e], allocated);
            cr_assert_eq(e == MV_BEFORE ? series.before.active : series.active[e], active);
        }
        for (uint32_t j = 0; j < part.allocs.count; j++)
            cr_assert_eq(part.allocs.birth[j] == MV_BEFORE, j < part.allocs.preexisting);
    }
}

typedef struct {
    uint64_t bytes;
    uint32_t row;
} sized;

static int largest_first(const void *left, const void *right)
{
    const sized *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->row < b->row ? -1 : 1;
}

static void check_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                          uint32_t top)
{
    const mv_alloc_lives *a = &lives->allocs;
    sized *rows = mv_push_array(arena, sized, a->count + 1);
    uint32_t count = 0, found = 0;
    mv_filter_bits bits;

    for (uint32_t i = 0; i < a->count; i++)
        if ((a->birth[i] == MV_BEFORE || a->birth[i] < to) && a->freed[i] >= from &&
            a->block[i] > 0)
            rows[count++] = (sized){a->block[i], i};
    qsort(rows, count, sizeof *rows, largest_first);
    mvt_ok(mv_isolate_largest(arena, lives, from, to, top, &bits, mvt_err()));
    cr_assert_eq(bits.matches, count < top ? count : top);
    for (uint32_t i = 0; i < bits.matches; i++)
        found += mv_filter_has(&bits, rows[i].row);
    cr_assert_eq(found, bits.matches);
}

Test(isolate, the_largest_of_a_window_are_chosen)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        mvt_trace *t = mvt_new();

        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 200, .unrecorded = seed % 2 * 50});
        mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        uint32_t events = lives.events.count;
        for (uint32_t top = 0; top < 60; top += 1 + seed % 7) {
            check_largest(mvt_arena(t), &lives, 0, events, top);
            check_largest(mvt_arena(t), &lives, events / 3, events / 2, top);
        }
        check_largest(mvt_arena(t), &lives, 0, events, UINT32_MAX);
    }
}

Test(isolate, sizes_that_no_memory_has_do_no_harm)
{
    uint64_t block[] = {UINT64_MAX, 0, 1, UINT64_MAX, 255, 256, UINT64_C(1) << 63};
    uint32_t birth[] = {0, 0, 0, 0, 0, 0, 0}, freed[] = {9, 9, 9, 9, 9, 9, 9};
    mv_lives lives = {.allocs = {.count = 7, .block = block, .birth = birth, .freed = freed}};

    for (uint32_t top = 0; top < 9; top++)
        check_largest(mvt_memory(), &lives, 0, 10, top);
}
