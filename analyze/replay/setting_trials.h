/* Tries allocator settings. A trial uses an exact replay to find how much memory one device would
 * have reserved under another PYTORCH_CUDA_ALLOC_CONF, and how far this number can be trusted.
 * Every report that names a setting uses these trials, so that all reports agree.
 *
 *     mv_trials_open(arena, trace, lives, (mv_trials_opts){0}, &trials, err);
 *     if (mv_trials_are_conclusive(&trials)) {
 *         const char *conf = mv_trials_with(&trials, "expandable_segments", "True");
 *         mv_trials_try(&trials, conf, &trial, err);
 *         trial.saves, trial.fits, trial.result.first_oom ...
 *     }
 *
 * A string of settings is complete, as for --conf and PyTorch: settings that are not in the string
 * have their default values. docs/whatif.md explains the replay, the limit and the trust. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/replay/replay.h"
#include "analyze/replay/replay_edit.h"

/* How far the figures can be trusted. */
#define MV_TRUST_LIST(X)                                                                       \
    X(EXACT, "exact") /* complete history, every event predicted, the recorded peak reached */ \
    X(HIGH, "high")   /* every event predicted, but the heap before the trace is a guess */    \
    X(FAIR, "fair")   /* nearly all predicted, or sizes or a limit are unknown */              \
    X(LOW, "low")     /* the recorded run is not reproduced, so there is no advice */          \
    X(NONE, "none")   /* no events */

typedef enum {
#define MV_TRUST_ENUM(name, text) MV_TRUST_##name,
    MV_TRUST_LIST(MV_TRUST_ENUM)
#undef MV_TRUST_ENUM
} mv_trust;

/* The source of the limit on reserved bytes. */
typedef enum {
    MV_LIMIT_NONE,
    MV_LIMIT_GIVEN,   /* given by the caller */
    MV_LIMIT_REFUSALS /* the most that the recorded run had reserved when requests were refused */
} mv_limit_source;

typedef struct {
    uint64_t capacity; /* memory of the device or of the process in bytes; 0: taken from the
                        * trace */
    uint32_t end;      /* events [0, end) are replayed; 0: all */
    bool no_self;    /* verify the recorded settings, but do not replay them; for mv_trials_until */
    bool ends_early; /* trials stop when they are known to be useless, for reports that show only
                      * useful trials. Has an effect only if no request failed */
    uint32_t ahead;  /* MV_TRY bits of the set that will be tried next if the trials are
                      * conclusive, so that other CPUs can start on it while one CPU verifies the
                      * recorded settings */
    const char *const *conf; /* [conf_count] the same for complete strings of settings */
    uint32_t conf_count;
    const mv_levels *peak; /* peaks of reserved and allocated memory in the whole trace; NULL:
                            * computed here */
} mv_trials_opts;

typedef struct {
    const char *conf; /* complete string of settings */
    uint32_t change;  /* MV_TRY bit of the only setting that differs from the recorded settings;
                       * 0: several settings differ, or the caller gave the settings */
    bool is_recorded; /* these are the settings of the trace */
    bool is_changed;  /* the replay includes changes to the program */
    mv_replay_result result;
    int64_t saves; /* reduction of the recorded peak of reserved memory; negative if the peak is
                    * higher */
    bool fits;     /* no request failed, and requests that failed in the recorded run succeed */
} mv_trial;

typedef struct {
    uint32_t untried; /* number of settings that are not listed because no steps were left */
    uint32_t count;
    mv_trial *rows; /* [count] trials, which include the recorded settings only with MV_TRY_ALL */
} mv_trial_list;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    uint32_t end; /* events [0, end) are replayed */
    mv_replay_script script;
    mv_replay_script joined; /* the same script, but with everything on one stream and in the
                              * default pool */

    mv_alloc_conf recorded;
    const char *recorded_conf; /* complete string of the recorded settings */
    /* taken from the trace, for events [0, end): */
    uint64_t recorded_reserved, recorded_allocated; /* peaks */
    uint64_t recorded_segment_allocs, recorded_segment_frees;
    uint32_t recorded_ooms, recorded_first_oom; /* MV_NEVER: no request failed, or requests
                                                 * failed on several devices */

    uint64_t limit; /* maximum of reserved bytes; UINT64_MAX: no limit */
    mv_limit_source limit_source;

    uint64_t *left;      /* number of steps that trials may still take. All trials together take
                          * at most mv_replay_most_work, so that their time is linear in the size
                          * of the trace. A trial that has no steps left is not replayed to the
                          * end (gave_up) */
    uint64_t enough;     /* a trial that reserves this much is not worth reporting. It stops and has
                          * the figures so far; 0: all trials run to the end */
    mv_trial_list ahead; /* trials that mv_trials_open ran in advance */
    uint64_t *ahead_used;   /* [ahead.count] number of steps that each of these trials took;
                             * MV_NO_BYTES: the trial did not finish */
    mv_replay_curve *curve; /* the levels of mv_trials_try_edits over time are stored here; NULL:
                             * not needed */
    mv_replay_fidelity fidelity; /* result of verifying the whole trace */
    mv_replay_result self;       /* replay under the recorded settings */
    bool unexplained;     /* under the recorded settings and the limit, if any, a failed request
                           * succeeds. So its cause is unknown, and so is the effect of other
                           * settings on it */
    uint64_t start_error; /* how much the peak changes if the heap from before the trace is laid
                           * out anew under the recorded settings */
    mv_trust trust;
    const char *trust_why; /* one sentence; never NULL */
} mv_trials;

/* Replays the recorded settings. O(n log n). Results are in `arena`. The arena, the trace and its
 * lives must outlive `out`. Fails only when out of memory. */
mv_code mv_trials_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_trials_opts opts, mv_trials *out, mv_err *err);

/* Opens trials for the same trace up to `end`, within `limit`. `reserved` is the peak of these
 * events. Takes constant time, except for blocks from before the trace, because nothing is
 * replayed. `whole` must have been opened with no_self, and the result is as if it had been opened
 * with no_self. */
mv_code mv_trials_until(const mv_trials *whole, uint32_t end, uint64_t limit, uint64_t reserved,
                        mv_trials *out, mv_err *err);

/* Begins a replay under one complete string of settings, which mv_replay_until continues and
 * mv_replay_close ends. If `joined`, everything is on one stream and in the default pool. `trials`
 * must not move until the replay ends. */
mv_code mv_trials_begin(const mv_trials *trials, const char *conf, bool joined, mv_replay **out,
                        mv_err *err);

/* Whether trials are meaningful, which means that trust is fair or better. Otherwise trust_why has
 * the reason, and reports must not promise an effect of a setting. */
static inline bool mv_trials_are_conclusive(const mv_trials *trials)
{
    return trials->trust < MV_TRUST_LOW;
}

/* Returns the recorded settings with one setting changed or, if `value` is NULL, removed. The
 * string is complete and in the arena. Returns NULL when out of memory. */
const char *mv_trials_with(mv_trials *trials, const char *key, const char *value);

/* Replays the trace under one complete string of settings, which mv_alloc_conf_parse must accept.
 * O(n log n), or constant time if the result is already known. Keeps a pointer to `conf`. Fails
 * only when out of memory. */
mv_code mv_trials_try(const mv_trials *trials, const char *conf, mv_trial *out, mv_err *err);

/* Replays changes to the program under one complete string of settings. O(n log n). Keeps a pointer
 * to `conf`. */
mv_code mv_trials_try_edits(const mv_trials *trials, const char *conf, const mv_edit *edits,
                            uint32_t count, mv_trial *out, mv_err *err);

/* Replays the recorded settings, but with the allocations of one group of sites in a separate
 * memory pool. Allocations from before the trace keep their addresses. */
mv_code mv_trials_try_line(const mv_trials *trials, const mv_sites *sites, uint32_t group,
                           mv_trial *out, mv_err *err);

/* Possible changes to the recorded settings. Each bit stands for a few settings. */
#define MV_TRY_EXPANDABLE  1u  /* expandable_segments:True */
#define MV_TRY_ROUNDUP     2u  /* roundup_power2_divisions: other values, or removed */
#define MV_TRY_SPLIT_LIMIT 4u  /* max_split_size_mb: several values */
#define MV_TRY_NO_LIMIT    8u  /* without max_split_size_mb */
#define MV_TRY_GARBAGE     16u /* garbage_collection_threshold, if the process has a limit */
#define MV_TRY_DEFAULTS    32u /* the default settings */
#define MV_TRY_ALL         63u

/* A setting to try. If `value` is NULL, the setting is removed. Garbage is collected only if the
 * process has a limit. */
typedef struct {
    uint32_t bit;
    const char *key, *value;
    bool needs_limit;
} mv_setting_choice;

enum { MV_SETTING_CHOICES = 13 };
extern const mv_setting_choice mv_setting_choices[MV_SETTING_CHOICES];

/* Whether garbage would be collected, which is the case only if the process itself has a limit. */
bool mv_trials_collect_garbage(const mv_trials *trials);

/* Tries each setting of a set once, and sorts the trials by mv_trial_order. */
mv_code mv_trials_try_set(mv_trials *trials, uint32_t set, mv_trial_list *out, mv_err *err);

/* Compares two trials, and returns a negative number if `a` is better. Runs without failures come
 * first. Further criteria, in this order, are fewer failures, less reserved memory, fewer calls for
 * device memory, the recorded settings, and a single change. */
int mv_trial_order(const mv_trial *a, const mv_trial *b);

/* Returns the number from which savings are counted. It is the recorded peak of reserved memory or,
 * if a limit is given, the peak of the recorded settings within the limit. */
static inline uint64_t mv_trials_base(const mv_trials *trials)
{
    return trials->limit_source == MV_LIMIT_GIVEN ? trials->self.peak.reserved
                                                  : trials->recorded_reserved;
}

/* Returns how much less a trial needs than mv_trials_base; negative if it needs more. */
static inline int64_t mv_trials_gain(const mv_trials *trials, const mv_trial *trial)
{
    return (int64_t)(mv_trials_base(trials) - trial->result.peak.reserved);
}

/* Whether a saving from mv_trials_base is large enough to be worth a setting, and larger than the
 * replay's error. `conf` determines whether the heap from before the trace was laid out anew; NULL:
 * it was not. */
bool mv_trials_is_worth(const mv_trials *trials, const char *conf, int64_t saves);

/* Whether a trial is worth advising. Either it saves enough, or it avoids failures that the
 * recorded settings cause within the same limit. */
bool mv_trials_helps(const mv_trials *trials, const mv_trial *trial);

/* Whether the recorded settings serve every request within the limit, including the requests that
 * failed. */
bool mv_trials_self_fits(const mv_trials *trials);

/* Whether a trial proves anything by serving the failed requests. It does only if each of these
 * requests fails within the limit under the recorded settings. Also false if no request failed. */
static inline bool mv_trials_record_failures(const mv_trials *trials)
{
    return trials->recorded_ooms > 0 && !trials->unexplained;
}

/* Whether it is known which requests fail in a run. If a failed request succeeds under the recorded
 * settings, this is known only for the recorded run. */
static inline bool mv_trials_know_failures(const mv_trials *trials, const mv_trial *trial)
{
    return !trials->unexplained || trials->limit_source == MV_LIMIT_GIVEN ||
           (trial->is_recorded && !trial->is_changed);
}

/* Returns the figures of a run as reports show them. If the replay serves a request that failed,
 * the figures of the recorded run come from the trace. */
mv_replay_result mv_trials_figures(const mv_trials *trials, const mv_trial *trial);

/* Phrases about the figures of a trial. In the arena; NULL when out of memory.
 *   mv_trials_about:    "about ", or "" if the figures are off by at most 1 % of the peak
 *   mv_trials_doubts:   " within the trace, give or take 838 MiB"; "" if it shows all
 *   mv_trials_failures: "the request that failed", or "all 3 requests that failed" */
const char *mv_trials_about(const mv_trials *trials, const char *conf);
const char *mv_trials_doubts(const mv_trials *trials, const char *conf);
const char *mv_trials_failures(const mv_trials *trials);

const char *mv_trust_name(mv_trust trust); /* "exact" */
const char *mv_limit_source_name(mv_limit_source source);
