/* Figures and phrases about a trial, as reports show them. */
#include "analyze/replay/setting_trials.h"

#include "base/names.h"

MV_NAMES(mv_trust_name, mv_trust, MV_TRUST_LIST, MV_SECOND, "")

const char *mv_limit_source_name(mv_limit_source source)
{
    static const char *const names[] = {"none", "given", "refused_requests"};

    return names[source];
}

mv_replay_result mv_trials_figures(const mv_trials *trials, const mv_trial *trial)
{
    mv_replay_result result = trial->result;

    if (!trials->unexplained || trials->limit_source == MV_LIMIT_GIVEN || !trial->is_recorded ||
        trial->is_changed)
        return result;
    result.peak.reserved = trials->recorded_reserved;
    result.peak.allocated = trials->recorded_allocated;
    result.counts.segment_allocs = trials->recorded_segment_allocs;
    result.counts.segment_frees = trials->recorded_segment_frees;
    result.counts.ooms = trials->recorded_ooms;
    result.first_oom = trials->recorded_first_oom;
    return result;
}
