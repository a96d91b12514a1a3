#include "tests/oom/fixture_oom.h"

mv_ooms mvt_ooms_within(mv_arena *arena, const mv_trace *trace, const mv_lives *lives)
{
    mv_sites sites;
    mv_ooms found;

    mvt_ok(mv_sites_find(arena, trace, &sites, mvt_err()));
    mvt_ok(mv_ooms_find(arena, trace, lives, &sites, MV_ALL_EVENTS, &found, mvt_err()));
    return found;
}

mv_ooms mvt_ooms_of(mv_arena *arena, const mv_trace *trace)
{
    mv_lives lives = mvt_lives(arena, trace, 0);

    return mvt_ooms_within(arena, trace, &lives);
}

mv_ooms mvt_ooms(mvt_trace *t)
{
    mvt_final_heap(t);
    return mvt_ooms_of(mvt_arena(t), mvt_done(t));
}
