/* Leaks of a fixture trace. */
#pragma once

#include "analyze/leaks/leaks.h"
#include "tests/fixture/fixture.h"

/* Returns the leaks of the finished trace, on device 0. */
mv_leaks mvt_leaks(mvt_trace *t);
