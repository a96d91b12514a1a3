/* The client of record/control.h, which sends requests to the launcher of a run. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* Sends a request, one line without its line end, to the launcher of a run. `pid` is the launcher
 * or any process of the run. *answer is set to the answer, in `arena`. Fails with a sentence if
 * there is no launcher or the launcher does not answer. */
mv_code mv_control_query(mv_arena *arena, uint32_t pid, const char *line, const char **answer,
                         mv_err *err);
