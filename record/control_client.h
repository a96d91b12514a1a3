/* The other end of record/control.h: requests to the launcher of a run. */
#ifndef MV_CONTROL_CLIENT_H
#define MV_CONTROL_CLIENT_H

#include "base/arena.h"
#include "base/err.h"

/* Sends a request, a line without its end, to the launcher of the run that process `pid` belongs
 * to, or is the launcher of. *answer is its text, in `arena`. Fails with a sentence if there is no
 * launcher, or it does not answer. */
mv_code mv_control_query(mv_arena *arena, uint32_t pid, const char *line, const char **answer,
                         mv_err *err);

#endif
