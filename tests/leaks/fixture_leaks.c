#include "tests/leaks/fixture_leaks.h"

mvt_trace *mvt_run_new(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 16 * GIB, .stack = "main:train.py:1");
    return t;
}

mv_leaks mvt_leaks_of(mv_arena *arena, const mv_trace *trace)
{
    mv_lives lives = mvt_lives(arena, trace, 0);
    mv_leaks found;

    mvt_ok(mv_leaks_find(arena, trace, &lives, &found, mvt_err()));
    return found;
}

mv_leaks mvt_leaks(mvt_trace *t)
{
    return mvt_leaks_of(mvt_arena(t), mvt_done(t));
}

mv_leaks mvt_leaks_of_run(mvt_trace *t)
{
    mvt_final_heap(t);
    return mvt_leaks(t);
}
