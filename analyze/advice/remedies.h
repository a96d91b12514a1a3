/* The changes that bring a run below a target of reserved memory, or that serve its last failed
 * request: settings, and changes of the code that the trace itself suggests, each replayed, the
 * cheapest first. docs/whatif.md explains them.
 *
 * Nothing is tried that needs knowledge of the program: dropping allocations, halving them, or
 * dividing them among ranks. */
#ifndef MV_REMEDIES_H
#define MV_REMEDIES_H

#include "analyze/advice/changes.h"
#include "analyze/code/sites.h"
#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

typedef struct {
    const char *change;  /* as on the command line: "--recompute train.py:62:"; "": none */
    const mv_edit *edit; /* the same; NULL: none */
    mv_trial trial;      /* without a limit where it does not reach the target */
    bool serves;         /* every request is served within the target */
    bool reaches;        /* and, for a failed request, what the run still needs fits, too */
    uint64_t spare;      /* rest of the target after the failed request; MV_NO_BYTES: none failed */
    int64_t saves;       /* of mv_remedies.needs; for a failed request both without a limit */
    uint64_t recomputed; /* bytes that are allocated once more by forward passes */
    uint64_t copied;     /* bytes copied to the host and back */
} mv_remedy;

typedef struct {
    uint64_t target; /* 0: there is none */
    bool is_of_failure;
    bool is_met;      /* the recorded settings serve every request within it already */
    uint32_t retries; /* how often they release cached memory for that */
    uint64_t needs;   /* reserved if every request is served, under the recorded settings */
    uint64_t rest;    /* of a failed request: what the run needs in addition after it */
    uint32_t tried;   /* changes that were replayed */
    uint32_t count;
    mv_remedy *rows;     /* [count] those that reach it first, the cheapest first; then by bytes */
    const char *verdict; /* "no setting will do; --recompute ... saves 3.10 GiB"; never NULL */
} mv_remedies;

typedef struct {
    uint64_t target;       /* 0: the limit that refused the last failed request */
    const mv_oom *failure; /* that request; NULL: it is looked for */
    uint64_t steps;        /* of all replays (mv_replay_most_work); with a bound, only the first row
                            * has `saves`, and those that do not serve are not replayed again; 0: as
                            * many as one trace may take */
} mv_remedies_opts;

/* At most 80 replays. Everything returned lives in `arena`. Fails only when out of memory. */
mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_remedies_opts opts, mv_remedies *out,
                         mv_err *err);

/* The option or the settings: "--cpu train.py:62", "expandable_segments:True", "the default
 * settings". */
const char *mv_remedy_name(const mv_remedy *remedy);

#endif
