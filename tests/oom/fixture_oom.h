/* The failed requests of a trace. */
#pragma once

#include "analyze/oom/oom.h"
#include "tests/fixture/fixture.h"

/* Those within lives, on device 0, or on device 0 of a fixture trace whose final heap follows from its
 * events. */
mv_ooms mvt_ooms_within(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);
mv_ooms mvt_ooms_of(mv_arena *arena, const mv_trace *trace);
mv_ooms mvt_ooms(mvt_trace *t);
