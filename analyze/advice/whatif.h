/* Predicts the effect of other allocator settings on one device of a trace. The settings are tried
 * (setting_trials.h) and ranked, and the best settings become advice. docs/whatif.md explains the
 * report. */
#pragma once

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
    mv_trial apart;
} mv_whatif_line;

typedef struct {
    const char *setting; /* setting to use, or "" if the program should be changed instead */
    const char *text;
    int64_t saves;     /* how far the recorded peak of reserved memory falls */
    int64_t gain;      /* how many bytes less the run needs than under the recorded settings, within
                        * the limit if there is one */
    mv_stack_id stack; /* stack of the line to change, or MV_NO_STACK */
} mv_whatif_advice;

#define MV_MOST_WHATIF_ADVICE 4

typedef struct {
    mv_trials trials; /* the recorded run, and how far its replay can be trusted */

    bool ranked; /* `runs` is the built-in set, sorted: failed runs last, least reserved memory
                  * first */
    uint32_t run_count;
    mv_trial *runs;          /* [run_count] */
    mv_code_changes changes; /* program changes that the runs with is_changed apply */
    bool has_target;
    mv_remedies remedies; /* changes that reach the target; set only if there is a target */
    mv_whatif_line line;
    uint32_t advice_count; /* number of rows of `advice`; 0 if trust is low or nothing helps, and
                            * advice_none has the reason */
    mv_whatif_advice advice[MV_MOST_WHATIF_ADVICE];
    const char *advice_none; /* why there is no advice; NULL if there is advice */
    const char *verdict;     /* the result of the advice, in a few words; never NULL */
    mv_minimum floor;        /* lower bound for all settings, without a placement */
    const char *floor_line;  /* the floor as a sentence without a full stop, or "" */
    const char *kinds_note;  /* note on segments that suggest other settings (segment_kinds.h),
                              * or "" */
    uint32_t untried;        /* number of settings that were not replayed to the end, and so are
                              * missing from `runs` */
    const char *idle_note;   /* note on settings that have no effect on the device or were
                              * skipped, or "" */
} mv_whatif;

typedef struct {
    uint32_t conf_count;          /* number of given settings; 0: use the built-in set */
    const char *const *conf;      /* [conf_count] strings for mv_alloc_conf_parse */
    uint32_t change_count;        /* number of program changes. All changes are applied together in
                                   * one run, which is repeated under each setting in `conf` */
    const mv_code_change *change; /* [change_count] changes whose arguments
                                   * mv_code_change_is_fine accepts */
    uint64_t capacity;            /* memory of the device or of the process in bytes; 0: unknown */
    bool has_target;              /* whether to find the changes that reach `target` */
    uint64_t target;              /* target for reserved memory in bytes; 0: what the last failed
                                   * request needs */
} mv_whatif_opts;

/* Tries the settings and changes. O(n log n) for each run. All results are in `arena` or belong to
 * the caller (conf). Fails only when out of memory. */
mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err);

/* Adds up the results for the devices of one process, which share its settings. The devices' peaks
 * are added even if they occur at different times, and the lowest trust of all devices applies.
 * Devices with nothing to replay count only if there are no other devices. The sum has only the
 * runs that all devices have. The limit is the limit that all devices share, or UINT64_MAX if their
 * limits differ. Fails only when out of memory. */
mv_code mv_whatif_sum(mv_arena *arena, const mv_whatif *found, uint32_t count, mv_whatif *out,
                      mv_err *err);
