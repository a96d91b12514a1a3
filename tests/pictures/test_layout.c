/* The layout of a timeline, compared with a literal one, which for each column puts every live
 * allocation on top of the previous one. */
#include "tests/fixture/fixture_lives.h"
#include "viz/pictures/layout.h"

enum { MOST_EVENTS = 400, SITES = 5 };

typedef struct {
    mv_arena *arena;
    uint64_t random;
    mv_lives lives;
    uint64_t *allocated; /* one value after each event */
    uint32_t site_of[2 * MOST_EVENTS];
} heap;

static uint32_t below(heap *h, uint32_t limit)
{
    return mvt_random(&h->random, limit);
}

static bool is_alive(const heap *h, uint32_t alloc, uint32_t event)
{
    const mv_alloc_lives *a = &h->lives.allocs;

    if (event == MV_BEFORE)
        return a->birth[alloc] == MV_BEFORE;
    return (a->birth[alloc] == MV_BEFORE || a->birth[alloc] <= event) && a->freed[alloc] > event;
}

static uint64_t sum_alive(const heap *h, uint32_t first, uint32_t end, uint32_t event)
{
    uint64_t sum = 0;

    for (uint32_t i = first; i < end; i++)
        sum += is_alive(h, i, event) ? h->lives.allocs.block[i] : 0;
    return sum;
}

static void make_heap(heap *h, uint64_t seed)
{
    *h = (heap){.arena = mvt_memory(), .random = seed};
    h->lives = mvt_random_lives(
        h->arena, (mvt_lives_opts){.seed = seed, .most_events = MOST_EVENTS, .is_plain = true});
    h->allocated = mv_push_array(h->arena, uint64_t, MOST_EVENTS);
    cr_assert_lt(h->lives.allocs.count, 2 * MOST_EVENTS);
    for (uint32_t i = 0; i < h->lives.allocs.count; i++)
        h->site_of[i] = below(h, SITES);
    for (uint32_t e = 0; e < h->lives.events.count; e++)
        h->allocated[e] = sum_alive(h, 0, h->lives.allocs.count, e);
}

/* Returns whether an allocation of an element counts in a window that begins at `from`. */
static bool is_in(const heap *h, uint32_t alloc, uint32_t from)
{
    return h->lives.allocs.block[alloc] > 0 && h->lives.allocs.freed[alloc] >= from;
}

static void check_layout(heap *h, uint32_t from, uint32_t to)
{
    mv_layout_opts opts = {.from = from,
                           .to = to,
                           .columns = 1 + below(h, 500),
                           .least = 1 + below(h, 1u << (1 + below(h, 20))),
                           .site_of = h->site_of};
    mv_layout l;

    opts.visible = 1 + below(h, (uint32_t)opts.least);
    opts.instant = mvt_instants(h->arena, (mv_window){from, to}, opts.columns, h->allocated);
    mvt_ok(mv_layout_find(h->arena, &h->lives, &opts, &l, mvt_err()));
    /* Elements must be consecutive allocations, and omitted allocations must never be alive in the
     * window. */
    const mv_alloc_lives *a = &h->lives.allocs;
    uint32_t next = 0;
    for (uint32_t i = 0; i < l.element_count; i++) {
        const mv_element *e = &l.elements[i];
        uint32_t members = 0;
        cr_assert_geq(e->first, next);
        cr_assert_gt(e->count, 0);
        for (; next < e->first; next++)
            for (uint32_t c = 0; c < l.column_count; c++)
                cr_assert_eq(sum_alive(h, next, next + 1, l.instant[c]), 0);
        next = e->first + e->count;
        cr_assert(next <= a->preexisting || e->first >= a->preexisting);
        for (uint32_t n = e->first; n < next; n++) {
            members += is_in(h, n, from);
            cr_assert(!is_in(h, n, from) || e->members == 1 || a->block[n] < opts.least,
                      "only small ones share an element");
        }
        cr_assert_eq(e->members, members);
        uint64_t alive = 0;
        for (uint32_t c = 0; c < l.column_count; c++)
            alive += sum_alive(h, e->first, next, l.instant[c]);
        cr_assert(alive > 0 || e->first < a->preexisting, "an element is in a column");
    }
    for (uint32_t c = 0; c < l.column_count; c++) {
        uint32_t all = h->lives.allocs.count;
        cr_assert_eq(l.allocated[c], sum_alive(h, 0, all, l.instant[c]));
        cr_assert_eq(l.preexisting[c], sum_alive(h, 0, h->lives.allocs.preexisting, l.instant[c]));
    }
    for (uint32_t k = 0; k < l.element_count; k++) {
        const mv_element *e = &l.elements[k];
        uint32_t at = e->samples;
        uint64_t highest = 0;
        /* An element that claims a single site must contain no other site's allocations. */
        bool others = false;
        for (uint32_t j = e->first; j < e->first + e->count; j++)
            others = others || (is_in(h, j, from) && e->site != h->site_of[j]);
        cr_assert(!e->is_one_site || !others);
        cr_assert(!e->is_one_site || !e->is_mixed);
        for (uint32_t c = 0; c < l.column_count; c++) {
            uint64_t bytes = sum_alive(h, e->first, e->first + e->count, l.instant[c]);
            if (bytes < opts.visible)
                continue;
            highest = bytes > highest ? bytes : highest;
            cr_assert_lt(at, e->samples + e->columns);
            cr_assert_eq(l.samples[at].column, c);
            cr_assert_eq(l.samples[at].element, k);
            cr_assert_eq(l.samples[at].bytes, bytes);
            cr_assert_eq(l.samples[at].offset, sum_alive(h, 0, e->first, l.instant[c]));
            at++;
        }
        cr_assert_eq(at, e->samples + e->columns);
        cr_assert_eq(e->highest, highest);
    }
}

LongTest(layout, the_layout_equals_a_literal_one_on_random_heaps)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        heap h;
        uint32_t events;
        make_heap(&h, seed);
        events = h.lives.events.count;
        check_layout(&h, 0, events);
        uint32_t from = events ? below(&h, events) : 0;
        check_layout(&h, from, from + below(&h, events - from + 1));
    }
}

/* Three small allocations of one site, a big one, then two small ones of another site. */
Test(layout, small_neighbours_share_an_element)
{
    uint64_t block[] = {512, 512, 512, 1 << 20, 512, 1024}, allocated[6];
    uint32_t birth[] = {0, 1, 2, 3, 4, 5}, sites[] = {7, 7, 7, 7, 9, 9};
    uint32_t freed[] = {MV_NEVER, MV_NEVER, MV_NEVER, MV_NEVER, MV_NEVER, MV_NEVER};
    uint8_t action[6] = {0}; /* MV_ACTION_ALLOC */
    mv_lives lives = {.events = {.count = 6, .action = action},
                      .allocs = {.count = 6, .block = block, .birth = birth, .freed = freed},
                      .alloc_of = birth};
    mv_layout_opts opts = {.to = 6, .columns = 2, .least = 1024, .visible = 1, .site_of = sites};
    mv_layout l;

    for (uint32_t i = 0; i < 6; i++)
        allocated[i] = block[i] + (i ? allocated[i - 1] : 0);
    opts.instant = mvt_instants(mvt_memory(), (mv_window){0, opts.to}, opts.columns, allocated);
    mvt_ok(mv_layout_find(mvt_memory(), &lives, &opts, &l, mvt_err()));
    cr_assert_eq(l.element_count, 4);
    cr_expect_eq(l.elements[0].count, 3);
    cr_expect_eq(l.elements[0].site, 7);
    cr_expect_eq(l.elements[2].count, 1, "512 bytes, then 1024, which are not small");
    cr_expect_eq(l.allocated[0], 1536);
    cr_expect_eq(l.allocated[1], 1536 + (1 << 20) + 1536);
}

/* Blocks of 512 bytes that stay for a long time alternate with blocks of 1024 bytes that are freed
 * at once. The former determine the site. */
Test(layout, a_run_takes_the_site_that_fills_it)
{
    enum { PAIRS = 8, EVENTS = 3 * PAIRS };
    uint64_t block[2 * PAIRS], allocated[EVENTS] = {0};
    uint32_t birth[2 * PAIRS], freed[2 * PAIRS], alloc_of[EVENTS], sites[2 * PAIRS];
    uint8_t action[EVENTS];
    mv_lives lives = {
        .events = {.count = EVENTS, .action = action},
        .allocs = {.count = 2 * PAIRS, .block = block, .birth = birth, .freed = freed},
        .alloc_of = alloc_of};
    mv_layout_opts opts = {
        .to = EVENTS, .columns = EVENTS, .least = 1 << 20, .visible = 1, .site_of = sites};
    mv_layout l;

    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        bool stays = i % 2 == 0;
        block[i] = stays ? 512 : 1024;
        birth[i] = i / 2 * 3 + i % 2;
        freed[i] = stays ? MV_NEVER : birth[i] + 1;
        sites[i] = stays ? 4 : 5;
        action[birth[i]] = MV_ACTION_ALLOC;
        alloc_of[birth[i]] = i;
        if (!stays) {
            action[freed[i]] = MV_ACTION_FREE_REQUESTED;
            alloc_of[freed[i]] = i;
        }
    }
    opts.instant = mvt_instants(mvt_memory(), (mv_window){0, opts.to}, opts.columns, allocated);
    mvt_ok(mv_layout_find(mvt_memory(), &lives, &opts, &l, mvt_err()));
    cr_assert_eq(l.element_count, 1);
    cr_expect_eq(l.elements[0].site, 4);
    cr_expect_not(l.elements[0].is_one_site);
    cr_expect_not(l.elements[0].is_mixed);
}

/* Running out of memory at any point must be an error, not a crash. */
Test(layout, fails_when_memory_is_out)
{
    heap h;
    mv_layout_opts opts = {.columns = 100, .least = 4096, .visible = 1};
    mv_layout layout;

    make_heap(&h, 7);
    opts.to = h.lives.events.count;
    opts.site_of = h.site_of;
    opts.instant = mvt_instants(h.arena, (mv_window){0, opts.to}, opts.columns, h.allocated);
    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);)
        l.code = mv_layout_find(&l.arena, &h.lives, &opts, &layout, mvt_err());
}
