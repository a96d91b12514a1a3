/* Replays a file's first device with events, for bench/replay: prints one line for each replay,
 * with the minimum wall-clock milliseconds of several rounds. Reading and mv_lives_find are not
 * counted. */
#include "analyze/replay/replay.h"
#include "base/duration.h"
#include "parse/readers.h"

#include <stdio.h>

enum { ROUNDS = 5 };

static void put(const char *what, double seconds, uint32_t events)
{
    printf("  %-28s %9.2f ms %8.1f ns an event\n", what, 1e3 * seconds,
           1e9 * seconds / (events ? events : 1));
}

static bool time_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives)
{
    double best = 1e9;
    mv_replay_fidelity f;
    mv_err err;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = mv_now_us();
        double took;
        if (mv_replay_verify(arena, trace, lives, NULL, &f, &err) != MV_OK)
            return false;
        took = (double)(mv_now_us() - start) * 1e-6;
        best = took < best ? took : best;
    }
    put("verify", best, lives->events.count);
    printf("    %u of %u segment events, %u of %u addresses\n", f.segment_matched, f.segment_events,
           f.allocs_matched, f.allocs);
    return true;
}

static bool time_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const char *conf)
{
    double best = 1e9;
    mv_replay_opts opts = {0};
    mv_replay_result result;
    char why[128];
    mv_err err;

    if (!mv_alloc_conf_parse(conf, &opts.conf, why, sizeof why))
        return false;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = mv_now_us();
        double took;
        if (mv_replay_run(arena, trace, lives, opts, &result, &err) != MV_OK)
            return false;
        took = (double)(mv_now_us() - start) * 1e-6;
        best = took < best ? took : best;
    }
    put(*conf ? conf : "''", best, lives->events.count);
    return true;
}

int main(int argc, char **argv)
{
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:128",
                                        "roundup_power2_divisions:8"};
    mv_budget budget = {.limit = (uint64_t)64 << 30};
    mv_read_opts opts = {0};
    uint32_t device = 0;
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_err err;
    bool done;

    if (argc != 2) {
        fprintf(stderr, "usage: time_replay FILE\n");
        return 2;
    }
    mv_arena_init(&arena, &budget);
    if (mv_trace_read(&arena, argv[1], &opts, &trace, &err) != MV_OK) {
        fprintf(stderr, "%s: %s: %s\n", argv[1], mv_code_text(err.code), err.detail);
        return 1;
    }
    while (device + 1 < mv_trace_devices(&trace) && mv_trace_events(&trace, device).count == 0)
        device++;
    done = mv_lives_find(&arena, &trace, device, &lives, &err) == MV_OK &&
           time_verify(&arena, &trace, &lives);
    for (size_t i = 0; done && i < sizeof confs / sizeof *confs; i++)
        done = time_run(&arena, &trace, &lives, confs[i]);
    mv_arena_release(&arena);
    return done ? 0 : 1;
}
