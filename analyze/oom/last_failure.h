/* Finds out whether other settings could have let a run continue after the request that ended it.
 * It is not enough if only this request would have been served. Reports that recommend settings use
 * this check, so that they agree with the report on out-of-memory events. */
#pragma once

#include "analyze/replay/setting_trials.h"

/* Sets *out to true if the last failed request failed for lack of memory (its cause is capacity),
 * which no setting can change. Sets *out to false if nothing failed, if the replay is inconclusive,
 * or if the caller sets a limit, because then only a replay can decide. Fails only when memory or
 * row numbers run out. */
mv_code mv_last_failure_is_out_of_memory(const mv_trials *trials, const mv_sites *sites, bool *out,
                                         mv_err *err);
