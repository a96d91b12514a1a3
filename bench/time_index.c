/* Times the index of a file's first device with events, for bench/index: prints one JSON object.
 * Reports the minimum CPU time of several rounds, so that other load does not count. Everything
 * runs in one thread. Reading is not counted. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "parse/readers.h"
#include "viz/core/drawn_rows.h"

enum { ROUNDS = 3, MOMENTS = 1000 };

typedef struct {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    uint32_t device;
    mv_lives lives;
    mv_index index;
    uint64_t random;
} timing;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t below(timing *t, uint32_t limit)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((t->random >> 32) * limit >> 32);
}

static bool time_lives(timing *t, mv_err *err)
{
    double best = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        mv_arena arena;
        double start, took;
        mv_arena_init(&arena, &t->budget);
        start = seconds_now();
        if (mv_lives_find(&arena, &t->trace, t->device, &t->lives, err) != MV_OK)
            return false;
        took = seconds_now() - start;
        best = took < best ? took : best;
        if (i + 1 < ROUNDS)
            mv_arena_release(&arena);
    }
    printf("\"rows\": %u, \"lives_ms\": %.1f, ", t->lives.allocs.count, 1e3 * best);
    return true;
}

static bool time_make(timing *t, mv_err *err)
{
    double best = 1e9;
    uint64_t bytes = 0;

    for (int i = 0; i < ROUNDS; i++) {
        mv_arena arena;
        double start, took;
        mv_arena_init(&arena, &t->budget);
        bytes = t->budget.used;
        start = seconds_now();
        if (mv_index_make(&arena, &t->lives, MV_INDEX_ALLOCATED, &t->index, err) != MV_OK)
            return false;
        took = seconds_now() - start;
        bytes = t->budget.used - bytes;
        best = took < best ? took : best;
        if (i + 1 < ROUNDS)
            mv_arena_release(&arena);
    }
    printf("\"index_ms\": %.1f, \"index_bytes_per_event\": %.2f, ", 1e3 * best,
           (double)bytes / t->lives.events.count);
    return true;
}

static bool time_live_sets(timing *t, mv_err *err)
{
    double start = seconds_now();
    uint64_t rows = 0;

    for (int i = 0; i < MOMENTS; i++) {
        mv_arena arena;
        mv_alive found;
        mv_arena_init(&arena, &t->budget);
        if (mv_index_alive(&arena, &t->index, below(t, t->index.events), &found, err) != MV_OK)
            return false;
        rows += found.count;
        mv_arena_release(&arena);
    }
    printf("\"mean_live\": %.0f, \"live_set_us\": %.1f", (double)rows / MOMENTS,
           1e6 * (seconds_now() - start) / MOMENTS);
    return true;
}

/* Draws all rows. */
static bool time_drawn(timing *t, mv_err *err)
{
    double start = seconds_now();
    uint64_t bytes = t->budget.used;
    mv_drawn drawn;

    if (mv_drawn_all(&t->arena, &t->index, &drawn, err) != MV_OK)
        return false;
    printf(", \"drawn_ms\": %.1f, \"drawn_bytes_per_event\": %.2f", 1e3 * (seconds_now() - start),
           (double)(t->budget.used - bytes) / t->index.events);
    return true;
}

int main(int argc, char **argv)
{
    static timing t = {.budget.limit = (uint64_t)64 << 30, .random = 1};
    mv_read_opts opts = {0};
    mv_err err = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: time_index FILE\n");
        return 2;
    }
    mv_arena_init(&t.arena, &t.budget);
    if (mv_trace_read(&t.arena, argv[1], &opts, &t.trace, &err) == MV_OK) {
        while (t.device + 1 < mv_trace_devices(&t.trace) &&
               mv_trace_events(&t.trace, t.device).count == 0)
            t.device++;
        printf("{\"events\": %u, ", mv_trace_events(&t.trace, t.device).count);
        if (time_lives(&t, &err) && time_make(&t, &err) && time_live_sets(&t, &err) &&
            time_drawn(&t, &err))
            printf("}\n");
    }
    if (err.code != MV_OK)
        fprintf(stderr, "%s: %s: %s\n", argv[1], mv_code_text(err.code), err.detail);
    return err.code != MV_OK;
}
