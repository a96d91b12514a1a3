/* Leaks of a trace. */
#pragma once

#include "analyze/leaks/leaks.h"
#include "tests/fixture/fixture.h"

/* Returns a run with one segment of 16 GiB at 0x10000000, in which its blocks lie. */
mvt_trace *mvt_run_new(void);

/* Returns the leaks on device 0: of any trace, of a fixture trace, or of one whose final heap follows
 * from its events. */
mv_leaks mvt_leaks_of(mv_arena *arena, const mv_trace *trace);
mv_leaks mvt_leaks(mvt_trace *t);
mv_leaks mvt_leaks_of_run(mvt_trace *t);
