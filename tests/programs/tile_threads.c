/* Threads make tiles while a view zooms, pans and forgets tiles. This is a separate program because
 * Criterion does not start under ThreadSanitizer. The pixels must equal those made without threads,
 * and there must be no race.
 *
 *     tile_threads FILE */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "parse/readers.h"
#include "viz/core/drawn_rows.h"
#include "viz/core/tiles.h"

enum { TURNS = 240, THREADS = 3 };

typedef struct {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_index index;
    mv_pyramid pyramid;
    mv_drawn drawn;
    mv_timescale scale[3];
    double highest;
    _Atomic int wakes;
} stage;

static void wake(void *user)
{
    atomic_fetch_add(&((stage *)user)->wakes, 1);
}

static bool set(stage *s, const char *path)
{
    mv_read_opts opts = {0};
    mv_pyramid_reader levels;
    mv_err err = {0};

    mv_arena_init(&s->arena, &s->budget);
    bool done = mv_trace_read(&s->arena, path, &opts, &s->trace, &err) == MV_OK &&
                mv_lives_find(&s->arena, &s->trace, 0, &s->lives, &err) == MV_OK &&
                mv_index_make(&s->arena, &s->lives, MV_INDEX_ALLOCATED, &s->index, &err) == MV_OK &&
                mv_pyramid_find(&s->arena, &s->lives, &s->pyramid, &err) == MV_OK &&
                mv_drawn_all(&s->arena, &s->index, &s->drawn, &err) == MV_OK;
    for (int clock = 0; done && clock < 3; clock++)
        done = mv_timescale_make(&s->arena, &s->index, (mv_clock)clock, &s->drawn.slides,
                                 &s->scale[clock], &err) == MV_OK;
    if (!done)
        return false;
    mv_pyramid_reader_init(&levels, &s->pyramid);
    s->highest = (double)mv_pyramid_range(&levels, MV_BEFORE, s->index.events).most.allocated + 1;
    return true;
}

/* Zooms in and out and pans, on each clock in turn. */
static mv_tile_view view_of(const stage *s, int turn)
{
    const mv_timescale *scale = &s->scale[turn / 8 % 3];
    double zoom = exp2(6 + 6 * sin(turn * 0.05));
    mv_tile_view v = {.width = 900, .height = 300, .is_zooming = turn % 3 == 0};

    v.subject =
        (mv_tile_subject){1 + (uint64_t)(turn / 8 % 3), &s->index, &s->pyramid, scale, NULL};
    v.dx = scale->length / v.width / zoom;
    v.x = (scale->length - v.dx * v.width) * (0.5 + 0.5 * cos(turn * 0.03));
    v.dy = s->highest / v.height;
    return v;
}

static bool is_equal(const mv_tile_frame *a, const mv_tile_frame *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const mv_tile *x = a->quads[i].tile, *y = b->quads[i].tile;
        if (x->rows != y->rows || x->kx != y->kx || x->ky != y->ky ||
            memcmp(x->ids, y->ids, sizeof(uint32_t) * MV_TILE_COLUMNS * x->rows) != 0 ||
            memcmp(x->spikes, y->spikes, sizeof(uint32_t) * MV_TILE_COLUMNS) != 0)
            return false;
    }
    return true;
}

/* Waits for the view as the window does, drawing a frame after each wake-up. */
static void settle(mv_tiles *tiles, const mv_tile_view *v, uint64_t *turn, mv_tile_frame *out)
{
    while ((*out = mv_tiles_frame(tiles, v, ++*turn)).missing)
        usleep(200);
}

int main(int argc, char **argv)
{
    static stage s = {.budget.limit = (uint64_t)4 << 30};
    uint64_t turn = 0, plain_turn = 0;
    int wrong = 0;

    if (argc != 2 || !set(&s, argv[1])) {
        fprintf(stderr, "tile_threads: a snapshot that can be read, please\n");
        return 2;
    }
    mv_tiles *threaded = mv_tiles_open(&s.arena, &(mv_tiles_opts){THREADS, 8 << 20, 0, wake, &s});
    mv_tiles *plain = mv_tiles_open(&s.arena, &(mv_tiles_opts){0});
    if (!threaded || !plain)
        return 1;
    for (int i = 0; i < TURNS && !wrong; i++) {
        mv_tile_view v = view_of(&s, i);
        mv_tile_frame a = mv_tiles_frame(threaded, &v, ++turn), b;
        if (i % 50 == 49)
            mv_tiles_forget(threaded, v.subject.id);
        if (i % 12 != 11)
            continue;
        b = mv_tiles_frame(plain, &v, ++plain_turn);
        settle(threaded, &v, &turn, &a);
        wrong = !is_equal(&a, &b);
    }
    mv_tiles_close(threaded);
    mv_tiles_close(plain);
    printf("%d wakes, %s\n", atomic_load(&s.wakes),
           wrong ? "other tiles than without threads" : "fine");
    return wrong;
}
