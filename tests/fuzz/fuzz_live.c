/* libFuzzer target: any bytes as a live file, with all analyses of each level. A live file is
 * mostly zeros, which inputs that begin with 'c' omit (live_form.h). */
#include "analyze/levels/levels.h"
#include "analyze/totals/totals.h"
#include "parse/live/live_progress.h"
#include "parse/live/live_watch.h"
#include "parse/model/sums.h"
#include "tests/fuzz/live_form.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void find_totals(mv_arena *arena, const mv_trace *trace)
{
    mv_err err;

    if (mv_sums_check(trace, &err) != MV_OK)
        return;
    for (uint32_t i = 0; i < mv_trace_devices(trace) && i < 8; i++) {
        mv_lives lives;
        mv_totals totals;
        if ((mv_lives_find(arena, trace, i, &lives, &err) != MV_OK ||
             mv_totals_find(arena, trace, &lives, &totals, &err) != MV_OK) &&
            err.code != MV_NOMEM)
            mvt_finding("an analyzer fails", err.detail);
    }
}

static void analyze(mv_arena *arena, const mv_trace *trace)
{
    mv_level_list list = mv_levels_of(trace);
    mv_err err;

    find_totals(arena, trace);
    for (uint32_t i = 0; i < list.count; i++) {
        mv_trace level = *trace;
        if (mv_level_take_named(arena, &level, list.name[i], &err) == MV_OK)
            find_totals(arena, &level);
    }
}

static bool watch_once(mv_live_watch *watch, mv_budget *budget)
{
    mv_arena arena;
    mv_trace trace;
    mv_err err = {0};

    mv_arena_init(&arena, budget);
    bool fine = mv_live_watch_update(watch, UINT64_MAX, 1000000, &err) == MV_OK &&
                mv_live_watch_trace(watch, &arena, &trace, &err) == MV_OK;
    mv_arena_release(&arena);
    return fine;
}

static void read_again(mv_live_readers *readers, const char *path, mv_budget *budget)
{
    mv_arena arena;
    mv_trace trace;

    mv_arena_init(&arena, budget);
    if (readers && mv_live_readers_read(readers, path, UINT64_MAX, &arena, &trace)) {
        const char *why = mvt_unsound(&trace);
        if (why)
            mvt_finding("a growing file", why);
        mv_live_readers_return(readers, &arena);
    }
    mv_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length;

    if (size == 0 || data[0] != 'c')
        return mvt_one_input(data, size, mv_snapshot_read);
    uint8_t *file = mvt_live_expand((mv_span){data, size}, &length);
    if (!file)
        return 0;
    mvt_one_input(file, length, mv_snapshot_read);
    mvt_with_trace(file, length, analyze);
    /* The file is followed while it grows from its first half to its full length. */
    mv_budget budget = {.limit = (uint64_t)256 << 20};
    int fd = memfd_create("live", MFD_CLOEXEC);
    char path[64];
    mv_arena arena;
    mv_err err = {0};
    mv_live_watch *watch = NULL;
    mv_live_readers *readers = mv_live_readers_open(&budget);
    mv_live_progress progress;
    mv_arena_init(&arena, &budget);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, file, length / 2) == (ssize_t)(length / 2))
        watch = mv_live_watch_open(&arena, path, &err);
    mv_live_progress_find(path, &progress);
    read_again(readers, path, &budget);
    if (watch && watch_once(watch, &budget) &&
        pwrite(fd, file + length / 2, length - length / 2, (off_t)(length / 2)) > 0)
        watch_once(watch, &budget);
    read_again(readers, path, &budget);
    mv_live_readers_close(readers);
    mv_live_watch_close(watch);
    mv_arena_release(&arena);
    if (fd >= 0)
        close(fd);
    free(file);
    return 0;
}
