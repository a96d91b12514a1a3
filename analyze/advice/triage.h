/* The first look at a file: all reports on all of its devices, and of each its verdict, the
 * weightiest first. `memviz FILE` prints it.
 *
 *     mv_triage_find(&budget, (mv_triage_traces){&read, &trace, NULL}, first, end, 0, &triage,
 * &err); for (i < triage.count)  triage.rows[i].text mv_triage_release(&triage);
 *
 * The verdicts are the findings (findings.h): of each report and device the first one. */
#ifndef MV_TRIAGE_H
#define MV_TRIAGE_H

#include "analyze/advice/findings.h"
#include "analyze/totals/totals.h"

typedef struct {
    uint32_t device;
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
    MV_TRIAGE_WHOLE, /* leaks of the whole device */
    MV_TRIAGE_LEAKS,
    MV_TRIAGE_PEAK,
    MV_TRIAGE_LEDGER,
    MV_TRIAGE_TOTALS,
    MV_TRIAGE_LIVES, /* before all others */
    MV_TRIAGE_PARTS
};

typedef struct {
    uint32_t device;
    mv_lives lives, whole_lives;
    mv_totals totals;
    mv_leaks leaks, whole_leaks;
    mv_leak_outlook outlook; /* its capacity: what PyTorch can get of the device */
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution peak;
    /* Else they say nothing of this trace; whole_leaks only where `leaks` has none. */
    bool has_ooms, has_whatif, has_ledger, has_whole;
    mv_whatif whatif;
    mv_ledger ledger;
    mv_findings findings;
    mv_arena arenas[MV_TRIAGE_PARTS];
    mv_err errs[MV_TRIAGE_PARTS];
} mv_triage_device;

typedef struct {
    mv_arena arena;
    mv_sites sites;
    uint32_t device_count; /* of those that are used (mv_device_is_used) */
    mv_triage_device *devices;
    uint32_t count;
    mv_triage_row *rows; /* [count] weightiest first */
} mv_triage;

/* The traces of one file. */
typedef struct {
    const mv_trace *read;  /* as it was read: what other settings would have done, failed requests
                            * and  the ledger are about that */
    const mv_trace *trace; /* of a level (analyze/levels): everything else is about that */
    const mv_trace *whole; /* of MV_LEVEL_ALL, where leaks of others than PyTorch are; NULL: none */
} mv_triage_traces;

/* The devices [first, end) of `traces.trace`. At most `threads` threads work, 0: as many as pay
 * off; the answer does not depend on it. Fails only when memory or rows run out. mv_triage_release
 * must be called in any case. */
mv_code mv_triage_find(mv_budget *budget, mv_triage_traces traces, uint32_t first, uint32_t end,
                       uint32_t threads, mv_triage *out, mv_err *err);
void mv_triage_release(mv_triage *triage);

#endif
