/* What a run would have needed after a request that failed: see mv_oom_outlook. */
#ifndef MV_OOM_OUTLOOK_H
#define MV_OOM_OUTLOOK_H

#include "analyze/oom/oom.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    const mv_block_rules *rules;
    mv_steps steps;
    const uint64_t *most; /* [events] the most ever allocated, after each event */
    uint64_t before; /* bytes that may have been allocated before the trace begins: 0 if it begins
                      * with the run */
} mv_oom_prospect;

/* Fills the forecast and the rise. `steps` are those up to the failure. */
mv_code mv_oom_forecast(const mv_oom_prospect *p, const mv_steps *steps, mv_oom *oom, mv_err *err);

/* Fills what expandable segments would have done, unless they were already on. */
mv_code mv_oom_try_expandable(const mv_oom_prospect *p, mv_oom *oom, mv_err *err);

/* Fills what leaks held. *steps receives the steps up to the failure. Later events do not count. */
mv_code mv_oom_find_leak(const mv_oom_prospect *p, mv_oom *oom, mv_steps *steps, mv_err *err);

#endif
