/* Windows, places and pixels, on all three clocks of random traces. */
#include <math.h>

#include "tests/fixture/fixture_heap.h"
#include "view/timeline/viewport.h"
#include "viz/core/drawn_rows.h"

typedef struct {
    mvt_trace *trace;
    mv_lives lives;
    mv_index index;
    mv_drawn drawn;
    mv_timescale scale;
    uint64_t random;
} stand;

static void open_stand(stand *s, uint32_t seed, mv_clock clock)
{
    s->trace = mvt_new();
    mvt_heap_run(s->trace,
                 (mvt_heap_opts){.seed = seed, .calls = 200, .unrecorded = seed % 2 * 30});
    mv_arena *arena = mvt_arena(s->trace);
    s->lives = mvt_lives(arena, mvt_done(s->trace), 0);
    s->random = seed;
    /* The times repeat, leap, and sometimes decrease. */
    mv_events *e = &s->lives.events;
    uint64_t *random = &s->random;
    int64_t at = 1000000;
    for (uint32_t i = 0; i < e->count; i++) {
        at += mvt_random(random, 4) == 0 ? mvt_random(random, 5000) : mvt_random(random, 2);
        e->time_us[i] = mvt_random(random, 20) == 0 ? at - 3 : at;
    }
    mvt_ok(mv_index_make(arena, &s->lives, MV_INDEX_ALLOCATED, &s->index, mvt_err()));
    mvt_ok(mv_drawn_all(arena, &s->index, &s->drawn, mvt_err()));
    mvt_ok(mv_timescale_make(arena, &s->index, clock, &s->drawn.slides, &s->scale, mvt_err()));
    cr_assert_eq(s->scale.clock, clock);
}

static void each_stand(void (*check)(stand *s))
{
    for (uint32_t seed = 1; seed <= 6; seed++)
        for (mv_clock clock = MV_CLOCK_EVENTS; clock < MV_CLOCKS; clock++) {
            stand s;
            open_stand(&s, seed, clock);
            check(&s);
        }
}

/* A test that does only this. */
#define EachStand(test, check) \
    Test(viewport, test)       \
    {                          \
        each_stand(check);     \
    }                          \
    struct each_stand

/* In [0, 1). */
static double share(stand *s)
{
    return mvt_random(&s->random, 1u << 31) / 2147483648.0;
}

static double random_event(stand *s)
{
    return share(s) * s->scale.events;
}

static mv_stretch random_window(stand *s)
{
    double a = random_event(s), b = random_event(s);

    return mv_stretch_valid(&s->scale, (mv_stretch){fmin(a, b), fmax(a, b)});
}

static void check_places(stand *s)
{
    double last = 0;

    for (uint32_t i = 0; i <= 4 * s->scale.events; i++) {
        double event = i / 4.0, place = mv_stretch_place(&s->scale, event);
        cr_assert_geq(place, last);
        last = place;
    }
    for (int i = 0; i < 400; i++) {
        double place = share(s) * s->scale.length;
        double event = mv_stretch_event(&s->scale, place);
        cr_assert(event >= 0 && event <= s->scale.events);
        if (place >= mv_timescale_at(&s->scale, 0))
            cr_assert_float_eq(mv_stretch_place(&s->scale, event), place, 1e-6);
    }
}

EachStand(places_and_events_are_each_others_inverse, check_places);

static void check_zoom(stand *s)
{
    for (int i = 0; i < 200; i++) {
        mv_stretch w = random_window(s);
        double x = share(s), factor = exp2(share(s) * 6 - 3);
        mv_stretch z = mv_stretch_zoom(&s->scale, w, x, factor);
        double x0 = mv_stretch_place(&s->scale, w.from), x1 = mv_stretch_place(&s->scale, w.to);
        double z0 = mv_stretch_place(&s->scale, z.from), z1 = mv_stretch_place(&s->scale, z.to);
        double fixed = x0 + x * (x1 - x0);
        cr_assert(z.from >= 0 && z.to <= s->scale.events && z.from < z.to);
        if (z0 > mv_timescale_at(&s->scale, 0) + 1e-6 &&
            z1 < s->scale.length - 1e-6) /* neither end is in the way */
            cr_assert_float_eq((fixed - z0) / (z1 - z0), x, 1e-6);
    }
}

EachStand(zoom_keeps_the_place_under_the_pointer, check_zoom);

static void check_pan(stand *s)
{
    for (int i = 0; i < 200; i++) {
        mv_stretch w = random_window(s);
        mv_stretch p = mv_stretch_pan(&s->scale, w, share(s) * 4 - 2);
        double width = mv_stretch_place(&s->scale, w.to) - mv_stretch_place(&s->scale, w.from);
        double kept = mv_stretch_place(&s->scale, p.to) - mv_stretch_place(&s->scale, p.from);
        double begin = mv_timescale_at(&s->scale, 0);
        cr_assert(p.from >= 0 && p.to <= s->scale.events);
        cr_assert_leq(fabs(kept - width), begin + 1e-6);
    }
}

EachStand(pan_keeps_the_width, check_pan);

static void check_columns(stand *s)
{
    mv_stretch w = random_window(s);
    uint32_t columns = 40 + mvt_random(&s->random, 300);
    mv_viewport v = mv_viewport_make(&s->scale, (mv_box){10, 20, (float)columns, 100}, w, 0, 1000);
    mv_window shown = mv_viewport_events(&v), last = {0, 0};

    for (uint32_t c = 0; c < columns; c++) {
        mv_window moments = mv_viewport_column(&v, c);
        cr_assert(moments.first == MV_BEFORE || moments.first < moments.end);
        if (c > 0 && moments.first != MV_BEFORE)
            cr_assert(moments.first == last.end || moments.end == last.end,
                      "column %u begins at %u, the one before ends at %u", c, moments.first,
                      last.end);
        last = moments;
    }
    cr_assert_leq(abs((int)last.end - (int)shown.end), 1);
}

EachStand(columns_have_every_event, check_columns);

static void check_pixels(stand *s)
{
    mv_viewport v =
        mv_viewport_make(&s->scale, (mv_box){50, 20, 640, 480}, random_window(s), 100, 5000);

    for (float x = 50; x < 690; x += 13)
        cr_assert_float_eq(mv_viewport_x(&v, mv_viewport_event(&v, x)), x, 0.51f + 1 / (float)v.dx);
}

EachStand(pixels_lead_back, check_pixels);

Test(viewport, impossible_windows_are_corrected)
{
    static const mv_stretch odd[] = {{5, 5}, {9, 2}, {-10, -5}, {1e9, 2e9}, {NAN, NAN}, {3, NAN}};
    stand s;

    open_stand(&s, 1, MV_CLOCK_EVENTS);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        mv_stretch w = mv_stretch_valid(&s.scale, odd[i]);
        cr_assert(w.from >= 0 && w.to <= s.scale.events && w.to - w.from >= 3.99, "%zu: %g %g", i,
                  w.from, w.to);
    }
}

Test(viewport, the_top_has_room_and_seldom_changes)
{
    uint32_t changes = 0;
    double last = 0;

    for (uint64_t most = 1000; most < 2000; most++) {
        double top = mv_viewport_top(most);
        cr_assert(top > (double)most && top < (double)most * 1.12);
        changes += top != last;
        last = top;
    }
    cr_assert_leq(changes, 20);
    cr_assert_geq(mv_viewport_top(0), 1);
}
