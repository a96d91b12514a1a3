/* Finds out what a run needs after a request that failed (see mv_oom_outlook). */
#pragma once

#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

typedef enum {
    MV_TRY_LIMIT,  /* expandable segments within `limit` */
    MV_TRY_SURELY, /* expandable segments within `limit_least` */
    MV_TRY_JOINED, /* one pool and one stream for everything, with the recorded settings, within
                    * `limit` */
    MV_TRY_JOINED_SURELY, /* one pool and one stream for everything, within `limit_least` */
    MV_TRY_COUNT
} mv_oom_trial;

/* A replay within one limit, which continues from one failure to the next. */
typedef struct {
    uint64_t limit;
    mv_replay *replay; /* NULL: not started */
} mv_oom_replay;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    const mv_block_rules *rules;
    mv_steps steps;
    const uint64_t *most; /* [events] largest number of bytes allocated so far */
    uint64_t before; /* bytes that may have been allocated before the trace; 0 if the trace begins
                      * with the run */
    int64_t stepped_us;     /* time of an event before which an optimizer completed a step */
    uint64_t most_reserved; /* largest number of bytes reserved up to the failure */
    mv_trials trials;       /* trials that cover all events */
    const char *expandable; /* the complete recorded settings, with expandable segments; NULL:
                             * `trials` are not open */
    mv_oom_replay replays[MV_TRY_COUNT];
} mv_oom_prospect;

/* Sets the forecast, with its lists allocated in `arena`, and the rise. `steps` must end at the
 * failure. */
mv_code mv_oom_forecast(const mv_oom_prospect *p, mv_arena *arena, const mv_steps *steps,
                        mv_oom *oom, mv_err *err);

/* Set the results of the replays with expandable segments, unless the run already used them, and of
 * the replays with one pool and one stream for everything. The functions must be called for
 * failures in order of events; mv_oom_prospect_close ends the replays. */
mv_code mv_oom_try_expandable(mv_oom_prospect *p, mv_oom *oom, mv_err *err);
mv_code mv_oom_try_joined(mv_oom_prospect *p, mv_oom *oom, mv_err *err);
void mv_oom_prospect_close(mv_oom_prospect *p);

/* Sets the bytes that leaks held at the failure. *steps receives the steps up to the failure. Later
 * events are ignored. */
mv_code mv_oom_find_leak(const mv_oom_prospect *p, mv_oom *oom, mv_steps *steps, mv_err *err);
