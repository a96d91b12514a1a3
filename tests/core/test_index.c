/* A timeline's index, compared with literal queries about every row (analyze/lives/alive.h). */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/index.h"
#include "viz/core/segment_rows.h"

static bool is_alive(const mv_index *x, uint32_t rank, uint32_t event)
{
    if (!x->lives->alloc_of) /* segments */
        return mv_alive_spans(x->birth[rank], x->end[rank], event);
    return x->measure == MV_INDEX_ALLOCATED ? mv_alloc_is_allocated(x->lives, rank, event)
                                            : mv_alloc_is_active(x->lives, rank, event);
}

static void check_moment(mv_arena *arena, const mv_index *x, uint32_t event)
{
    uint32_t at = 0, born = 0, limit = x->count ? event % (x->count + 1) : 0;
    uint64_t bytes = 0;
    mv_alive found;

    mvt_ok(mv_index_alive(arena, x, event, &found, mvt_err()));
    for (uint32_t r = 0; r < x->count; r++) {
        bool alive = is_alive(x, r, event);
        cr_assert_eq(mv_index_is_alive(x, r, event), alive);
        born += x->birth[r] + 1 <= event + 1;
        bytes += alive && r < limit ? x->bytes[r] : 0;
        if (!alive)
            continue;
        cr_assert_lt(at, found.count);
        cr_assert_eq(found.row[at++], r);
    }
    cr_assert_eq(at, found.count, "event %u", event);
    cr_assert_eq(mv_index_born(x, event), born);
    cr_assert_eq(mv_index_bytes(x, limit, event), bytes);
    mv_arena_drop(arena, found.row);
}

/* A walk turns the set of rows alive before it into the set alive after each event, and the bitmap
 * of changes contains exactly the events that changed the set. */
static void check_walk(mv_arena *arena, const mv_index *x, uint32_t from, uint32_t to)
{
    bool *alive = mv_push_array(arena, bool, x->count + 1);
    mv_index_walk walk = mv_index_walk_from(x, from, to);
    bool has_more = mv_index_walk_next(&walk);

    for (uint32_t r = 0; r < x->count; r++)
        alive[r] = is_alive(x, r, from - 1);
    for (uint32_t e = from; e < to; e++) {
        cr_assert_eq(mv_bitmap_has(&x->changes, e), has_more && walk.event == e, "event %u", e);
        for (; has_more && walk.event == e; has_more = mv_index_walk_next(&walk)) {
            cr_assert_eq(alive[walk.rank], walk.is_end, "event %u, row %u", e, walk.rank);
            alive[walk.rank] = !walk.is_end;
        }
        for (uint32_t r = 0; r < x->count; r++)
            cr_assert_eq(alive[r], is_alive(x, r, e), "event %u, row %u", e, r);
    }
    cr_assert_not(has_more);
}

static void check_large(const mv_index *x, uint64_t *random)
{
    for (int i = 0; i < 20 && x->count; i++) {
        uint32_t from = mvt_random(random, x->count), want = from;
        uint32_t limit = from + mvt_random(random, x->count - from + 1);
        uint64_t bytes = x->bytes[mvt_random(random, x->count)] + mvt_random(random, 2);
        while (want < limit && x->bytes[want] < bytes)
            want++;
        cr_assert_eq(mv_index_next_large(x, from, limit, bytes), want);
    }
}

static void check_index(mv_arena *arena, const mv_lives *lives, uint64_t seed)
{
    for (int m = MV_INDEX_ALLOCATED; m <= MV_INDEX_REQUESTED; m++) {
        uint64_t random = seed;
        mv_index x;
        mvt_ok(mv_index_make(arena, lives, (mv_index_measure)m, &x, mvt_err()));
        check_moment(arena, &x, MV_BEFORE);
        for (uint32_t e = 0; e < x.events; e++)
            check_moment(arena, &x, e);
        for (int i = 0; i < 6 && x.events; i++) {
            uint32_t from = mvt_random(&random, x.events);
            uint32_t to = from + mvt_random(&random, x.events - from + 1);
            check_walk(arena, &x, i ? from : 0, i ? to : x.events);
            /* The rows that are born in (first, last] and are alive after last. */
            uint32_t first = from ? from - 1 : MV_BEFORE;
            uint32_t last = to ? to - 1 : MV_BEFORE;
            mv_alive held;
            uint32_t held_at = 0;
            mvt_ok(mv_index_held(arena, &x, first, last, &held, mvt_err()));
            for (uint32_t r = 0; r < x.count; r++) {
                if (x.birth[r] != MV_BEFORE && x.birth[r] + 1 > first + 1 && is_alive(&x, r, last))
                    cr_assert(held_at < held.count && held.row[held_at++] == r, "row %u", r);
            }
            cr_assert_eq(held_at, held.count);
            mv_arena_drop(arena, held.row);
        }
        check_large(&x, &random);
    }
}

LongTest(index, answers_equal_those_of_all_rows_on_random_tables)
{
    for (uint64_t seed = 1; seed <= 240; seed++) {
        mv_lives lives =
            mvt_random_lives(mvt_memory(), (mvt_lives_opts){.seed = seed,
                                                            .most_events = seed % 40 ? 120 : 600,
                                                            .is_plain = seed % 3 == 0});
        check_index(mvt_memory(), &lives, seed);
    }
}

/* Rows for segments, where the live blocks are the held ones. */
static void check_segments(mv_arena *arena, const mv_lives *lives, uint64_t seed)
{
    mv_lives segments;
    mv_index x;

    mvt_ok(mv_segment_lives_as_allocs(arena, lives, &segments, mvt_err()));
    mvt_ok(mv_index_make(arena, &segments, MV_INDEX_ALLOCATED, &x, mvt_err()));
    cr_assert_eq(x.count, lives->segments.count);
    for (uint32_t i = 0; i <= x.events; i++)
        for (uint32_t r = 0; r < x.count; r++)
            cr_assert_eq(mv_index_is_alive(&x, r, i - 1),
                         mv_segment_is_held(lives, segments.allocs.segment[r], i - 1));
    check_large(&x, &seed);
    check_walk(arena, &x, 0, x.events);
}

/* A literal allocator's heap, read with mv_lives_find: deferred frees, pools, late starts. */
Test(index, answers_equal_those_of_all_rows_on_random_heaps)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                        .calls = 150,
                                        .unrecorded = seed % 3 * 40,
                                        .expandable = seed % 2});
        mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        check_index(mvt_arena(t), &lives, seed);
        check_segments(mvt_arena(t), &lives, seed);
    }
}

/* Every whole snapshot: queries spread over all of it, and one walk through it. */
static void check_snapshot(const mv_trace *trace, uint32_t d, const char *name)
{
    mv_arena *arena = mvt_memory();
    mv_lives lives = mvt_lives(arena, trace, d);
    for (int m = MV_INDEX_ALLOCATED; m <= MV_INDEX_REQUESTED; m++) {
        mv_index x;
        cr_assert_eq(mv_index_make(arena, &lives, (mv_index_measure)m, &x, mvt_err()), MV_OK, "%s",
                     name);
        check_moment(arena, &x, MV_BEFORE);
        for (uint32_t e = 0; e < x.events; e += 1 + x.events / 50)
            check_moment(arena, &x, e);
        uint64_t bytes = mv_index_bytes(&x, x.count, MV_BEFORE);
        mv_index_walk walk = mv_index_walk_from(&x, 0, x.events);
        while (mv_index_walk_next(&walk))
            bytes += walk.is_end ? -x.bytes[walk.rank] : x.bytes[walk.rank];
        if (x.events)
            cr_assert_eq(bytes, mv_index_bytes(&x, x.count, x.events - 1), "%s", name);
    }
}

EachDevice(index, answers_equal_those_of_all_rows_on_every_snapshot, check_snapshot);

/* Three generations of ranks, 16^3 ranks in all, so that the answers lie far apart. */
Test(index, a_few_live_rows_among_many_are_found)
{
    enum { ROWS = 40000 };
    static uint64_t bytes[ROWS];
    static uint32_t birth[ROWS], freed[ROWS], alloc_of[2 * ROWS];
    mv_lives lives = {.events.count = 2 * ROWS,
                      .allocs = {.count = ROWS, .block = bytes, .birth = birth, .freed = freed},
                      .alloc_of = alloc_of};
    mv_alive found;
    mv_index x;

    for (uint32_t i = 0; i < ROWS; i++) {
        bool stays = i == 17 || i == 20000 || i == ROWS - 1;
        bytes[i] = i == 31000 ? 100 : 1;
        birth[i] = 2 * i;
        freed[i] = stays ? MV_NEVER : 2 * i + 1;
        alloc_of[2 * i] = i;
        alloc_of[2 * i + 1] = stays ? MV_NO_ROW : i;
    }
    mvt_ok(mv_index_make(mvt_memory(), &lives, MV_INDEX_ALLOCATED, &x, mvt_err()));
    mvt_ok(mv_index_alive(mvt_memory(), &x, 2 * ROWS - 1, &found, mvt_err()));
    cr_assert_eq(found.count, 3);
    cr_expect(found.row[0] == 17 && found.row[1] == 20000 && found.row[2] == ROWS - 1);
    cr_expect_eq(mv_index_next_large(&x, 0, ROWS, 2), 31000);
    cr_expect_eq(mv_index_next_large(&x, 31001, ROWS, 2), ROWS);
    cr_expect_eq(mv_index_next_large(&x, 0, 31000, 2), 31000);
    cr_expect_eq(x.odd_count, 0);
}

Test(index, an_empty_table_has_an_index)
{
    mv_lives lives = {0};
    mv_alive found;
    mv_index x;

    mvt_ok(mv_index_make(mvt_memory(), &lives, MV_INDEX_REQUESTED, &x, mvt_err()));
    mvt_ok(mv_index_alive(mvt_memory(), &x, MV_BEFORE, &found, mvt_err()));
    cr_expect_eq(found.count, 0);
    mv_index_walk walk = mv_index_walk_from(&x, 0, 0);
    cr_expect_not(mv_index_walk_next(&walk));
}

Test(index, fails_when_memory_is_out)
{

    mv_lives lives =
        mvt_random_lives(mvt_memory(), (mvt_lives_opts){.seed = 5, .most_events = 3000});
    for (mvt_limit l = {.step = 2048}; mvt_more_memory(&l);) {
        mv_index x;
        l.code = mv_index_make(&l.arena, &lives, MV_INDEX_ALLOCATED, &x, mvt_err());
    }
}
