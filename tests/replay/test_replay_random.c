/* Random requests to the simulated allocator and to a slow, literal one: every address, size and
 * total must be equal. Also free ranges of address space, compared with a plain list. */
#include "analyze/replay/replay_heap.h"

#include "tests/fixture/fixture_test.h"
#include "tests/fixture/slow_allocator.h"

static uint64_t state;

static uint32_t random_below(uint32_t bound)
{
    return mvt_random(&state, bound);
}

enum { LIVE = 160 };

typedef struct {
    mv_replay_heap heap;
    slow_allocator *slow;
    uint32_t block[LIVE]; /* MV_NO_ROW: none */
    uint64_t addr[LIVE];
    bool waits[LIVE];      /* free requested, but not completed */
    uint32_t streams;      /* number of streams */
    uint64_t steps, brief; /* brief: blocks that were allocated and freed in one step */
} match;

static uint64_t random_size(void)
{
    switch (random_below(6)) {
    case 0:
        return 1 + random_below(4096);
    case 1:
        return 1 + random_below(MIB + 1024);
    case 2:
        return MIB * (1 + random_below(24)); /* programs often use equal sizes */
    case 3:
        return 1 + random_below(12 * MIB);
    case 4:
        return 1 + random_below(40 * MIB);
    default:
        return 1 + random_below(150 * MIB);
    }
}

static void request(match *m, int i, const char *conf)
{
    uint64_t bytes = random_size();
    uint64_t stream = random_below(5) == 0 ? 7 * (uint64_t)random_below(m->streams) : 0;
    unsigned pool = random_below(6) == 0;
    bool capturing = pool > 0;

    m->block[i] = mv_replay_malloc(&m->heap, bytes, stream, pool, capturing);
    m->addr[i] = slow_malloc(m->slow, bytes, stream, pool, capturing);
    cr_assert_eq(m->block[i] == MV_NO_ROW, m->addr[i] == 0, "%s: step %llu", conf,
                 (unsigned long long)m->steps);
    if (m->block[i] == MV_NO_ROW)
        return;
    cr_assert_eq(m->heap.blocks[m->block[i]].addr, m->addr[i], "%s: step %llu", conf,
                 (unsigned long long)m->steps);
    cr_assert_eq(m->heap.blocks[m->block[i]].size, slow_at(m->slow, m->addr[i])->size, "%s", conf);
}

/* Allocates a block that is freed at once. */
static void request_briefly(match *m, const char *conf)
{
    uint64_t bytes = random_size(), peak = m->heap.peak.active, addr;
    uint64_t stream = random_below(5) == 0 ? 7 * (uint64_t)random_below(m->streams) : 0;
    unsigned pool = random_below(6) == 0;
    bool is_freed;
    uint32_t block = mv_replay_malloc_briefly(&m->heap, bytes, stream, pool, pool > 0, &is_freed);

    addr = slow_malloc(m->slow, bytes, stream, pool, pool > 0);
    cr_assert_eq(block == MV_NO_ROW, addr == 0, "%s: step %llu", conf,
                 (unsigned long long)m->steps);
    if (block == MV_NO_ROW)
        return;
    m->brief += is_freed;
    cr_assert_eq(m->heap.blocks[block].addr, addr, "%s: step %llu", conf,
                 (unsigned long long)m->steps);
    cr_assert_eq(m->heap.peak.active, peak > m->slow->active ? peak : m->slow->active, "%s", conf);
    if (!is_freed)
        mv_replay_free(&m->heap, block);
    slow_request_free(m->slow, addr);
    slow_complete_free(m->slow, addr);
}

static void complete(match *m, int i)
{
    mv_replay_complete_free(&m->heap, m->block[i]);
    slow_complete_free(m->slow, m->addr[i]);
    m->block[i] = MV_NO_ROW;
    m->waits[i] = false;
}

static void release(match *m, int i)
{
    if (m->heap.blocks[m->block[i]].state == MV_REPLAY_PENDING) {
        complete(m, i);
        return;
    }
    mv_replay_request_free(&m->heap, m->block[i]);
    slow_request_free(m->slow, m->addr[i]);
    m->waits[i] = true;
    if (random_below(8) != 0)
        complete(m, i);
}

static void play(const char *text, uint64_t limit, uint64_t seed, unsigned steps, uint32_t streams)
{
    mv_alloc_conf conf;
    match m = {.streams = streams};
    char why[128];

    state = seed * 0x9e3779b97f4a7c15ull + 1;
    cr_assert(mv_alloc_conf_parse(text, &conf, why, sizeof why), "%s", why);
    m.slow = mv_push_struct(mvt_memory(), slow_allocator);
    cr_assert_not_null(m.slow);
    cr_assert(mv_replay_heap_init(&m.heap, mvt_memory(), &conf, 2));
    m.heap.driver.rule = MV_PLACE_RISING;
    m.heap.limit = limit;
    slow_init(m.slow, &conf, limit, m.heap.driver.rising, m.heap.driver.next_reservation);
    for (int i = 0; i < LIVE; i++)
        m.block[i] = MV_NO_ROW;
    for (; m.steps < steps; m.steps++) {
        int i = (int)random_below(random_below(4) ? LIVE / 4 : LIVE);
        if (random_below(4) == 0) {
            request_briefly(&m, text);
        } else if (m.block[i] == MV_NO_ROW) {
            request(&m, i, text);
        } else {
            release(&m, i);
        }
        if (random_below(300) == 0) {
            mv_replay_empty_cache(&m.heap);
            slow_empty_cache(m.slow);
        }
        m.heap.effect_count = 0;
        /* Waiting for streams completes all pending frees, even inside requests. The rows and
         * addresses may then belong to other blocks. */
        for (int j = 0; j < LIVE && m.heap.pending_first == MV_NO_ROW; j++) {
            m.block[j] = m.waits[j] ? MV_NO_ROW : m.block[j];
            m.waits[j] = false;
        }
        const slow_allocator *s = m.slow;
        cr_assert_eq(m.heap.now.reserved, s->reserved, "%s: reserved at step %llu", text,
                     (unsigned long long)m.steps);
        cr_assert_eq(m.heap.now.allocated, s->allocated, "%s", text);
        cr_assert_eq(m.heap.now.active, s->active, "%s", text);
        cr_assert_eq(m.heap.counts.segment_allocs, s->segment_allocs, "%s", text);
        cr_assert_eq(m.heap.counts.segment_frees, s->segment_frees, "%s", text);
        cr_assert_eq(m.heap.counts.ooms, s->ooms, "%s", text);
    }
    cr_assert(m.brief > 0 || mv_replay_collects(&m.heap), "%s", text);
}

LongTest(replay_random, the_simulation_equals_the_literal_allocator)
{
    static const char *const confs[] = {
        "",
        "expandable_segments:True",
        "max_split_size_mb:32",
        "max_split_size_mb:64,max_non_split_rounding_mb:40",
        "roundup_power2_divisions:4",
        "roundup_power2_divisions:[1:2,4:4,>:8]",
        "garbage_collection_threshold:0.6",
        "garbage_collection_threshold:0.7,max_split_size_mb:48",
        "expandable_segments:True,max_split_size_mb:32",
        "large_segment_size_mb:48,expandable_segments:True",
    };
    static const uint64_t limits[] = {UINT64_MAX, 700 * MIB, 1600 * MIB};

    for (size_t i = 0; i < sizeof confs / sizeof *confs; i++)
        for (size_t j = 0; j < sizeof limits / sizeof *limits; j++)
            for (uint64_t seed = 1; seed <= 4; seed++)
                play(confs[i], limits[j], 100 * i + 10 * j + seed, 1200, 2);
}

/* Only the first few hundred pairs of a pool and a stream have size classes. */
Test(replay_random, the_simulation_serves_any_number_of_streams)
{
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:32"};

    for (size_t i = 0; i < sizeof confs / sizeof *confs; i++)
        play(confs[i], UINT64_MAX, 7 + i, 6000, 1000);
}

enum { PLACES = 200 };

static void expect_gap(const mv_gaps *gaps, uint32_t gap, const uint64_t *size, int place)
{
    if (place < 0) {
        cr_assert_eq(gap, MV_NO_GAP);
        return;
    }
    cr_assert_neq(gap, MV_NO_GAP);
    cr_assert_eq(gaps->gaps[gap].addr, 100 * (uint64_t)place);
    cr_assert_eq(gaps->gaps[gap].size, size[place]);
}

Test(replay_random, gaps_equal_a_plain_list)
{
    uint64_t size[PLACES] = {0};
    mv_gaps gaps;

    state = 42;
    mv_gaps_init(&gaps, mvt_memory());
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(PLACES);
        if (size[i] == 0) {
            size[i] = 1 + random_below(99);
            cr_assert(mv_gaps_add(&gaps, 100 * (uint64_t)i, size[i], 0));
        } else {
            mv_gaps_drop(&gaps, mv_gaps_at(&gaps, 100 * (uint64_t)i));
            size[i] = 0;
        }
        uint64_t want = 1 + random_below(99);
        int at = (int)random_below(PLACES), lowest = -1, highest = -1, before = -1, from = -1;
        for (int j = 0; j < PLACES; j++) {
            if (size[j] == 0)
                continue;
            lowest = lowest < 0 && size[j] >= want ? j : lowest;
            highest = size[j] >= want ? j : highest;
            before = j < at ? j : before;
            from = from < 0 && j >= at ? j : from;
        }
        expect_gap(&gaps, mv_gaps_lowest(&gaps, want), size, lowest);
        expect_gap(&gaps, mv_gaps_highest(&gaps, want), size, highest);
        expect_gap(&gaps, mv_gaps_before(&gaps, 100 * (uint64_t)at), size, before);
        expect_gap(&gaps, mv_gaps_at(&gaps, 100 * (uint64_t)at), size, from);
    }
}
