/* The effect of other allocator settings on one device of a trace: settings are tried
 * (setting_trials.h) and ranked, and the best become advice. docs/whatif.md explains the report. */
#ifndef MV_WHATIF_H
#define MV_WHATIF_H

#include "analyze/advice/changes.h"
#include "analyze/advice/remedies.h"
#include "analyze/floor/floor.h"
#include "analyze/heap/pins.h"
#include "analyze/replay/setting_trials.h"

/* The line whose blocks pin most of the free memory, and the effect of a separate pool for
 * these blocks. */
typedef struct {
    bool found;
    mv_pin pin;
    uint64_t stranded; /* bytes pinned by all lines at that moment */
    mv_trial apart;
} mv_whatif_line;

typedef struct {
    const char *setting; /* "" if the program should change instead */
    const char *text;
    int64_t saves;     /* reduction of the recorded peak of reserved memory */
    int64_t gain;      /* reduction of the need of the recorded settings within the limit, if one
                        * is given */
    mv_stack_id stack; /* stack of the line to change, or MV_NO_STACK */
} mv_whatif_advice;

#define MV_MOST_WHATIF_ADVICE 4

typedef struct {
    mv_trials trials; /* the recorded run, and its trust */

    bool ranked; /* runs are the built-in set: failures last, least reserved first */
    uint32_t run_count;
    mv_trial *runs;          /* [run_count] */
    mv_code_changes changes; /* changes of the runs with is_changed */
    bool has_target;
    mv_remedies remedies; /* set if there is a target */
    mv_whatif_line line;
    uint32_t advice_count; /* 0 if trust is low, or nothing helps: advice_none has the reason */
    mv_whatif_advice advice[MV_MOST_WHATIF_ADVICE];
    const char *advice_none; /* NULL if there is advice */
    const char *verdict;     /* the result of the advice, in a few words; never NULL */
    mv_minimum floor;        /* a bound for all settings; without a placement */
    const char *floor_line;  /* the floor as a sentence without a full stop, or "" */
    const char *kinds_note;  /* note on segments that indicate other settings (segment_kinds.h),
                              * or "" */
    uint32_t untried;        /* settings that were not replayed to the end, and are not among
                              * the runs */
    const char *idle_note;   /* note on settings that have no effect on the device, or were skipped;
                              * or "" */
} mv_whatif;

typedef struct {
    uint32_t conf_count;          /* 0: the built-in set */
    const char *const *conf;      /* [conf_count] texts for mv_alloc_conf_parse */
    uint32_t change_count;        /* all changes together are one run, also under each of `conf` */
    const mv_code_change *change; /* [change_count] with arguments that
                                   * mv_code_change_is_fine accepts */
    uint64_t capacity;            /* bytes of the device or the process; 0: none */
    bool has_target;              /* also find the changes that reach `target`: */
    uint64_t target;              /* target of reserved memory; 0: the needs of the last
                                   * failed request */
} mv_whatif_opts;

/* O(n log n) for each run. All results are in `arena`, or belong to the caller (conf). Fails only
 * when out of memory. */
mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err);

/* The devices of one process share its settings. Adds up their figures, each peak at its own time;
 * trust is the lowest of all devices. Devices with nothing to replay count only if there are no
 * others. Runs are those that all devices have; the limit is the common limit, or UINT64_MAX if
 * limits differ. Fails only when out of memory. */
mv_code mv_whatif_sum(mv_arena *arena, const mv_whatif *found, uint32_t count, mv_whatif *out,
                      mv_err *err);

#endif
