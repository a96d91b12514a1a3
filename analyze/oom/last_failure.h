/* Whether settings could have carried a run on that ended because a request failed: one that is
 * met is not yet a run that goes on. Reports that advise settings ask here, so that they agree with
 * analyze/oom/oom.h. */
#ifndef MV_LAST_FAILURE_H
#define MV_LAST_FAILURE_H

#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

/* True: the last request that failed did so because memory was lacking (its cause is capacity), and
 * no setting helps. False also without a failure, where the replay cannot tell, and within a limit
 * that the caller gave: then only a replay can. Fails only when memory is out or rows. */
mv_code mv_last_failure_lacks_memory(const mv_trials *trials, const mv_sites *sites, bool *out,
                                     mv_err *err);

#endif
