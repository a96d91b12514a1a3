/* The changes that bring a run below a target of reserved memory: settings, and changes of the code
 * that the trace itself suggests, each replayed, the cheapest first. docs/whatif.md explains them.
 *
 * Nothing is tried that needs knowledge of the program: dropping allocations, halving them, or
 * dividing them among ranks. */
#ifndef MV_REMEDIES_H
#define MV_REMEDIES_H

#include "analyze/advice/changes.h"
#include "analyze/code/sites.h"
#include "analyze/replay/setting_trials.h"

typedef struct {
    const char *change;  /* as on the command line: "--recompute train.py:62:"; "": none */
    mv_trial trial;      /* without a limit where it does not reach the target */
    bool reaches;        /* every request is served within the target */
    uint64_t recomputed; /* bytes that are allocated once more by forward passes */
    uint64_t copied;     /* bytes copied to the host and back */
} mv_remedy;

typedef struct {
    uint64_t target;
    bool is_met;      /* the recorded settings serve every request within it already */
    uint32_t retries; /* and give cached memory back so often for that */
    uint32_t count;
    mv_remedy *rows;     /* [count] those that reach it first, the cheapest first; then by bytes */
    uint64_t recorded;   /* peak of reserved memory */
    const char *verdict; /* "no setting will do; --recompute ... saves 3.10 GiB"; never NULL */
} mv_remedies;

/* At most 40 replays. Everything returned lives in `arena`. Fails only when memory is out. */
mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, uint64_t target, mv_remedies *out, mv_err *err);

#endif
