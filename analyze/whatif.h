/* What other allocator settings would have done to one device of a trace: the replay of
 * analyze/replay.h under each, what that says, and how sure it is. docs/whatif.md explains it. */
#ifndef MV_WHATIF_H
#define MV_WHATIF_H

#include "analyze/pins.h"
#include "analyze/replay.h"

/* How far the figures can be trusted. */
#define MV_TRUST_LIST(X)                                                                    \
    X(EXACT, "exact") /* complete history, every event predicted, the recorded peak met */  \
    X(HIGH, "high")   /* every event predicted, but what was before the trace is guessed */ \
    X(FAIR, "fair")   /* nearly all predicted, or sizes or a limit are not known */         \
    X(LOW, "low")     /* the recorded run is not reproduced: no advice */                   \
    X(NONE, "none")   /* no events */

typedef enum {
#define MV_TRUST_ENUM(name, text) MV_TRUST_##name,
    MV_TRUST_LIST(MV_TRUST_ENUM)
#undef MV_TRUST_ENUM
        MV_TRUST_COUNT
} mv_trust;

/* Where the limit on reserved bytes comes from. */
typedef enum {
    MV_LIMIT_NONE,
    MV_LIMIT_GIVEN,   /* by the caller */
    MV_LIMIT_REFUSALS /* the most that the recorded run ever got, since requests were refused */
} mv_limit_source;

typedef struct {
    const char *conf; /* PYTORCH_CUDA_ALLOC_CONF */
    bool is_recorded; /* the settings of the trace */
    mv_replay_result result;
    int64_t saves; /* bytes of recorded peak reserved memory; below 0: costs */
    bool fits;     /* no request failed, and those that failed in the recorded run are met */
} mv_whatif_run;

/* A line of the program whose blocks pin most of the free memory, and what if these blocks came
 * from a pool of their own. */
typedef struct {
    bool found;
    mv_pin pin;
    uint64_t stranded; /* bytes that all lines pin at that moment */
    mv_replay_result apart;
    int64_t saves;
    bool fits; /* as in mv_whatif_run */
} mv_whatif_line;

typedef struct {
    const char *setting; /* a setting; "" where the program is to change */
    const char *text;
    int64_t saves;
    mv_stack_id stack; /* of the line that is to change; MV_NO_STACK */
} mv_whatif_advice;

#define MV_MOST_WHATIF_ADVICE 4

typedef struct {
    mv_replay_fidelity fidelity;
    mv_trust trust;
    const char *trust_why; /* one sentence; never NULL */

    const char *recorded_conf;
    uint64_t recorded_reserved; /* peaks, as the trace has them */
    uint64_t recorded_allocated;
    uint64_t recorded_segment_allocs;
    uint64_t start_error; /* by how much the peak differs when the heap of before the trace is laid
                           * out anew under the recorded settings */
    uint32_t recorded_ooms;

    uint64_t limit; /* UINT64_MAX: none */
    mv_limit_source limit_source;

    bool ranked; /* runs are those of the built-in set: failures last, least reserved first */
    uint32_t run_count;
    mv_whatif_run *runs; /* [run_count] */
    mv_whatif_line line;
    uint32_t
        advice_count; /* 0 when trust is low; then `advice_none` says so, or that nothing helps */
    mv_whatif_advice advice[MV_MOST_WHATIF_ADVICE];
    const char *advice_none; /* NULL when there is advice */
} mv_whatif;

typedef struct {
    uint32_t conf_count;     /* 0: the built-in set */
    const char *const *conf; /* [conf_count] texts that mv_alloc_conf_parse takes */
    uint64_t capacity;       /* bytes of the device or the process; 0: not given */
} mv_whatif_opts;

/* O(n log n) for each run. Everything returned lives in `arena`, or is the caller's (conf). Fails
 * only for want of memory. */
mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err);

const char *mv_trust_name(mv_trust trust); /* "exact" */
const char *mv_limit_source_name(mv_limit_source source);

#endif
