#include "tests/leak_cuts.h"

#include <string.h>

#include "analyze/lives_window.h"

/* In this step that keeps a block, a leak must be named. */
#define DUE_STEP 6

/* The birth of the first block that the first leak keeps in its sixth step; blocks of a site that
 * are in the leak's group have its culprit. */
static uint32_t due_event(const mv_trace *trace, const mv_lives *lives, const mv_leaks *found)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t steps = 0, latest = MV_NEVER;

    if (found->leaks[0].kind == MV_LEAK_GROWING_BLOCK)
        return lives->events.count - 1;
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        mv_leak of_row = {.stack = a->stack[i], .culprit = found->leaks[0].culprit};
        uint32_t bin = mv_steps_bin(&found->steps, a->birth[i]);
        char own[200], wanted[200];

        if (!found->is_leaked[i] || bin == latest)
            continue;
        of_row.culprit = (mv_frame_id){MV_NO_ROW};
        mv_leak_label(trace, NULL, &found->leaks[0], wanted, sizeof wanted);
        mv_leak_label(trace, NULL, &of_row, own, sizeof own);
        if (found->leaks[0].lines == 1 && strcmp(own, wanted) != 0)
            continue;
        latest = bin;
        if (++steps == DUE_STEP)
            return a->birth[i];
    }
    return lives->events.count - 1;
}

/* Whether the whole recording names that line as well. A graph is made by many lines, of which the
 * first to be judged may be any. */
static bool is_known(const mvt_leak_cuts *out, const char *label)
{
    if (out->is_graph)
        return true;
    for (uint32_t i = 0; i < out->labels; i++)
        if (strcmp(label, out->label[i]) == 0)
            return true;
    return false;
}

static mv_code judge(mv_budget *budget, const mv_trace *trace, const mv_lives *whole, uint32_t end,
                     FILE *log, mvt_leak_cuts *out, mv_err *err)
{
    mv_arena arena;
    mv_lives lives;
    mv_leaks found;
    char label[sizeof *out->label];

    mv_arena_init(&arena, budget);
    if (mv_lives_within(&arena, whole, (mv_window){0, end}, &lives, err) == MV_OK &&
        mv_leaks_find(&arena, trace, &lives, &found, err) == MV_OK) {
        bool is_leak = found.verdict == MV_VERDICT_LEAK;

        snprintf(label, sizeof label, "-");
        if (found.count > 0)
            mv_leak_label(trace, NULL, &found.leaks[0], label, sizeof label);
        out->cuts++;
        out->leak += is_leak;
        out->clean += found.verdict == MV_VERDICT_CLEAN;
        out->unknown += found.verdict == MV_VERDICT_UNKNOWN;
        if (is_leak && out->first_leak == MV_NEVER)
            out->first_leak = end;
        if (end > out->due) {
            out->cuts_due++;
            out->missed += !is_leak;
            out->misnamed += is_leak && !is_known(out, label);
        }
        if (log)
            fprintf(log, "%u\t%u\t%s\t%u\t%s\t%llu\t%u\t%s\t%s\n", whole->device, end,
                    mv_leak_verdict_name(found.verdict), found.steps.count,
                    mv_steps_source_name(found.steps.source),
                    (unsigned long long)found.leaked_bytes,
                    found.count > 0 ? found.leaks[0].blocks : 0, label, found.why);
    }
    mv_arena_release(&arena);
    return err->code;
}

static mv_code judge_all(mv_arena *arena, mv_budget *budget, const mv_trace *trace, uint32_t device,
                         uint32_t cuts, FILE *log, mvt_leak_cuts *out, mv_err *err)
{
    mv_lives lives;
    mv_leaks found;
    uint64_t events;

    if (mv_lives_find(arena, trace, device, &lives, err) != MV_OK ||
        mv_leaks_find(arena, trace, &lives, &found, err) != MV_OK)
        return err->code;
    events = lives.events.count;
    out->verdict = found.verdict;
    for (uint32_t i = 0; i < found.count && i < MVT_LEAK_LABELS; i++)
        mv_leak_label(trace, NULL, &found.leaks[i], out->label[out->labels++], sizeof *out->label);
    if (found.count > 0) {
        out->is_graph = found.leaks[0].lines > 1;
        out->due = due_event(trace, &lives, &found);
    }
    for (uint32_t c = 1; c <= cuts && err->code == MV_OK; c++)
        if (events * c / cuts > events * (c - 1) / cuts)
            judge(budget, trace, &lives, (uint32_t)(events * c / cuts), log, out, err);
    return err->code;
}

mv_code mvt_leak_cuts_find(mv_budget *budget, const mv_trace *trace, uint32_t device, uint32_t cuts,
                           FILE *log, mvt_leak_cuts *out, mv_err *err)
{
    mv_arena arena;

    *out = (mvt_leak_cuts){.due = MV_NEVER, .first_leak = MV_NEVER};
    *err = (mv_err){0};
    mv_arena_init(&arena, budget);
    judge_all(&arena, budget, trace, device, cuts, log, out, err);
    mv_arena_release(&arena);
    return err->code;
}
