/* Tiles, compared with a literal model that stacks every allocation one by one. Also frames, the
 * cache and its requests, and colours. */
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "tests/fixture/fixture_stack.h"
#include "viz/core/background.h"
#include "viz/core/drawn_rows.h"

typedef struct {
    mv_index index;
    mv_pyramid pyramid;
    mv_series series;
    mv_drawn drawn;
    mv_timescale scale;
    mv_tile_subject subject;
    uint64_t *heights, before;
} shown;

static void show(mv_arena *arena, const mv_lives *lives, mv_clock clock, uint64_t seed, shown *s)
{
    uint64_t *rows = NULL;

    mvt_ok(mv_index_make(arena, lives, (mv_index_measure)(seed % 3), &s->index, mvt_err()));
    mvt_ok(mv_pyramid_find(arena, lives, &s->pyramid, mvt_err()));
    mvt_ok(mv_totals_series(arena, lives, &s->series, mvt_err()));
    if (seed % 4 == 1)
        rows = mvt_random_bits(arena, s->index.count, &seed);
    mvt_ok(mv_drawn_some(arena, &s->index, rows, &s->drawn, mvt_err()));
    mvt_ok(mv_timescale_make(arena, &s->index, clock, &s->drawn.slides, &s->scale, mvt_err()));
    s->subject = (mv_tile_subject){1 + clock, &s->index, &s->pyramid, &s->scale, rows};
    s->heights = s->series.allocated;
    s->before = s->series.before.allocated;
}

/* Chooses a place on the axis, and a zoom between far out and a single event over many columns. */
static mv_tile_view some_view(const shown *s, uint64_t *random)
{
    double zoom = exp2(mvt_random(random, 160) / 10.0 - 3), peak = 1;
    mv_tile_view v = {.subject = s->subject,
                      .width = 1 + mvt_random(random, 900),
                      .height = 1 + mvt_random(random, 700)};

    v.dx = s->scale.length / v.width / zoom * 2;
    v.x = s->scale.length * (mvt_random(random, 1000) - 100) / 900;
    if (s->pyramid.levels)
        peak += (double)s->pyramid.extent[s->pyramid.levels - 1][0].most.active;
    v.dy = peak / v.height * 1.1;
    if (mvt_random(random, 3) == 0) {
        v.dy /= 1 + mvt_random(random, 20);
        v.y = peak * mvt_random(random, 1000) / 1100;
    }
    return v;
}

/* Returns what a pixel of the view shows through the quads; MV_NO_ROW: nothing. */
static uint32_t pixel_of(const mv_tile_frame *f, uint32_t px, uint32_t py)
{
    for (uint32_t i = f->count; i-- > 0;) {
        const mv_tile_quad *q = &f->quads[i];
        if ((float)px < q->x || (float)px >= q->x + q->w || (float)py < q->y ||
            (float)py >= q->y + q->h)
            continue;
        uint32_t column = (uint32_t)(q->from_x + (float)px - q->x);
        uint32_t row = q->tile->rows - 1 - (uint32_t)(q->from_y + (float)py - q->y);
        return q->tile->ids[(uint64_t)column * q->tile->rows + row];
    }
    return MV_NO_ROW;
}

static void check_views(const mv_lives *lives, uint64_t seed, int views)
{
    for (int clock = 0; clock < 3; clock++) {
        uint64_t random = seed;
        shown s;
        show(mvt_memory(), lives, (mv_clock)clock, seed + (uint64_t)clock, &s);
        mv_tiles *tiles = mv_tiles_open(mvt_memory(), &(mv_tiles_opts){.threads = 0});
        cr_assert_not_null(tiles);
        for (int i = 0; i < views; i++) {
            mv_tile_view v = some_view(&s, &random);
            mv_tile_frame f = mv_tiles_frame(tiles, &v, (uint64_t)i + 1);
            /* Every tile of a frame must equal the literal model, and the exact tiles must cover
             * the view up to the top of the stack. */
            cr_assert_eq(f.missing, 0);
            for (uint32_t j = 0; j < f.count; j++) {
                const mv_tile_quad *q = &f.quads[j];
                cr_assert(q->is_exact);
                cr_assert(q->x >= 0 && q->x + q->w <= (float)v.width && q->w == q->from_w);
                cr_assert(q->y >= 0 && q->y + q->h <= (float)v.height && q->h == q->from_h);
                cr_assert(q->x == floorf(q->x) && q->y == floorf(q->y));
                cr_assert_lt(fabs(q->tile->dx / v.dx - 1), 1e-5);
                mvt_check_tile(&s.subject, q->tile, s.heights, s.before);
            }
            /* Pointing at a pixel must find the row that the pixel shows. */
            mv_pyramid_reader levels;
            mv_pyramid_reader_init(&levels, s.subject.pyramid);
            for (int k = 0; k < 40; k++) {
                uint32_t px = mvt_random(&random, v.width), py = mvt_random(&random, v.height),
                         want;
                mv_tile_point p = mv_tile_point_at(&v, &levels, px, py);
                uint64_t offset;
                want = p.byte == MV_NO_BYTES
                           ? MV_NO_ROW
                           : mvt_row_at(&s.index, s.subject.drawn, p.instant, p.byte, &offset);
                cr_assert_eq(pixel_of(&f, px, py), want, "pixel %u, %u", px, py);
                cr_assert(p.byte == MV_NO_BYTES || (p.low <= p.byte && p.byte <= p.high));
            }
        }
        mv_tiles_close(tiles);
    }
}

/* An event with several births, or one without a row in alloc_of, belongs to no allocation. */
static bool is_plausible(const mv_lives *lives)
{
    for (uint32_t r = lives->allocs.preexisting; r < lives->allocs.count; r++)
        if (lives->alloc_of[lives->allocs.birth[r]] != r)
            return false;
    return true;
}

static void check_random(uint32_t events, bool is_plain, uint64_t first, uint64_t last, int views)
{
    uint32_t checked = 0;

    for (uint64_t seed = first; seed <= last; seed++) {
        mv_lives lives = mvt_random_lives(mvt_memory(), (mvt_lives_opts){seed, events, is_plain});
        if (is_plausible(&lives)) {
            check_views(&lives, seed, views);
            checked++;
        }
    }
    cr_assert_gt(checked, (last - first) / 8);
}

LongTest(tiles, every_pixel_of_random_tables_is_right)
{
    check_random(120, true, 1, 16, 6);
    check_random(1500, true, 17, 20, 3);
}

LongTest(tiles, every_pixel_is_right_where_rows_end_unseen)
{
    check_random(24, false, 1, 60, 4);
}

static void check_snapshot(const mv_trace *trace, uint32_t d, const char *name)
{
    mv_lives lives = mvt_lives(mvt_memory(), trace, d);
    if (lives.events.count < 7000)
        check_views(&lives, strlen(name) + d, 1);
}

EachDevice(tiles, every_pixel_of_real_snapshots_is_right, check_snapshot);

/* ---- frames ------------------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    mv_lives lives;
    shown s;
    _Atomic int wakes;
    mv_tiles *tiles;
    uint64_t turn;
} stage;

static void wake(void *user)
{
    atomic_fetch_add(&((stage *)user)->wakes, 1);
}

static void close_tiles(void *tiles)
{
    mv_tiles_close(tiles);
}

/* The stage lasts until the test ends. */
static stage *open_stage(uint32_t threads, uint64_t bytes)
{
    mv_arena *arena = mvt_arena_new();
    stage *g = mv_push_struct(arena, stage);

    *g = (stage){.arena = arena, .turn = 1};
    g->lives = mvt_random_lives(g->arena, (mvt_lives_opts){11, 6000, true});
    show(g->arena, &g->lives, MV_CLOCK_EVENTS, 3, &g->s);
    g->tiles = mv_tiles_open(g->arena, &(mv_tiles_opts){threads, bytes, 0, wake, g});
    cr_assert_not_null(g->tiles);
    mvt_at_end(close_tiles, g->tiles);
    return g;
}

static mv_tile_view whole(const stage *g)
{
    return (mv_tile_view){
        .subject = g->s.subject,
        .dx = g->s.scale.length / 1000,
        .dy = (double)g->s.pyramid.extent[g->s.pyramid.levels - 1][0].most.active / 600,
        .width = 1000,
        .height = 620};
}

/* Draws frames until nothing is missing, as an event loop does. */
static mv_tile_frame settle(stage *g, const mv_tile_view *v)
{
    mv_tile_frame f = mv_tiles_frame(g->tiles, v, g->turn++);

    while (f.missing) {
        if (!mv_tiles_run_one_task(g->tiles))
            usleep(500);
        f = mv_tiles_frame(g->tiles, v, g->turn++);
    }
    return f;
}

static void check_same_tiles(uint32_t threads)
{
    stage *a = open_stage(0, 0), *b = open_stage(threads, 0);
    uint64_t random = 5;

    for (int i = 0; i < 20; i++) {
        mv_tile_view v = some_view(&a->s, &random), w = v;
        mv_tile_frame f = settle(a, &v), h;
        w.subject = b->s.subject;
        h = settle(b, &w);
        cr_assert_eq(f.count, h.count);
        for (uint32_t q = 0; q < f.count; q++) {
            const mv_tile *x = f.quads[q].tile, *y = h.quads[q].tile;
            cr_assert(x->rows == y->rows && x->kx == y->kx && x->ky == y->ky);
            cr_assert_arr_eq(x->ids, y->ids, sizeof(uint32_t) * MV_TILE_COLUMNS * x->rows);
            cr_assert_arr_eq(x->spikes, y->spikes, sizeof(uint32_t) * MV_TILE_COLUMNS);
            cr_assert_eq(f.quads[q].x, h.quads[q].x);
            cr_assert_eq(f.quads[q].y, h.quads[q].y);
        }
    }
    mvt_end_now(b->tiles); /* a worker wakes up after it has stored its tile */
    cr_assert_gt(b->wakes, 0);
}

LongTest(tiles, threads_make_the_same_tiles)
{
    check_same_tiles(3);
}

LongTest(tiles, cooperative_tasks_make_the_same_tiles)
{
    check_same_tiles(MV_COOPERATIVE);
}

Test(tiles, without_a_task_run_no_tile_is_made)
{
    stage *g = open_stage(MV_COOPERATIVE, 0);
    mv_tile_frame f;

    mv_tile_view v = whole(g);
    for (int i = 0; i < 5; i++)
        f = mv_tiles_frame(g->tiles, &v, g->turn++);
    cr_assert_gt(f.missing, 0);
    cr_assert_not(mv_tiles_are_idle(g->tiles));
    cr_assert(mv_tiles_run_one_task(g->tiles));
}

/* Returns whether quads of one scale cover the view from end to end. The view is above the stack,
 * so it is empty. */
static bool covers_width(const mv_tile_frame *f, const mv_tile_view *v)
{
    float from = (float)v->width, to = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        from = f->quads[i].x < from ? f->quads[i].x : from;
        to = f->quads[i].x + f->quads[i].w > to ? f->quads[i].x + f->quads[i].w : to;
    }
    return from <= 0 && to >= (float)v->width - 1;
}

Test(tiles, another_scale_is_shown_until_the_tiles_are_there)
{
    stage *g = open_stage(1, 0);
    mv_tile_view v = whole(g);
    mv_tile_frame f = settle(g, &v);
    while (!mv_tiles_are_idle(g->tiles))
        usleep(500);
    v.dx /= 3;
    v.x = v.dx * 700;
    f = mv_tiles_frame(g->tiles, &v, g->turn++);
    cr_assert_gt(f.missing, 0);
    cr_assert_gt(f.count, 0);
    cr_assert(covers_width(&f, &v));
    cr_assert_not(f.quads[0].is_exact);
    f = settle(g, &v);
    for (uint32_t i = 0; i < f.count; i++)
        cr_assert(f.quads[i].is_exact);
    cr_assert(covers_width(&f, &v));
}

/* While the zoom changes, a view needs the same few scales over and over. */
static uint64_t serials_of_a_zoom(stage *g, bool is_zooming)
{
    uint64_t most = 0;

    for (int i = 0; i < 40; i++) {
        mv_tile_view v = whole(g);
        v.dx /= 1 + i * 0.01;
        v.is_zooming = is_zooming;
        mv_tile_frame f = mv_tiles_frame(g->tiles, &v, g->turn++);
        for (uint32_t q = 0; q < f.count; q++) {
            cr_assert_eq(f.quads[q].is_exact, !is_zooming);
            most = f.quads[q].tile->serial > most ? f.quads[q].tile->serial : most;
        }
    }
    return most;
}

LongTest(tiles, scales_are_few_while_zooming)
{
    stage *g = open_stage(0, 0);

    cr_assert_leq(serials_of_a_zoom(g, true), 14);
    cr_assert_gt(serials_of_a_zoom(g, false), 100);
}

Test(tiles, panning_at_one_scale_makes_only_new_tiles)
{
    stage *g = open_stage(0, 0);
    uint64_t serial = 0;

    mv_tile_view v = whole(g);
    v.dx /= 5;
    for (int i = 0; i < 400; i++) {
        mv_tile_frame f = mv_tiles_frame(g->tiles, &v, g->turn++);
        v.x += v.dx * 10 * (1 + 1e-12 * i); /* sums of rounded values */
        v.dx *= 1 + 1e-15;
        for (uint32_t q = 0; q < f.count; q++)
            serial = f.quads[q].tile->serial > serial ? f.quads[q].tile->serial : serial;
    }
    cr_assert_leq(serial, 22);
}

LongTest(tiles, memory_stays_within_its_limit)
{
    enum { LIMIT = 6 << 20 };
    stage *g = open_stage(0, LIMIT);
    uint64_t random = 9;

    for (int i = 0; i < 120; i++) {
        mv_tile_view v = some_view(&g->s, &random);
        mv_tile_frame f = mv_tiles_frame(g->tiles, &v, g->turn++);
        uint64_t bytes = 0;
        for (uint32_t q = 0; q < f.count; q++)
            bytes += (f.quads[q].tile->rows + 1ull) * MV_TILE_COLUMNS * sizeof(uint32_t);
        cr_assert_leq(bytes, LIMIT);
        cr_assert_eq(f.missing, 0);
    }
}

Test(tiles, a_view_beyond_the_limit_names_missing_parts)
{
    stage *g = open_stage(0, 1 << 20);
    mv_tile_view v = whole(g);
    mv_tile_frame f = mv_tiles_frame(g->tiles, &v, g->turn++);
    cr_assert_gt(f.missing, 0);
}

Test(tiles, sums_without_memory_fail_and_are_not_requested_again)
{
    stage *g = open_stage(0, 0);
    mv_tiles *tiles = mv_tiles_open(g->arena, &(mv_tiles_opts){.scratch = 1});
    mv_tile_view v = whole(g);
    mv_tile_frame f = mv_tiles_frame(tiles, &v, 1);
    cr_assert(f.failed > 0 && f.failed == f.missing && f.count == 0);
    f = mv_tiles_frame(tiles, &v, 2);
    cr_assert_eq(f.failed, f.missing);
    mv_tiles_close(tiles);
}

LongTest(tiles, a_forgotten_file_is_not_read_any_more)
{
    stage *g = open_stage(2, 0);

    for (int i = 0; i < 30; i++) {
        shown s;
        show(mvt_memory(), &g->lives, (mv_clock)(i % 3), (uint64_t)i, &s);
        s.subject.id = 7;
        mv_tile_view v = whole(g);
        v.subject = s.subject;
        v.dx = s.scale.length / 1000;
        mv_tiles_frame(g->tiles, &v, g->turn++);
        if (i % 2)
            settle(g, &v);
        mv_tiles_forget(g->tiles, 7);
        mv_arena_release(mvt_memory()); /* a worker that still reads it is caught by the
                                         * sanitizer */
    }
}

/* A request that no frame makes any more is dropped, unless a worker has already taken it. */
Test(tiles, requests_that_are_not_repeated_are_dropped)
{
    stage *g = open_stage(1, 0);
    mv_tile_view v;

    for (int i = 0; i < 200; i++) {
        v = whole(g);
        v.dx /= 1.5 + i;
        v.x = v.dx * 100 * i;
        mv_tiles_frame(g->tiles, &v, g->turn++);
    }
    v = whole(g);
    v.dx *= 1.1;
    settle(g, &v);
}

Test(tiles, without_events_there_are_no_rows)
{
    mv_lives lives = {.history_why = "none"};
    mv_tile_view v = {.dx = 0.01, .dy = 1, .width = 800, .height = 600};
    shown s;

    show(mvt_memory(), &lives, MV_CLOCK_TIME, 1, &s);
    cr_assert_eq(s.scale.clock, MV_CLOCK_EVENTS);
    mv_tiles *tiles = mv_tiles_open(mvt_memory(), &(mv_tiles_opts){.threads = 0});
    v.subject = s.subject;
    mv_tile_frame f = mv_tiles_frame(tiles, &v, 1);
    cr_assert(f.count == 0 && f.missing == 0);
    mv_tiles_close(tiles);
}

enum { ROWS = 24 };

static uint32_t colour_of(const void *user, uint32_t rank)
{
    (void)user;
    (void)rank;
    return 0x4080c0ff;
}

static void paint(const uint32_t column[ROWS], mv_tile_paint p, uint32_t out[ROWS])
{
    static uint32_t ids[MV_TILE_COLUMNS * ROWS], pixels[MV_TILE_COLUMNS * ROWS];
    mv_tile tile = {.rows = ROWS, .ids = ids};

    for (uint32_t c = 0; c < MV_TILE_COLUMNS; c++)
        memcpy(ids + c * ROWS, column, ROWS * sizeof *ids);
    p.colour = colour_of;
    mv_tile_colour(&tile, &p, pixels);
    for (uint32_t row = 0; row < ROWS; row++)
        out[row] = pixels[(ROWS - 1 - row) * MV_TILE_COLUMNS + 1];
}

Test(tiles, neighbours_of_one_colour_stay_apart)
{
    uint32_t column[ROWS], out[ROWS];

    /* Every height from one pixel up, for ranks that are all even. */
    for (uint32_t row = 0, rank = 0, height = 1; row < ROWS; rank += 2, height++)
        for (uint32_t i = 0; i < height && row < ROWS; i++)
            column[row++] = rank;
    paint(column, (mv_tile_paint){0}, out);
    for (uint32_t row = 1; row < ROWS; row++)
        if (column[row] != column[row - 1])
            cr_assert_neq(out[row], out[row - 1], "row %u", row);
    for (uint32_t row = 0; row < ROWS; row++)
        column[row] = row; /* ranks that are odd and even */
    paint(column, (mv_tile_paint){0}, out);
    for (uint32_t row = 1; row < ROWS; row++)
        cr_assert_neq(out[row], out[row - 1]);
}

Test(tiles, matches_and_old_rows_look_different)
{
    const uint64_t second = 2;
    uint32_t column[ROWS], plain[ROWS], out[ROWS];

    for (uint32_t row = 0; row < ROWS; row++)
        column[row] = row < 8 ? 0 : row < 16 ? 1 : MV_NO_ROW;
    paint(column, (mv_tile_paint){.empty = 0x010203ff}, plain);
    cr_assert_eq(plain[4], 0x4080c0ff);
    cr_assert_eq(plain[20], 0x010203ff);
    cr_assert_neq(plain[12], plain[4]);
    cr_assert_lt(plain[0] >> 8 & 0xff, plain[4] >> 8 & 0xff);
    paint(column, (mv_tile_paint){.matches = &second, .ground = 0xffffffff}, out);
    cr_assert_gt(out[4] >> 24, plain[4] >> 24);
    cr_assert_eq(out[12], plain[12]);
    paint(column, (mv_tile_paint){.preexisting = 1}, out);
    cr_assert_neq(out[7], plain[7]); /* column 1: the hatch is in row 7 */
    cr_assert_eq(out[6], plain[6]);
    cr_assert_eq(out[12], plain[12]);
}
