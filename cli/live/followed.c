#include "cli/live/followed.h"

#include <time.h>

#include "analyze/leaks/leak_words.h"
#include "cli/input/input.h"
#include "parse/model/sums.h"

/* The pause after a verdict is JUDGE_SHARE times as long as finding the verdict took, so that
 * verdicts use at most a twentieth of one CPU. A verdict is found again once a fraction of 1 /
 * NEW_SHARE of its records is new. All verdicts together therefore read each record at most 33
 * times. */
enum { JUDGE_SHARE = 19, NEW_SHARE = 32, WHY = 600 };

/* CLOCK_MONOTONIC. */
static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the verdict ------------------------------------------------------------------------- */

mv_code mv_judge(mv_arena *arena, mv_arena *why_arena, const mv_trace *trace, const mv_lives *lives,
                 mv_judged *out, mv_err *err)
{
    char why[WHY];
    mv_leaks leaks;

    if (mv_leaks_find(arena, trace, lives, &leaks, err) != MV_OK)
        return err->code;
    *out = (mv_judged){.verdict = leaks.verdict};
    if (leaks.verdict == MV_VERDICT_UNKNOWN && *leaks.why) {
        mv_leaks_why(&leaks, why, sizeof why);
        out->why = mv_arena_text(why_arena, why, strlen(why));
    }
    return MV_OK;
}

static bool judge_device(mv_arena *arena, mv_followed *f, const mv_trace *trace, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_lives lives;

    return mv_lives_find(arena, trace, device, &lives, &err) == MV_OK &&
           mv_judge(arena, &f->judged_arena, trace, &lives, &f->judged[device], &err) == MV_OK;
}

static uint64_t count_rows(const mv_trace *read)
{
    uint64_t rows = (uint64_t)read->api_calls.count + read->heap_calls.count;

    for (uint32_t i = 0; i < read->device_count; i++)
        rows += read->devices[i].events.count;
    return rows;
}

/* Reads the whole recording and finds the verdicts. If that fails, they stay unknown. */
static void judge(mv_cli *cli, mv_followed *f, const char *path)
{
    int64_t start_ms = now_ms();
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_trace read, trace;
    mv_arena arena;

    mv_arena_init(&arena, &cli->budget);
    mv_arena_release(&f->judged_arena);
    mv_arena_init(&f->judged_arena, &cli->budget);
    f->judged_count = 0;
    f->judged_rows = 0;
    f->level = NULL;
    if (mv_input_read_levels(cli, &arena, path, &read, &trace, &err) == MV_OK) {
        if (trace.origin.level)
            f->level =
                mv_arena_text(&f->judged_arena, trace.origin.level, strlen(trace.origin.level));
        f->judged_rows = count_rows(&read);
        f->judged = mv_push_array(&f->judged_arena, mv_judged, trace.device_count + 1);
        for (; f->judged && f->judged_count < trace.device_count; f->judged_count++)
            if (!judge_device(&arena, f, &trace, f->judged_count))
                break;
    }
    mv_arena_release(&arena);
    f->judged_found = f->judged_count ? f->state.found : UINT64_MAX;
    f->judged_ms = now_ms();
    f->next_ms = f->judged_ms + (f->judged_ms - start_ms) * JUDGE_SHARE;
}

/* Whether the verdicts must be found again, because there are enough new records. If there are
 * fewer records than before, the file was replaced, and its verdicts must be found again too. */
static bool has_grown(const mv_followed *f)
{
    return f->judged_ms == 0 || f->judged_found > f->state.found ||
           f->state.found - f->judged_found > f->judged_rows / NEW_SHARE;
}

mv_judged mv_followed_judged(const mv_followed *f, uint32_t device)
{
    return device < f->judged_count
               ? f->judged[device]
               : (mv_judged){MV_VERDICT_UNKNOWN, "the search for leaks has not finished yet"};
}

/* ---- what is alive ----------------------------------------------------------------------- */

static bool update(mv_followed *f, const char *path, int64_t span_us)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    int64_t now_us = now_ms() * 1000;

    if (!f->watch)
        f->watch = mv_live_watch_open(&f->arena, path, &err);
    if (f->watch &&
        mv_live_watch_update(f->watch, (uint64_t)now_us, (uint64_t)span_us, &err) == MV_OK)
        f->state = mv_live_watch_status(f->watch);
    else
        f->is_off = true;
    f->is_off = f->is_off || f->state.has_ended;
    return !f->is_off;
}

static bool make_trace(mv_cli *cli, mv_followed *f, mv_trace *trace)
{
    const char *level = cli->options.level;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!level && !f->state.used.blocks)
        level = f->level;
    if (mv_live_watch_trace(f->watch, &cli->arena, trace, &err) == MV_OK && level)
        mv_level_take_named(&cli->arena, trace, level, &err);
    return err.code == MV_OK && mv_sums_check(trace, &err) == MV_OK;
}

bool mv_followed_read(mv_cli *cli, mv_followed *f, const char *path, int64_t span_us,
                      mv_trace *trace)
{
    if (f->is_off)
        return false;
    if (!f->arena.budget)
        mv_arena_init(&f->arena, &cli->budget);
    if (!update(f, path, span_us)) {
        mv_followed_close(f);
        return false;
    }
    if (f->judged_ms && f->judged_found == f->state.found)
        f->judged_ms = now_ms();
    else if (now_ms() >= f->next_ms && has_grown(f))
        judge(cli, f, path);
    return make_trace(cli, f, trace);
}

bool mv_followed_has(const mv_live_used *used, const mv_trace *trace, uint32_t device)
{
    const char *level = trace->origin.level;
    uint64_t devices = trace->origin.is_heap       ? used->heaps
                       : !level                    ? used->blocks
                       : strcmp(level, "all") == 0 ? used->blocks | used->calls
                                                   : used->calls;

    return device < 64 && devices >> device & 1;
}

void mv_followed_close(mv_followed *f)
{
    mv_live_watch_close(f->watch);
    f->watch = NULL;
    mv_arena_release(&f->arena);
    mv_arena_release(&f->judged_arena);
    f->judged_count = 0;
}
