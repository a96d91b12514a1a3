/* Times the computations of the viewer's timeline for a file's first device with events: prints one
 * JSON object (docs/internals/tiles.md). Measures CPU time, so that other load does not count. The
 * time for reading the file and for finding lives is not included. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "parse/readers.h"
#include "viz/core/drawn_rows.h"
#include "viz/core/hit_test.h"
#include "viz/core/tile_maker.h"

enum { TILES = 100, FRAMES = 900, HITS = 2000, SCREEN = 2048, HEIGHT = 900 };

typedef struct {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_index index;
    mv_pyramid pyramid;
    mv_drawn drawn;
    mv_timescale scale;
    mv_tile_subject subject;
    mv_tile_maker maker;
    mv_pyramid_reader levels;
    uint32_t *ids, *pixels;
    mv_tile last;
    double dy;
    uint64_t random;
} timing;

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Returns a random number from 0 to 1. */
static double some(timing *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(t->random >> 33) / 0x1p31;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_times(const char *name, double *ms, uint32_t count)
{
    qsort(ms, count, sizeof *ms, by_size);
    printf(", \"%s\": {\"p50\": %.3f, \"p99\": %.3f}", name, ms[count / 2], ms[count * 99 / 100]);
}

static void time_tiles(timing *t, mv_clock clock, double dx)
{
    static const _Atomic bool stop;
    double ms[TILES], tiles = t->scale.length / dx / MV_TILE_COLUMNS;
    char name[64];

    for (int i = 0; i < TILES; i++) {
        mv_tile tile = {.dx = dx, .dy = t->dy, .kx = (uint64_t)(tiles * some(t)), .ids = t->ids};
        double start = cpu_ms();
        tile.rows = mv_tile_rows(&t->levels, &t->subject, &tile);
        tile.spikes = t->ids + MV_TILE_COLUMNS * tile.rows;
        if (!mv_tile_make(&t->maker, &t->subject, &tile, 1, &stop, t->ids,
                          t->ids + MV_TILE_COLUMNS * tile.rows))
            exit(1);
        ms[i] = cpu_ms() - start;
        t->last = tile;
    }
    snprintf(name, sizeof name, "%s_%g", clock == MV_CLOCK_EVENTS ? "events" : "ticks", dx);
    print_times(name, ms, TILES);
}

static uint32_t colour_of(const void *user, uint32_t rank)
{
    (void)user;
    return rank * 0x9e3779b9u;
}

/* Colours the last tile this many times. */
static void time_colours(timing *t, const mv_tile *tile)
{
    mv_tile_paint paint = {.colour = colour_of};
    double ms[TILES];

    for (int i = 0; i < TILES; i++) {
        double start = cpu_ms();
        mv_tile_colour(tile, &paint, t->pixels);
        ms[i] = cpu_ms() - start;
    }
    print_times("colours", ms, TILES);
}

static void time_hits(timing *t, bool is_near)
{
    double *ms = malloc(HITS * sizeof *ms), x = 0;
    mv_column_stack stack;
    mv_err err;

    if (!ms || mv_column_stack_init(&t->arena, &t->index, NULL, &stack, &err) != MV_OK)
        exit(1);
    for (int i = 0; i < HITS; i++) {
        mv_tile_view v = {.subject = t->subject,
                          .dx = t->scale.length / SCREEN,
                          .dy = t->dy,
                          .width = SCREEN,
                          .height = HEIGHT};
        double start = cpu_ms(), px;
        mv_tile_point p;
        x = is_near ? fabs(fmod(x + (some(t) - 0.4) * 10 / SCREEN, 1)) : some(t);
        px = x * SCREEN;
        p = mv_tile_point_at(&v, &t->levels, px, HEIGHT - 1 - some(t) * HEIGHT / 2);
        (void)mv_hit_find(&stack, p.instant, p.byte, p.low, p.high);
        ms[i] = cpu_ms() - start;
    }
    print_times(is_near ? "hit_near" : "hit_anywhere", ms, HITS);
    free(ms);
}

static void time_envelope(timing *t)
{
    double ms[TILES];

    for (int i = 0; i < TILES; i++) {
        double zoom = exp2(some(t) * 12), span = t->scale.length / zoom;
        double from = (t->scale.length - span) * some(t), start = cpu_ms();
        uint64_t sum = 0;
        uint32_t width = (uint32_t)(span / 2000), first = mv_pyramid_cut((uint32_t)from, width);
        for (int c = 1; c <= 2000; c++) {
            uint32_t end = mv_pyramid_cut((uint32_t)(from + span * c / 2000), width);
            sum += mv_pyramid_range(&t->levels, first - 1, end).most.allocated;
            first = end;
        }
        ms[i] = cpu_ms() - start + (sum == 1);
    }
    print_times("envelope_2000", ms, TILES);
}

/* Measures the user interface's time per frame while zooming and panning; workers are not
 * included. */
static void time_frames(timing *t)
{
    mv_tiles *tiles = mv_tiles_open(&t->arena, &(mv_tiles_opts){.threads = mv_tiles_threads()});
    double *ms = malloc(FRAMES * sizeof *ms);

    if (!tiles || !ms)
        exit(1);
    for (int i = 0; i < FRAMES; i++) {
        mv_tile_view v = {.subject = t->subject, .dy = t->dy, .width = 1600, .height = HEIGHT};
        double start;
        v.dx = t->scale.length / v.width / exp2(6 - 6 * cos(i / 30 * 0.4));
        v.x = (t->scale.length - v.dx * v.width) * (0.5 + 0.4 * sin(i * 0.002));
        v.is_zooming = i % 30 < 5;
        start = cpu_ms();
        mv_tiles_frame(tiles, &v, (uint64_t)i + 1);
        ms[i] = cpu_ms() - start;
        usleep(4000);
    }
    print_times("frame", ms, FRAMES);
    mv_tiles_close(tiles);
    free(ms);
}

static bool prepare(timing *t, const char *path, mv_err *err)
{
    mv_read_opts opts = {0};
    uint32_t device = 0;
    double start;

    if (mv_trace_read(&t->arena, path, &opts, &t->trace, err) != MV_OK)
        return false;
    while (device + 1 < mv_trace_devices(&t->trace) &&
           mv_trace_events(&t->trace, device).count == 0)
        device++;
    if (mv_lives_find(&t->arena, &t->trace, device, &t->lives, err) != MV_OK ||
        mv_index_make(&t->arena, &t->lives, MV_INDEX_ALLOCATED, &t->index, err) != MV_OK ||
        mv_drawn_all(&t->arena, &t->index, &t->drawn, err) != MV_OK)
        return false;
    printf("{\"events\": %u", t->index.events);
    start = cpu_ms();
    if (mv_pyramid_find(&t->arena, &t->lives, &t->pyramid, err) != MV_OK)
        return false;
    printf(", \"pyramid_ms\": %.1f", cpu_ms() - start);
    mv_pyramid_reader_init(&t->levels, &t->pyramid);
    mv_tile_maker_init(&t->maker, (uint64_t)8 << 30);
    t->ids = mv_push_array(&t->arena, uint32_t, MV_TILE_COLUMNS * (MV_TILE_ROWS + 1));
    t->pixels = mv_push_array(&t->arena, uint32_t, MV_TILE_COLUMNS * MV_TILE_ROWS);
    t->dy =
        (double)mv_pyramid_range(&t->levels, MV_BEFORE, t->index.events).most.allocated / HEIGHT;
    return t->ids && t->pixels && t->dy > 0;
}

int main(int argc, char **argv)
{
    static timing t = {.budget.limit = (uint64_t)64 << 30, .random = 1};
    static const double widths[] = {0.125, 1, 4, 16, 64, 256, 1024, 4096};
    mv_err err = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: time_tiles FILE\n");
        return 2;
    }
    mv_arena_init(&t.arena, &t.budget);
    if (prepare(&t, argv[1], &err)) {
        for (int clock = 0; clock < 3; clock += MV_CLOCK_TICKS) {
            if (mv_timescale_make(&t.arena, &t.index, (mv_clock)clock, &t.drawn.slides, &t.scale,
                                  &err) != MV_OK)
                break;
            t.subject = (mv_tile_subject){1, &t.index, &t.pyramid, &t.scale, NULL};
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
                if (widths[i] * SCREEN < t.scale.length)
                    time_tiles(&t, (mv_clock)clock, widths[i]);
            time_tiles(&t, (mv_clock)clock, t.scale.length / SCREEN);
        }
        time_colours(&t, &t.last);
        time_hits(&t, false);
        time_hits(&t, true);
        time_envelope(&t);
        time_frames(&t);
        printf("}\n");
    }
    if (err.code != MV_OK)
        fprintf(stderr, "%s: %s: %s\n", argv[1], mv_code_text(err.code), err.detail);
    return err.code != MV_OK;
}
