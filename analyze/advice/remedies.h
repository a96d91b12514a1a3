/* Finds changes that bring a run below a target for reserved memory, or that let its last failed
 * request succeed. The changes are settings, and code changes that the trace itself suggests. Each
 * change is replayed, and the cheapest changes come first. docs/whatif.md explains them.
 *
 * Changes that require knowledge of the program are not tried: dropping allocations, halving them,
 * or dividing them among ranks. */
#pragma once

#include "analyze/advice/changes.h"
#include "analyze/code/sites.h"
#include "analyze/oom/oom.h"
#include "analyze/replay/setting_trials.h"

typedef struct {
    const char *change;  /* the change as on the command line: "--recompute train.py:62:"; "": no
                          * code change */
    const mv_edit *edit; /* the code change as an edit, or NULL */
    mv_trial trial;      /* the trial of the change, which is replayed without a limit if the change
                          * does not reach the target */
    bool serves;         /* every request is served within the target */
    bool reaches;        /* `serves`, and the rest of the run after a failed request also fits */
    uint64_t spare;      /* bytes of the target left after the failed request; MV_NO_BYTES: no
                          * request failed */
    int64_t saves;       /* how many bytes less than mv_remedies.needs the run needs with this
                          * change. After a failed request, both numbers come from replays without a
                          * limit */
    uint64_t recomputed; /* number of bytes that forward passes allocate again */
    uint64_t copied;     /* number of bytes copied to the host and back */
} mv_remedy;

typedef struct {
    uint64_t target; /* 0: no target */
    bool is_of_failure;
    bool is_met;      /* the recorded settings already serve every request within the target */
    uint32_t retries; /* how often cached memory must be released for this */
    uint64_t needs;   /* bytes reserved under the recorded settings when every request is served */
    uint64_t rest;    /* further bytes that the run needs after a failed request */
    uint32_t count;
    mv_remedy *rows;     /* [count] the changes that reach the target, cheapest first, followed by
                          * the other changes, sorted by bytes */
    const char *verdict; /* the result in a few words: "no setting will do; --recompute ... saves
                          * 3.10 GiB"; never NULL */
} mv_remedies;

typedef struct {
    uint64_t target;       /* target in bytes; 0: the limit that refused the last failed request */
    const mv_oom *failure; /* the last failed request; NULL: taken from the trace */
    uint64_t steps;        /* maximum number of steps for all replays together; 0:
                            * mv_replay_most_work. If a maximum is given, only the first row has
                            * `saves`, and changes that do not serve every request are not replayed
                            * again */
} mv_remedies_opts;

/* Finds the changes with at most 80 replays. All results are in `arena`. Fails only when out of
 * memory. */
mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_remedies_opts opts, mv_remedies *out,
                         mv_err *err);

/* Returns the name of the option or settings: "--cpu train.py:62", "expandable_segments:True", "the
 * default settings". */
const char *mv_remedy_name(const mv_remedy *remedy);
