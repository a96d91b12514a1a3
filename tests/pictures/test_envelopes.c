/* The timeline by pool. Envelopes must be as high as in a literal model, and pictures of every real
 * snapshot must be legible. */
#include "tests/fixture/fixture_heap.h"
#include "tests/paper/fixture_paper.h"
#include "viz/pictures/envelopes.h"

enum { POOLS = 5 };

static uint32_t envelope_of(const mv_envelopes *e, const mv_lives *lives, uint32_t alloc)
{
    uint32_t segment = lives->allocs.segment[alloc];

    return e->of_segment[segment < lives->segments.count ? segment : lives->segments.count];
}

/* Computes an envelope's bytes after an event, summed from all rows. */
static void literal_levels(const mv_envelopes *e, const mv_lives *lives, uint32_t at,
                           uint32_t event, uint64_t *held, uint64_t *allocated, uint64_t *active)
{
    *held = *allocated = *active = 0;
    for (uint32_t i = 0; i < lives->segments.count; i++)
        if (e->of_segment[i] == at && mv_segment_is_held(lives, i, event))
            *held += lives->segments.size[i];
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (envelope_of(e, lives, i) == at && mv_alloc_is_allocated(lives, i, event))
            *allocated += lives->allocs.block[i];
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (envelope_of(e, lives, i) == at && mv_alloc_is_active(lives, i, event))
            *active += lives->allocs.block[i];
}

static void check_envelope(const mv_envelopes *e, const mv_lives *lives, uint32_t at, uint32_t from,
                           uint32_t to)
{
    uint64_t most_held = 0, most_allocated = 0, most = 0, held, allocated, active;
    uint32_t held_at = 0, first = from == 0 || from == to ? from - 1 : from;

    for (uint32_t event = first; event + 1 <= to; event++) {
        literal_levels(e, lives, at, event, &held, &allocated, &active);
        most = active > most ? active : most;
        most = held > most ? held : most;
        if (event == first || held > most_held) {
            most_held = held;
            held_at = event;
        }
        most_allocated = allocated > most_allocated ? allocated : most_allocated;
    }
    cr_assert_eq(e->envelopes[at].held, most_held);
    cr_assert_eq(e->envelopes[at].held_at, held_at);
    cr_assert_eq(e->envelopes[at].allocated, most_allocated);
    cr_assert_eq(e->envelopes[at].high, most);
    cr_assert_gt(e->envelopes[at].high, 0);
}

static void compare(mvt_heap_opts opts)
{
    mvt_trace *t = mvt_new();
    mv_arena *arena = mvt_arena(t);
    uint32_t windows[][2] = {{0, 0}, {0, 0}, {0, 0}, {0, 1}};
    mv_envelopes e;

    mvt_heap_run(t, opts);
    mv_trace trace = *mvt_done(t);
    mv_lives lives = mvt_lives(arena, &trace, 0);
    /* Assigns random pools to a trace's segments, and adapts the trace's table of pools. */
    uint64_t seed = opts.seed;
    trace.pools = (mv_pools){.count = POOLS,
                             .a = mv_push_array(arena, uint64_t, POOLS),
                             .b = mv_push_array(arena, uint64_t, POOLS)};
    for (uint32_t i = 1; i < POOLS; i++)
        *(i % 2 ? &trace.pools.a[i] : &trace.pools.b[i]) = i;
    for (uint32_t i = 0; i < lives.segments.count; i++) {
        uint64_t pool = mvt_random(&seed, POOLS + 2);
        lives.segments.pool[i] = pool < POOLS ? (mv_pool_id){(uint32_t)pool} : MV_NO_POOL;
    }
    windows[0][1] = lives.events.count;
    windows[1][0] = lives.events.count / 3;
    windows[1][1] = lives.events.count / 2;
    windows[2][0] = windows[2][1] = lives.events.count / 2;
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t most = 1; most < POOLS + 3; most++) {
            mvt_ok(mv_envelopes_lay(arena, &trace, &lives, windows[w][0], windows[w][1], most, &e,
                                    mvt_err()));
            /* Each named pool must be in a separate envelope, and all others in the last one. */
            uint32_t pools = 0;
            cr_assert_leq(e.count, most);
            for (uint32_t j = 0; j < e.count; j++) {
                pools += e.envelopes[j].pools;
                cr_assert(e.envelopes[j].pools == 1 || j + 1 == e.count);
            }
            cr_assert_leq(pools, POOLS + 1);
            for (uint32_t j = 0; j < lives.segments.count; j++) {
                uint32_t at = e.of_segment[j], pool = lives.segments.pool[j].row;
                if (at == MV_NO_ROW)
                    continue;
                for (uint32_t other = 0; other < e.count; other++)
                    if (e.envelopes[other].pools == 1 && e.envelopes[other].pool.row == pool)
                        cr_assert_eq(at, other);
            }
            for (uint32_t i = 0; i < e.count; i++)
                check_envelope(&e, &lives, i, windows[w][0], windows[w][1]);
        }
}

Test(envelopes, envelopes_of_random_heaps_equal_the_literal_model)
{
    for (uint32_t seed = 1; seed <= 16; seed++)
        compare((mvt_heap_opts){.seed = seed,
                                .calls = 120,
                                .unrecorded = seed % 3 * 30,
                                .expandable = seed % 2,
                                .drains = seed % 4 == 0});
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    const mv_paper_opts all[] = {{.title = name},
                                 {.title = name, .is_dark = true, .top = 20},
                                 {.title = name, .width = 800, .height = 360}};

    for (uint32_t device = 0; device < mv_trace_devices(trace); device++)
        for (int i = 0; i < 3; i++) {
            mvt_picture p = mvt_picture_of(&mv_paper_pools, trace, device, all[i]);
            mvt_scene_check(&p.paper.scene, name);
        }
}

EachSnapshot(envelopes, pictures_of_every_snapshot_are_legible, check_snapshot);

#define SAYS(...) MVT_PICTURE_SAYS(&mv_paper_pools, __VA_ARGS__)

Test(envelopes, a_picture_lists_contents_and_missing_data)
{
    SAYS("graphs", "2 private pools: at most 44.0 MiB reserved and 43.0 MiB allocated",
         "private pool (1, 0): at most 40.0 MiB reserved", "unknown pool",
         "default pool: at most 84.0 MiB reserved, at most 79.5 MiB allocated");
    SAYS("mempool", "1 private pool: at most 120 MiB reserved", "private pool (0, 1)");
    SAYS("late_start", "no private pools are recorded; segments released before the snapshot");
    SAYS("gpt_train", "no private pools: everything is in the default pool");
}
