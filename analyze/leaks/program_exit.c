#include "analyze/leaks/program_exit.h"

enum {
    EXIT_ALLOCS = 8,   /* number of allocations allowed during the exit, since handlers may send a
                        * last message or wait at a barrier */
    FREES_AN_ALLOC = 8 /* minimum number of frees per allocation */
};

uint32_t mv_exit_event(const mv_trace *trace, const mv_lives *lives)
{
    const mv_events *e = &lives->events;
    uint32_t exit = e->count, allocs = 0, frees = 0;

    if (lives->has_later_events || !mv_trace_is_captured(trace) || !mv_fact_find(trace, "end_us"))
        return e->count;
    for (uint32_t i = e->count; i-- > 0 && allocs <= EXIT_ALLOCS;) {
        allocs += e->action[i] == MV_ACTION_ALLOC;
        frees += e->action[i] == MV_ACTION_FREE_REQUESTED;
        if (frees > 0 && allocs <= EXIT_ALLOCS && (uint64_t)allocs * FREES_AN_ALLOC <= frees)
            exit = i;
    }
    return exit;
}

/* Copies `ends`, with every free at or after `exit` replaced by MV_NEVER. */
static uint32_t *without_ends(mv_arena *arena, const uint32_t *ends, uint32_t count, uint32_t exit)
{
    uint32_t *copy = mv_push_array(arena, uint32_t, count);

    for (uint32_t i = 0; copy && i < count; i++)
        copy[i] = ends[i] >= exit ? MV_NEVER : ends[i];
    return copy;
}

mv_code mv_lives_before_exit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_lives *out, mv_err *err)
{
    uint32_t exit = mv_exit_event(trace, lives);
    mv_alloc_lives *a = &out->allocs;

    *out = *lives;
    if (exit == lives->events.count)
        return MV_OK;
    a->freed = without_ends(arena, lives->allocs.freed, a->count, exit);
    a->completed = without_ends(arena, lives->allocs.completed, a->count, exit);
    if (!a->freed || !a->completed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u allocations", a->count);
    return MV_OK;
}
