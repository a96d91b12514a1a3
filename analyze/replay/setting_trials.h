/* Trials of allocator settings: the memory that one device would have reserved under another
 * PYTORCH_CUDA_ALLOC_CONF, by an exact replay, and how far that figure can be trusted. Every report
 * that names a setting uses these trials, so that all reports agree.
 *
 *     mv_trials_open(arena, trace, lives, (mv_trials_opts){0}, &trials, err);
 *     if (mv_trials_are_conclusive(&trials)) {
 *         const char *conf = mv_trials_with(&trials, "expandable_segments", "True");
 *         mv_trials_try(&trials, conf, &trial, err);
 *         trial.saves, trial.fits, trial.result.first_oom ...
 *     }
 *
 * A text of settings is complete, as for --conf and PyTorch: settings that it does not name have
 * their defaults. docs/whatif.md explains the replay, the limit and the trust. */
#ifndef MV_SETTING_TRIALS_H
#define MV_SETTING_TRIALS_H

#include "analyze/code/sites.h"
#include "analyze/replay/replay.h"
#include "analyze/replay/replay_edit.h"

/* The trust in the figures. */
#define MV_TRUST_LIST(X)                                                                       \
    X(EXACT, "exact") /* complete history, every event predicted, the recorded peak reached */ \
    X(HIGH, "high")   /* every event predicted, but the heap before the trace is a guess */    \
    X(FAIR, "fair")   /* nearly all predicted, or sizes or a limit are unknown */              \
    X(LOW, "low")     /* the recorded run is not reproduced: no advice */                      \
    X(NONE, "none")   /* no events */

typedef enum {
#define MV_TRUST_ENUM(name, text) MV_TRUST_##name,
    MV_TRUST_LIST(MV_TRUST_ENUM)
#undef MV_TRUST_ENUM
        MV_TRUST_COUNT
} mv_trust;

/* The source of the limit on reserved bytes. */
typedef enum {
    MV_LIMIT_NONE,
    MV_LIMIT_GIVEN,   /* by the caller */
    MV_LIMIT_REFUSALS /* the most that the recorded run reserved before requests were refused */
} mv_limit_source;

typedef struct {
    uint64_t capacity; /* bytes of the device or the process; 0: taken from the trace */
    uint32_t end;      /* events [0, end) are replayed; 0: all */
    bool no_self;    /* the recorded settings are verified, but not replayed: for mv_trials_until */
    bool ends_early; /* trials stop once they are known to be useless, for reports that show only
                      * useful trials. Only if no request failed */
    uint32_t ahead;  /* MV_TRY bits of the set to try next if the trials are conclusive: other
                      * processors start on it while one verifies the recorded settings */
} mv_trials_opts;

typedef struct {
    const char *conf; /* complete */
    uint32_t change;  /* MV_TRY bit of the only recorded setting that differs; 0: several differ, or
                       * the caller gave the settings */
    bool is_recorded; /* the settings of the trace */
    bool is_changed;  /* replayed with changes of the program */
    mv_replay_result result;
    int64_t saves; /* reduction of the recorded peak of reserved memory; negative: increase */
    bool fits;     /* no request failed, and requests that failed in the recorded run succeed */
} mv_trial;

typedef struct {
    uint32_t untried; /* settings that are not listed because no steps were left */
    uint32_t count;
    mv_trial *rows; /* [count] includes the recorded settings only with MV_TRY_ALL */
} mv_trial_list;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    uint32_t end; /* events [0, end) are replayed */
    mv_replay_script script;
    mv_replay_script joined; /* the same script with everything on one stream and in the
                              * default pool */

    mv_alloc_conf recorded;
    const char *recorded_conf; /* complete */
    /* for events [0, end), from the trace: */
    uint64_t recorded_reserved, recorded_allocated; /* peaks */
    uint64_t recorded_segment_allocs, recorded_segment_frees;
    uint32_t recorded_ooms, recorded_first_oom; /* MV_NEVER: none, or on several devices */

    uint64_t limit; /* UINT64_MAX: none */
    mv_limit_source limit_source;

    uint64_t *left;  /* steps that trials may still take: all trials together take
                      * mv_replay_most_work, so their time is linear in the trace. A trial without
                      * steps is not replayed to the end (gave_up) */
    uint64_t enough; /* a trial that reserves this much is not worth reporting and stops, with the
                      * figures until then; 0: all run to the end */
    mv_trial_list ahead;    /* trials that mv_trials_open ran ahead */
    uint64_t *ahead_used;   /* [ahead.count] steps taken by each; MV_NO_BYTES: it did not finish */
    mv_replay_curve *curve; /* receives the levels of mv_trials_try_edits over time; NULL:
                             * not needed */
    mv_replay_fidelity fidelity; /* for the whole trace */
    mv_replay_result self;       /* under the recorded settings */
    bool unexplained;     /* under the recorded settings, and the limit if any, a failed request
                           * succeeds: its cause is unknown, and so is the effect of other settings
                           * on it */
    uint64_t start_error; /* how much the peak differs if the heap from before the trace is laid out
                           * anew under the recorded settings */
    mv_trust trust;
    const char *trust_why; /* one sentence; never NULL */
} mv_trials;

/* Replays the recorded settings: O(n log n). Results are in `arena`, which must outlive `out`, as
 * must the trace and its lives. Fails only when out of memory. */
mv_code mv_trials_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_trials_opts opts, mv_trials *out, mv_err *err);

/* The same trace up to `end`, within `limit`; `reserved` is the peak of these events. Constant
 * time, except for blocks from before the trace: nothing is replayed. `whole` must have been opened
 * with no_self; the same holds for the result. */
mv_code mv_trials_until(const mv_trials *whole, uint32_t end, uint64_t limit, uint64_t reserved,
                        mv_trials *out, mv_err *err);

/* Begins a replay of one complete text, to be continued by mv_replay_until and ended by
 * mv_replay_close. `joined`: everything is on one stream and in the default pool. `trials` must not
 * move until then. */
mv_code mv_trials_begin(const mv_trials *trials, const char *conf, bool joined, mv_replay **out,
                        mv_err *err);

/* Whether trials are meaningful: trust is fair or better. Otherwise trust_why has the reason, and
 * reports must not promise the effect of a setting. */
static inline bool mv_trials_are_conclusive(const mv_trials *trials)
{
    return trials->trust < MV_TRUST_LOW;
}

/* The recorded settings with one of them changed: complete, in the arena. `value` NULL removes it.
 * NULL when out of memory. */
const char *mv_trials_with(mv_trials *trials, const char *key, const char *value);

/* Replays one complete text, which must be valid for mv_alloc_conf_parse. O(n log n), or constant
 * time if the result is already known. Keeps `conf`. Fails only when out of memory. */
mv_code mv_trials_try(const mv_trials *trials, const char *conf, mv_trial *out, mv_err *err);

/* Replays changes of the program under one complete text. O(n log n). Keeps `conf`. */
mv_code mv_trials_try_edits(const mv_trials *trials, const char *conf, const mv_edit *edits,
                            uint32_t count, mv_trial *out, mv_err *err);

/* Replays the recorded settings, but with the allocations of one group of sites in a separate
 * memory pool. Allocations from before the trace stay where they are. */
mv_code mv_trials_try_line(const mv_trials *trials, const mv_sites *sites, uint32_t group,
                           mv_trial *out, mv_err *err);

/* Possible changes of the recorded settings; each bit stands for a few settings. */
#define MV_TRY_EXPANDABLE  1u  /* expandable_segments:True */
#define MV_TRY_ROUNDUP     2u  /* roundup_power2_divisions: other values, and none */
#define MV_TRY_SPLIT_LIMIT 4u  /* max_split_size_mb: several values */
#define MV_TRY_NO_LIMIT    8u  /* without max_split_size_mb */
#define MV_TRY_GARBAGE     16u /* garbage_collection_threshold, if the process has a limit */
#define MV_TRY_DEFAULTS    32u /* the default settings */
#define MV_TRY_ALL         63u

/* `value` NULL removes the setting. Garbage is only collected under a limit of the process. */
typedef struct {
    uint32_t bit;
    const char *key, *value;
    bool needs_limit;
} mv_setting_choice;

enum { MV_SETTING_CHOICES = 13 };
extern const mv_setting_choice mv_setting_choices[MV_SETTING_CHOICES];

/* Whether garbage would be collected: only if the process itself has a limit. */
bool mv_trials_collect_garbage(const mv_trials *trials);

/* Tries all settings of a set once each, and sorts them by mv_trial_order. */
mv_code mv_trials_try_set(mv_trials *trials, uint32_t set, mv_trial_list *out, mv_err *err);

/* Negative if `a` is better. The order: runs without failures, fewer failures, less reserved
 * memory, fewer calls for device memory, the recorded settings, a single change. */
int mv_trial_order(const mv_trial *a, const mv_trial *b);

/* The base of savings: the recorded peak of reserved memory; under a given limit, the peak of the
 * recorded settings within it. */
static inline uint64_t mv_trials_base(const mv_trials *trials)
{
    return trials->limit_source == MV_LIMIT_GIVEN ? trials->self.peak.reserved
                                                  : trials->recorded_reserved;
}

/* The saving of a trial from mv_trials_base; negative if it needs more. */
static inline int64_t mv_trials_gain(const mv_trials *trials, const mv_trial *trial)
{
    return (int64_t)(mv_trials_base(trials) - trial->result.peak.reserved);
}

/* Whether a saving from mv_trials_base is worth a setting, and above the replay's error. `conf`
 * determines whether the heap from before the trace was laid out anew; NULL: it was not. */
bool mv_trials_is_worth(const mv_trials *trials, const char *conf, int64_t saves);

/* Whether a trial is worth advising: it saves enough, or avoids failures that the recorded settings
 * cause within the same limit. */
bool mv_trials_helps(const mv_trials *trials, const mv_trial *trial);

/* Whether the recorded settings serve every request within the limit, including those
 * that failed. */
bool mv_trials_self_fits(const mv_trials *trials);

/* Whether it is meaningful that a trial serves the failed requests: the recorded settings must fail
 * at each of them within the limit. Also false if none failed. */
static inline bool mv_trials_record_failures(const mv_trials *trials)
{
    return trials->recorded_ooms > 0 && !trials->unexplained;
}

/* Whether the failed requests of a run are known. If the recorded settings serve a request that
 * failed, failures are known only for the recorded run. */
static inline bool mv_trials_know_failures(const mv_trials *trials, const mv_trial *trial)
{
    return !trials->unexplained || trials->limit_source == MV_LIMIT_GIVEN ||
           (trial->is_recorded && !trial->is_changed);
}

/* The figures of a run as reports show them. The recorded run's figures come from the trace if the
 * replay serves a request that failed. */
mv_replay_result mv_trials_figures(const mv_trials *trials, const mv_trial *trial);

/* Parts of sentences about the figures of a trial. In the arena; NULL when out of memory.
 *   mv_trials_about:    "about ", or "" where the figures are off by 1 % of the peak at most
 *   mv_trials_doubts:   " within the trace, give or take 838 MiB"; "" where it shows all
 *   mv_trials_failures: "the request that failed", or "all 3 requests that failed" */
const char *mv_trials_about(const mv_trials *trials, const char *conf);
const char *mv_trials_doubts(const mv_trials *trials, const char *conf);
const char *mv_trials_failures(const mv_trials *trials);

const char *mv_trust_name(mv_trust trust); /* "exact" */
const char *mv_limit_source_name(mv_limit_source source);

#endif
