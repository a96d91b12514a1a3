/* The row under the pointer, compared with a search of every row. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "tests/fixture/fixture_stack.h"
#include "viz/core/column_spikes.h"
#include "viz/core/hit_test.h"

/* Returns whether `a` ranks before `b` by size, with ties broken by row. */
static bool is_before(const mv_index *x, uint32_t a, uint32_t b)
{
    return x->bytes[a] != x->bytes[b] ? x->bytes[a] > x->bytes[b] : a < b;
}

static void check_sharing(const mv_column_stack *p, const mv_hit *hit, uint64_t low, uint64_t high)
{
    uint32_t sharing = 0, largest[MV_HIT_LARGEST] = {MV_NO_ROW, MV_NO_ROW, MV_NO_ROW};
    uint64_t offset = 0;

    for (uint32_t r = 0; r < p->index->count; r++) {
        bool is_open;
        uint64_t held = mvt_held(p->index, p->drawn, r, p->now, &is_open);
        if (held && !is_open && offset < high && offset + held > low) {
            uint32_t new = r;
            sharing++;
            for (int i = 0; i < MV_HIT_LARGEST && new != MV_NO_ROW; i++)
                if (largest[i] == MV_NO_ROW || is_before(p->index, new, largest[i])) {
                    uint32_t old = largest[i];
                    largest[i] = new;
                    new = old;
                }
        }
        offset += held;
    }
    cr_assert_eq(hit->sharing, sharing);
    cr_assert_arr_eq(hit->largest, largest, sizeof largest);
}

/* A point inside a row must hit that row. */
static void check_instant(mv_column_stack *p, mv_instant instant, uint64_t *random)
{
    const mv_index *x = p->index;
    uint64_t offset = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        bool is_open;
        uint64_t held = mvt_held(x, p->drawn, r, instant, &is_open), byte, low, high;
        if (held == 0)
            continue;
        byte = offset + mvt_random(random, 1 << 30) % held;
        low = byte - (byte < 20000 ? byte : mvt_random(random, 20000));
        high = byte + 1 + mvt_random(random, 20000);
        mv_hit hit = mv_hit_find(p, instant, byte, low, high);
        cr_assert_eq(hit.rank, is_open ? MV_NO_ROW : r);
        if (!is_open)
            cr_assert(hit.offset == offset && hit.bytes == held);
        check_sharing(p, &hit, low, high);
        offset += held;
    }
    cr_assert_eq(mv_hit_find(p, instant, offset, offset, offset + 1000).rank, MV_NO_ROW);
    cr_assert_eq(mv_hit_find(p, instant, offset, offset, offset + 1000).sharing, 0);
}

static void check_lives(mv_arena *arena, const mv_lives *lives, uint64_t seed, int instants)
{
    uint64_t random = seed, *drawn = NULL;
    mv_index x;
    mv_column_stack p;

    mvt_ok(mv_index_make(arena, lives, (mv_index_measure)(seed % 3), &x, mvt_err()));
    if (seed % 4 == 0)
        drawn = mvt_random_bits(arena, x.count, &random);
    mvt_ok(mv_column_stack_init(arena, &x, drawn, &p, mvt_err()));
    for (int i = 0; i < instants; i++) {
        mv_instant instant = {mvt_random(&random, x.events + 1) - 1, MV_SLID};
        if (i % 2)
            instant.slid = mvt_random(&random, MV_SLID);
        check_instant(&p, instant, &random);
    }
    for (int j = 0; j < 30 && x.events; j++) {
        uint32_t first = mvt_random(&random, x.events), want = MV_NO_ROW;
        uint32_t end = first + mvt_random(&random, x.events - first + 1);
        uint32_t shown = first + (end > first ? mvt_random(&random, end - first) : 0);
        uint64_t least = 1 + mvt_random(&random, 100000);
        for (uint32_t r = x.preexisting; r < x.count; r++)
            if (x.birth[r] >= first && x.birth[r] < end && x.end[r] < end &&
                x.end[r] > x.birth[r] && x.bytes[r] >= least && !mv_index_is_alive(&x, r, shown) &&
                (!drawn || (drawn[r / 64] >> r % 64 & 1)) &&
                (want == MV_NO_ROW || x.bytes[r] > x.bytes[want]))
                want = r;
        cr_assert_eq(mv_spike_find(&x, drawn, first, end, shown, least), want);
    }
}

Test(hit, a_point_in_a_row_hits_it_on_random_tables)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        mv_lives lives = mvt_random_lives(mvt_memory(), (mvt_lives_opts){seed, 120, seed % 2});
        check_lives(mvt_memory(), &lives, seed, 12);
    }
}

static void check_snapshot(const mv_trace *trace, uint32_t d, const char *name)
{
    (void)name;
    mv_lives lives = mvt_lives(mvt_memory(), trace, d);
    if (lives.allocs.count < 3000)
        check_lives(mvt_memory(), &lives, d, 2);
}

EachDevice(hit, a_point_in_a_row_hits_it_on_real_snapshots, check_snapshot);
