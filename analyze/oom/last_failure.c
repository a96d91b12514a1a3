#include "analyze/oom/last_failure.h"

#include "analyze/oom/oom.h"

mv_code mv_last_failure_is_out_of_memory(const mv_trials *trials, const mv_sites *sites, bool *out,
                                         mv_err *err)
{
    mv_window window = {0, trials->end};
    mv_oom last;
    bool found;

    *out = false;
    if (!mv_trials_are_conclusive(trials) || trials->recorded_ooms == 0 ||
        trials->limit_source == MV_LIMIT_GIVEN)
        return MV_OK;
    if (mv_oom_last_find(trials->arena, trials->trace, trials->lives, sites, window, &last, &found,
                         err) != MV_OK)
        return err->code;
    *out = found && last.verdict == MV_OOM_CAPACITY;
    return MV_OK;
}
