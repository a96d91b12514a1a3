/* Whether other settings could have let a run continue that ended because a request failed. That a
 * setting meets the request is not enough for that. Reports that advise settings ask here, so that
 * they agree with the report on out-of-memory events. */
#ifndef MV_LAST_FAILURE_H
#define MV_LAST_FAILURE_H

#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

/* True: the last failed request failed because memory was lacking (its cause is capacity), so no
 * setting helps. False also when nothing failed, when the replay cannot tell, and within a limit
 * that the caller gave, where only a replay can tell. Fails only when memory or rows run out. */
mv_code mv_last_failure_lacks_memory(const mv_trials *trials, const mv_sites *sites, bool *out,
                                     mv_err *err);

#endif
