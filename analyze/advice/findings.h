/* What is wrong with one device's memory, as a list: the verdicts of all reports, the most alarming
 * first. What `memviz oom`, `leaks`, `fragmentation` and `peak` say, in the same figures and
 * sentences.
 *
 *     out of memory      each failed request, in order of events
 *     leaks, fragmentation  those with most bytes first
 *     peak, held         who holds most then; or at all, in a file of one moment
 *     notes              what the file lacks, where it contradicts itself
 *     fine               what was looked for and is not there */
#ifndef MV_FINDINGS_H
#define MV_FINDINGS_H

#include "analyze/fragmentation/fragmentation.h"
#include "analyze/leaks/leaks.h"
#include "analyze/oom/oom.h"
#include "analyze/peak/peak.h"

#define MV_FINDING_LIST(X)      \
    X(OOM, "OUT OF MEMORY")     \
    X(LEAK, "LEAK")             \
    X(FRAGMENTED, "FRAGMENTED") \
    X(PEAK, "PEAK")             \
    X(HELD, "HELD")             \
    X(NOTE, "NOTE")             \
    X(FINE, "FINE")

typedef enum {
#define MV_FINDING_ENUM(name, text) MV_FINDING_##name,
    MV_FINDING_LIST(MV_FINDING_ENUM)
#undef MV_FINDING_ENUM
        MV_FINDING_COUNT
} mv_finding_kind;

enum { MV_MOST_FINDINGS = 16, MV_PEAK_FINDINGS = 5 }; /* of one kind; the rest is counted */

typedef struct {
    mv_finding_kind kind;
    uint64_t bytes;      /* that it is about */
    const char *title;   /* "100 MiB asked for, capacity" */
    const char *culprit; /* "train.py:62 forward"; "": no one */
    const char *what;    /* a sentence with figures */
    const char *advice;  /* a sentence; "": none */
    /* Where it can be seen. */
    bool has_place;       /* the following are set */
    bool is_about_heap;   /* the heap at the moment shows it, rather than the run of events */
    uint32_t event;       /* the moment is after it, or MV_BEFORE */
    uint32_t first, last; /* the events that it is about; MV_BEFORE; last < first: only `first` */
    mv_stack_id stack;    /* of the line to blame; MV_NO_STACK: none */
    mv_frame_id frame;    /* likewise; MV_NO_FRAME */
    uint32_t category;    /* of the blocks that it is about; MV_NO_ROW: all of the line */
} mv_finding;

typedef struct {
    uint32_t count;
    mv_finding *rows; /* [count] */
} mv_findings;

/* The reports on one device. */
typedef struct {
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_lives *lives;
    const mv_leaks *leaks;
    const mv_ooms *ooms;
    const mv_fragmentation *fragmentation;
    const mv_attribution *peak;
} mv_reports;

/* O(findings). Everything lives in `arena`. Fails only when memory is out. */
mv_code mv_findings_find(mv_arena *arena, const mv_reports *reports, mv_findings *out, mv_err *err);

const char *mv_finding_name(mv_finding_kind kind); /* "OUT OF MEMORY" */

#endif
