/* Whether other settings could have let a run continue after the request that ended it. Serving
 * only that request is not enough. Reports that advise settings use this check, so that they agree
 * with the report on out-of-memory events. */
#ifndef MV_LAST_FAILURE_H
#define MV_LAST_FAILURE_H

#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

/* True if the last failed request failed for lack of memory (its cause is capacity), so that no
 * setting helps. False if nothing failed, if the replay is inconclusive, or within a limit given by
 * the caller, where only a replay can decide. Fails only when memory or row numbers run out. */
mv_code mv_last_failure_is_out_of_memory(const mv_trials *trials, const mv_sites *sites, bool *out,
                                         mv_err *err);

#endif
