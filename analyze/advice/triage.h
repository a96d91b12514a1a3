/* Takes a first look at a file: lists the verdicts of all reports on all devices, most serious
 * first. `memviz FILE` prints them.
 *
 *     mv_triage_query ask = {&read, &trace, .end = UINT32_MAX};
 *     mv_triage_find(&budget, ask, 0, &triage, &err);
 *     for (i < triage.count)  triage.rows[i].text
 *     mv_triage_release(&triage);
 *
 * The verdicts are findings (findings.h): the first finding of each report and device.
 *
 * All reports cover one level of memory, except that leaks are also searched for on the file's
 * other levels, because growth there can end the run, too. docs/triage.md has the rules. */
#pragma once

#include "analyze/advice/findings.h"
#include "analyze/levels/levels.h"
#include "analyze/totals/totals.h"

typedef struct {
    uint32_t device;           /* device of the finding; 0 for the host */
    const char *level;         /* name of the level to pass to the report; NULL: the trace's
                                * level */
    const mv_finding *finding; /* first finding, which `text` is made from */
    const char *text;          /* the finding's sentence with the number of similar findings:
                                * "...; 2 more leaks" */
    uint64_t bytes;            /* total bytes of all findings of this report and kind */
    uint32_t count;            /* number of findings of this report and kind */
} mv_triage_row;

/* Jobs that run in parallel. */
enum {
    MV_TRIAGE_WHATIF,
    MV_TRIAGE_FRAGMENTATION,
    MV_TRIAGE_OOMS,
    MV_TRIAGE_LEAKS,
    MV_TRIAGE_PEAK,
    MV_TRIAGE_LEDGER,
    MV_TRIAGE_TOTALS,
    MV_TRIAGE_LIVES, /* must run before all others */
    MV_TRIAGE_PARTS
};

typedef struct {
    uint32_t device;
    mv_lives lives;
    mv_totals totals;
    mv_leaks leaks;
    mv_low_held held;        /* memory held at the low points of the steps */
    mv_graphs graphs;        /* captured CUDA graphs */
    mv_leak_outlook outlook; /* outlook on leaks; its capacity is the device memory available to
                              * PyTorch */
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution peak;
    bool has_ooms, has_whatif, has_ledger; /* whether these reports apply to this trace */
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
    uint32_t device; /* device of that level; 0 for the host */
    mv_lives lives;
    mv_leaks leaks;
    bool is_reported; /* the leak is not also a leak of the main level or of the whole device */
    mv_arena arena;
    mv_err err;
} mv_triage_other;

typedef struct {
    mv_arena arena;
    mv_sites sites;
    uint32_t device_count; /* number of used devices (mv_device_is_used) */
    mv_triage_device *devices;
    uint32_t level_count, other_count;
    mv_triage_level *levels; /* [level_count] */
    mv_triage_other *others; /* [other_count] */
    uint32_t count;
    mv_triage_row *rows; /* [count] most serious first */
} mv_triage;

/* The part of a file to report on. */
typedef struct {
    const mv_trace *read;   /* the original trace, used for other settings, failed requests and
                            * the ledger */
    const mv_trace *trace;  /* the trace of a level (analyze/levels), used for all other reports */
    bool with_others;       /* also look for leaks on other levels; `trace` must be of the default
                            * level */
    bool no_whatif;         /* do not try other settings, because trying them takes the most time */
    uint32_t first, end;    /* devices [first, end); end UINT32_MAX: all devices, and the host */
    const mv_lives *joined; /* lives of `trace` that are known (analyze/lives/lives_join.h); NULL:
                             * none */
} mv_triage_query;

/* Runs all reports on up to `threads` threads (0: as many as useful). The result does not depend on
 * the number of threads. Fails only when memory or row numbers run out. mv_triage_release must be
 * called even after a failure. */
mv_code mv_triage_find(mv_budget *budget, mv_triage_query ask, uint32_t threads, mv_triage *out,
                       mv_err *err);
void mv_triage_release(mv_triage *triage);

/* Returns the number of problems found. Rows with problems come first. */
uint32_t mv_triage_problems(const mv_triage *triage);

/* Returns the row that explains why leaks are unknown, or NULL. */
const mv_triage_row *mv_triage_unknown(const mv_triage *triage);

/* Returns a short text for a badge, which consists of the number of problems and the worst problem
 * ("3: leak"). If there are no problems, returns the unknown verdict on leaks or, if leaks are
 * excluded, "fine", or "fine (file damaged)" for a damaged file. Returns NULL when out of
 * memory. */
const char *mv_triage_badge(mv_arena *arena, const mv_triage *triage, const mv_trace *read);

/* Returns the memory that a trace covers: "PyTorch's allocator", "pinned memory", "heap pool"; ""
 * for the whole device. */
const char *mv_triage_memory_of(const mv_trace *trace, mv_text_maker *words);
