#include "tests/leaks/fixture_leaks.h"

mv_leaks mvt_leaks(mvt_trace *t)
{
    const mv_trace *trace = mvt_done(t);
    mv_leaks found;
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);

    mvt_ok(mv_leaks_find(mvt_arena(t), trace, &lives, &found, mvt_err()));
    return found;
}
