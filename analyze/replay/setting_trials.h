/* Trials of allocator settings: what one device would have reserved under another
 * PYTORCH_CUDA_ALLOC_CONF, by an exact replay, and how far that can be trusted. Every report that
 * names a setting uses these trials, so that all reports agree.
 *
 *     mv_trials_open(arena, trace, lives, (mv_trials_opts){0}, &trials, err);
 *     if (mv_trials_are_conclusive(&trials)) {
 *         const char *conf = mv_trials_with(&trials, "expandable_segments", "True");
 *         mv_trials_try(&trials, conf, &trial, err);
 *         trial.saves, trial.fits, trial.result.first_oom ...
 *     }
 *
 * A text of settings is complete, as --conf and PyTorch take it: settings that it does not name
 * have their defaults. docs/whatif.md explains the replay, the limit and the trust. */
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
    MV_LIMIT_REFUSALS /* the most that the recorded run got before requests were refused */
} mv_limit_source;

typedef struct {
    uint64_t capacity; /* bytes of the device or the process; 0: as the trace shows */
    uint32_t end;      /* events [0, end) are replayed; 0: all */
    bool no_self;    /* the recorded settings are checked, but not replayed: for mv_trials_until */
    bool ends_early; /* trials end where they are known not to be worth it: for reports that show no
                      * other figures of them. Only where no request failed */
    uint32_t ahead;  /* MV_TRY bits of a set that is tried next, if the trials are conclusive: other
                      * processors begin with it while one checks the recorded settings */
} mv_trials_opts;

typedef struct {
    const char *conf; /* complete */
    uint32_t change;  /* MV_TRY bit of the one recorded setting that is changed; 0: several are, or
                       * the settings were given */
    bool is_recorded; /* the settings of the trace */
    bool is_changed;  /* replayed with changes of the program */
    mv_replay_result result;
    int64_t saves; /* bytes less than the recorded peak of reserved memory; negative: more */
    bool fits;     /* no request failed, and those that failed in the recorded run are met */
} mv_trial;

typedef struct {
    uint32_t untried; /* settings for which no steps were left: they are not listed */
    uint32_t count;
    mv_trial *rows; /* [count] includes the recorded settings only with MV_TRY_ALL */
} mv_trial_list;

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    uint32_t end; /* events [0, end) are replayed */
    mv_replay_script script;
    mv_replay_script joined; /* the same as if all were of one stream and the default pool */

    mv_alloc_conf recorded;
    const char *recorded_conf; /* complete */
    /* of the events [0, end), as the trace has them: */
    uint64_t recorded_reserved, recorded_allocated; /* peaks */
    uint64_t recorded_segment_allocs, recorded_segment_frees;
    uint32_t recorded_ooms, recorded_first_oom; /* MV_NEVER: none, or of several devices */

    uint64_t limit; /* UINT64_MAX: none */
    mv_limit_source limit_source;

    uint64_t *left;  /* steps that trials may still take: all together take mv_replay_most_work, so
                      * that their time is linear in the trace. Those without any are not replayed to
                      * the end (gave_up) */
    uint64_t enough; /* a trial that reserves this much is not worth reporting and ends there: its
                      * figures are those until then; 0: all go to the end */
    mv_trial_list ahead;  /* that mv_trials_open has tried, and */
    uint64_t *ahead_used; /* [ahead.count] the steps that each took; MV_NO_BYTES: it did not end */
    mv_replay_curve *curve; /* gets the levels of mv_trials_try_edits over time; NULL: not needed */
    mv_replay_fidelity fidelity; /* of the whole trace */
    mv_replay_result self;       /* under the recorded settings */
    bool unexplained;     /* they meet a request that failed, within the limit, if any: its cause is
                       * unknown, so it is unknown which settings meet it */
    uint64_t start_error; /* how much the peak differs when the heap from before the trace is laid
                           * out anew under the recorded settings */
    mv_trust trust;
    const char *trust_why; /* one sentence; never NULL */
} mv_trials;

/* Replays the recorded settings: O(n log n). Results live in `arena`, which, like the trace and its
 * lives, must outlive `out`. Fails only when out of memory. */
mv_code mv_trials_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_trials_opts opts, mv_trials *out, mv_err *err);

/* The same trace up to `end`, within `limit`, `reserved` being the peak of these events. Constant
 * time, except for blocks from before the trace: nothing is replayed. `whole` was opened with
 * no_self, and so is the result. */
mv_code mv_trials_until(const mv_trials *whole, uint32_t end, uint64_t limit, uint64_t reserved,
                        mv_trials *out, mv_err *err);

/* Begins a replay of one complete text that mv_replay_until moves on; mv_replay_close ends it.
 * `joined`: as if all were of one stream and the default pool. `trials` keeps its place until
 * then. */
mv_code mv_trials_begin(const mv_trials *trials, const char *conf, bool joined, mv_replay **out,
                        mv_err *err);

/* Whether trials mean anything: trust is fair or better. If not, trust_why says why, and no report
 * promises what a setting would do. */
static inline bool mv_trials_are_conclusive(const mv_trials *trials)
{
    return trials->trust < MV_TRUST_LOW;
}

/* The recorded settings with one of them changed and the others kept: complete, in the arena.
 * `value` NULL leaves it out. NULL when out of memory. */
const char *mv_trials_with(mv_trials *trials, const char *key, const char *value);

/* Replays one complete text, which must be valid for mv_alloc_conf_parse. O(n log n), but constant
 * time when the result is already known. `conf` is kept. Fails only when out of memory. */
mv_code mv_trials_try(const mv_trials *trials, const char *conf, mv_trial *out, mv_err *err);

/* Replays changes of the program under one complete text. O(n log n). `conf` is kept. */
mv_code mv_trials_try_edits(const mv_trials *trials, const char *conf, const mv_edit *edits,
                            uint32_t count, mv_trial *out, mv_err *err);

/* Replays the recorded settings, but with the allocations of one group of sites in a memory pool of
 * their own. Allocations from before the trace stay where they are. */
mv_code mv_trials_try_line(const mv_trials *trials, const mv_sites *sites, uint32_t group,
                           mv_trial *out, mv_err *err);

/* Possible changes of the recorded settings: each bit is a few settings. */
#define MV_TRY_EXPANDABLE  1u  /* expandable_segments:True */
#define MV_TRY_ROUNDUP     2u  /* roundup_power2_divisions: other values, and none */
#define MV_TRY_SPLIT_LIMIT 4u  /* max_split_size_mb: several values */
#define MV_TRY_NO_LIMIT    8u  /* max_split_size_mb left out */
#define MV_TRY_GARBAGE     16u /* garbage_collection_threshold, if the process has a limit */
#define MV_TRY_DEFAULTS    32u /* the default settings */
#define MV_TRY_ALL         63u

/* `value` NULL leaves the setting out. Garbage is only collected within a limit of the process. */
typedef struct {
    uint32_t bit;
    const char *key, *value;
    bool needs_limit;
} mv_setting_choice;

enum { MV_SETTING_CHOICES = 13 };
extern const mv_setting_choice mv_setting_choices[MV_SETTING_CHOICES];

/* Whether garbage would be collected: the process itself has a limit. */
bool mv_trials_collect_garbage(const mv_trials *trials);

/* Tries all settings of a set, none twice, and sorts them by mv_trial_order. */
mv_code mv_trials_try_set(mv_trials *trials, uint32_t set, mv_trial_list *out, mv_err *err);

/* Negative when `a` is better. Runs without failures are best, then fewer failures, less reserved,
 * fewer calls for device memory, the recorded settings, one change. */
int mv_trial_order(const mv_trial *a, const mv_trial *b);

/* The base of savings: the recorded peak of reserved memory; within a limit that is given, the peak
 * of the recorded settings within it. */
static inline uint64_t mv_trials_base(const mv_trials *trials)
{
    return trials->limit_source == MV_LIMIT_GIVEN ? trials->self.peak.reserved
                                                  : trials->recorded_reserved;
}

/* The saving of a trial from mv_trials_base; negative: it needs more. */
static inline int64_t mv_trials_gain(const mv_trials *trials, const mv_trial *trial)
{
    return (int64_t)(mv_trials_base(trials) - trial->result.peak.reserved);
}

/* The possible error of the peak under `conf` because the heap from before the trace was laid out
 * anew; 0 where it was kept. */
uint64_t mv_trials_error_of(const mv_trials *trials, const char *conf);

/* Whether a saving from mv_trials_base is worth a setting, and above the error of the replay.
 * `conf` decides whether the heap from before the trace was laid out anew; NULL: it was not. */
bool mv_trials_is_worth(const mv_trials *trials, const char *conf, int64_t saves);

/* Whether a trial is worth advising: it saves enough, or avoids failures that the recorded settings
 * lead to within the same limit. */
bool mv_trials_helps(const mv_trials *trials, const mv_trial *trial);

/* Whether the recorded settings serve every request within the limit, also those that failed. */
bool mv_trials_self_fits(const mv_trials *trials);

/* Whether it means anything that a trial meets the failed requests: the recorded settings must fail
 * at each of them within the limit. False also when none failed. */
static inline bool mv_trials_record_failures(const mv_trials *trials)
{
    return trials->recorded_ooms > 0 && !trials->unexplained;
}

/* Whether the failed requests of a run are known. Where the recorded settings meet a request that
 * failed, they are known of the recorded run alone. */
static inline bool mv_trials_know_failures(const mv_trials *trials, const mv_trial *trial)
{
    return !trials->unexplained || trials->limit_source == MV_LIMIT_GIVEN ||
           (trial->is_recorded && !trial->is_changed);
}

/* The figures of a run as reports show them: those of the recorded run are from the trace where the
 * replay meets a request that failed. */
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
