/* The first look at a file: all reports on all of its devices, and of each its verdict, the
 * weightiest first. `memviz FILE` prints it.
 *
 *     mv_triage_find(&budget, (mv_triage_ask){&read, &trace, .end = UINT32_MAX}, 0, &triage, &err);
 *     for (i < triage.count)  triage.rows[i].text
 *     mv_triage_release(&triage);
 *
 * The verdicts are the findings (findings.h): of each report and device the first one.
 *
 * Everything is about one level of memory, but for leaks: those of the other levels of the file are
 * looked for, too, since memory that grows elsewhere ends the run as well. docs/triage.md says what
 * is told of them. */
#ifndef MV_TRIAGE_H
#define MV_TRIAGE_H

#include "analyze/advice/findings.h"
#include "analyze/levels/levels.h"
#include "analyze/totals/totals.h"

typedef struct {
    uint32_t device;           /* of the host: 0 */
    const char *level;         /* that the report has to be asked for; NULL: that of the trace */
    const mv_finding *finding; /* its text, without further leaks or failures: */
    const char *text;          /* with "; 2 more leaks" */
    uint64_t bytes;            /* of all findings of that report and kind */
} mv_triage_row;

/* The work that is done side by side. */
enum {
    MV_TRIAGE_WHATIF,
    MV_TRIAGE_FRAGMENTATION,
    MV_TRIAGE_OOMS,
    MV_TRIAGE_LEAKS,
    MV_TRIAGE_PEAK,
    MV_TRIAGE_LEDGER,
    MV_TRIAGE_TOTALS,
    MV_TRIAGE_LIVES, /* before all others */
    MV_TRIAGE_PARTS
};

typedef struct {
    uint32_t device;
    mv_lives lives;
    mv_totals totals;
    mv_leaks leaks;
    mv_leak_outlook outlook; /* its capacity: what PyTorch can get of the device */
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution peak;
    bool has_ooms, has_whatif, has_ledger; /* else they say nothing of this trace */
    mv_whatif whatif;
    mv_ledger ledger;
    mv_findings findings;
    mv_arena arenas[MV_TRIAGE_PARTS];
    mv_err errs[MV_TRIAGE_PARTS];
} mv_triage_device;

/* Another level of the file. */
typedef struct {
    mv_level level;
    mv_trace trace;
    mv_arena arena;
    mv_err err;
} mv_triage_level;

/* Leaks on one device of another level. */
typedef struct {
    const mv_triage_level *of;
    uint32_t device; /* of the host: 0 */
    mv_lives lives;
    mv_leaks leaks;
    bool is_told; /* they are no leaks of the main level, or of the whole device */
    mv_arena arena;
    mv_err err;
} mv_triage_other;

typedef struct {
    mv_arena arena;
    mv_sites sites;
    uint32_t device_count; /* of those that are used (mv_device_is_used) */
    mv_triage_device *devices;
    uint32_t level_count, other_count;
    mv_triage_level *levels; /* [level_count] */
    mv_triage_other *others; /* [other_count] */
    uint32_t count;
    mv_triage_row *rows; /* [count] weightiest first */
} mv_triage;

/* What to look at in one file. */
typedef struct {
    const mv_trace *read;  /* as it was read: what other settings would have done, failed requests
                            * and the ledger are about that */
    const mv_trace *trace; /* of a level (analyze/levels): everything else is about that */
    bool with_others;      /* leaks on other levels, too: `trace` is of the default level */
    uint32_t first, end;   /* devices; UINT32_MAX: all, and the host */
} mv_triage_ask;

/* At most `threads` threads work, 0: as many as pay off; the answer does not depend on it. Fails
 * only when memory or rows run out. mv_triage_release must be called in any case. */
mv_code mv_triage_find(mv_budget *budget, mv_triage_ask ask, uint32_t threads, mv_triage *out,
                       mv_err *err);
void mv_triage_release(mv_triage *triage);

#endif
