/* Changes that bring a run below a target of reserved memory, or that serve its last failed
 * request: settings, and code changes that the trace itself suggests. Each is replayed; the
 * cheapest come first. docs/whatif.md explains them.
 *
 * Changes that need knowledge of the program are not tried: dropping allocations, halving them, or
 * dividing them among ranks. */
#ifndef MV_REMEDIES_H
#define MV_REMEDIES_H

#include "analyze/advice/changes.h"
#include "analyze/code/sites.h"
#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

typedef struct {
    const char *change;  /* as on the command line: "--recompute train.py:62:"; "": no
                          * code change */
    const mv_edit *edit; /* the code change as an edit, or NULL */
    mv_trial trial;      /* replayed without a limit if it does not reach the target */
    bool serves;         /* every request is served within the target */
    bool reaches;        /* also, after a failed request, what the run still needs fits */
    uint64_t spare;      /* rest of the target after the failed request; MV_NO_BYTES: no
                          * request failed */
    int64_t saves;       /* reduction of mv_remedies.needs; for a failed request, both without
                          * a limit */
    uint64_t recomputed; /* bytes that forward passes allocate again */
    uint64_t copied;     /* bytes copied to the host and back */
} mv_remedy;

typedef struct {
    uint64_t target; /* 0: no target */
    bool is_of_failure;
    bool is_met;      /* the recorded settings already serve every request within the target */
    uint32_t retries; /* number of releases of cached memory that this takes */
    uint64_t needs;   /* bytes reserved under the recorded settings if every request is served */
    uint64_t rest;    /* bytes that the run needs in addition after a failed request */
    uint32_t tried;   /* changes replayed */
    uint32_t count;
    mv_remedy *rows;     /* [count] changes that reach the target, cheapest first; then the others
                          * by bytes */
    const char *verdict; /* "no setting will do; --recompute ... saves 3.10 GiB"; never NULL */
} mv_remedies;

typedef struct {
    uint64_t target;       /* 0: the limit that refused the last failed request */
    const mv_oom *failure; /* that request; NULL: the last one is used */
    uint64_t steps;        /* steps for all replays (mv_replay_most_work); with a bound, only the
                            * first row has `saves`, and changes that do not serve are not replayed
                            * again; 0: the maximum for one trace */
} mv_remedies_opts;

/* At most 80 replays. All results are in `arena`. Fails only when out of memory. */
mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_remedies_opts opts, mv_remedies *out,
                         mv_err *err);

/* The option or settings: "--cpu train.py:62", "expandable_segments:True", "the
 * default settings". */
const char *mv_remedy_name(const mv_remedy *remedy);

#endif
