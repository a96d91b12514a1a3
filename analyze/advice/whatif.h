/* The effect of other allocator settings on one device of a trace: each is tried
 * (setting_trials.h), they are ranked, and advice follows. docs/whatif.md explains it. */
#ifndef MV_WHATIF_H
#define MV_WHATIF_H

#include "analyze/advice/changes.h"
#include "analyze/advice/remedies.h"
#include "analyze/floor/floor.h"
#include "analyze/heap/pins.h"
#include "analyze/replay/setting_trials.h"

/* The line whose blocks pin most of the free memory, and the effect of a separate pool for these
 * blocks. */
typedef struct {
    bool found;
    mv_pin pin;
    uint64_t stranded; /* bytes that all lines pin at that moment */
    mv_trial apart;
} mv_whatif_line;

typedef struct {
    const char *setting; /* "" if the program should change instead */
    const char *text;
    int64_t saves;     /* of the recorded peak of reserved memory */
    int64_t gain;      /* of the need of the recorded settings within the limit, if one is given */
    mv_stack_id stack; /* of the line to change; MV_NO_STACK */
} mv_whatif_advice;

#define MV_MOST_WHATIF_ADVICE 4

typedef struct {
    mv_trials trials; /* the recorded run, and how far it can be trusted */

    bool ranked; /* runs are the built-in set: failures last, least reserved first */
    uint32_t run_count;
    mv_trial *runs;          /* [run_count] */
    mv_code_changes changes; /* of the runs that are changed */
    bool has_target;
    mv_remedies remedies; /* with a target */
    mv_whatif_line line;
    uint32_t advice_count; /* 0 when trust is low, or when nothing helps: advice_none has the
                            * reason */
    mv_whatif_advice advice[MV_MOST_WHATIF_ADVICE];
    const char *advice_none; /* NULL when there is advice */
    const char *verdict;     /* the result of the advice, in a few words; never NULL */
    mv_minimum floor;        /* the bound that no setting can beat; without a placement */
    const char *floor_line;  /* the same as a sentence without a full stop; "" */
    const char *kinds_note;  /* about segments that indicate other settings (segment_kinds.h); "" */
    uint32_t untried;        /* settings that were not replayed to the end: not among the runs */
    const char *idle_note;   /* about settings that change nothing on the device, or were left out;
                              * "" */
} mv_whatif;

typedef struct {
    uint32_t conf_count;          /* 0: the built-in set */
    const char *const *conf;      /* [conf_count] texts that mv_alloc_conf_parse takes */
    uint32_t change_count;        /* all of them make one run, also under each of `conf` */
    const mv_code_change *change; /* [change_count] for which mv_code_change_is_fine holds */
    uint64_t capacity;            /* bytes of the device or the process; 0: none */
    bool has_target;              /* the changes that reach it are looked for: */
    uint64_t target;              /* of reserved memory; 0: what the last failed request needed */
} mv_whatif_opts;

/* O(n log n) for each run. Everything returned lives in `arena`, or belongs to the caller (conf).
 * Fails only when out of memory. */
mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err);

/* The devices of one process share its settings. Adds up their figures, each peak at its own time;
 * trust is the worst device's. Devices with nothing to replay only count if there are no others.
 * Runs are the common ones of all devices; the limit is the common one, or UINT64_MAX if they
 * differ. Fails only when out of memory. */
mv_code mv_whatif_sum(mv_arena *arena, const mv_whatif *found, uint32_t count, mv_whatif *out,
                      mv_err *err);

#endif
