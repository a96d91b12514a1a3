/* A list of one device's memory problems: the verdicts of all reports, most serious first. Figures
 * and sentences are the same as in `memviz oom`, `leaks`, `fragmentation`, `ledger`, `whatif` and
 * `peak`. The window lists them; `memviz FILE` shows the first of each report (triage.h).
 *
 *     out of memory      each failed request, in order of events
 *     leaks, fragmentation  most bytes first; includes memory that waits for streams
 *     device             the holders of all memory of the device
 *     what if            savings with other settings
 *     peak, held         the largest holders at the peak; or in a file of one moment
 *     notes              data missing from the file, and contradictions in it
 *     fine               problems that were looked for and not found */
#ifndef MV_FINDINGS_H
#define MV_FINDINGS_H

#include "analyze/advice/whatif.h"
#include "analyze/fragmentation/fragmentation.h"
#include "analyze/graphs/graphs.h"
#include "analyze/leaks/leaks.h"
#include "analyze/ledger/ledger.h"
#include "analyze/oom/oom.h"
#include "analyze/peak/peak.h"
#include "analyze/steps/low_points.h"
#include "base/text.h"

#define MV_FINDING_LIST(X)      \
    X(OOM, "OUT OF MEMORY")     \
    X(LEAK, "LEAK")             \
    X(FRAGMENTED, "FRAGMENTED") \
    X(WAITING, "WAITING")       \
    X(DEVICE, "DEVICE")         \
    X(WHATIF, "WHAT IF")        \
    X(PEAK, "PEAK")             \
    X(HELD, "HELD")             \
    X(NOTE, "NOTE")             \
    X(FINE, "FINE")

typedef enum {
#define MV_FINDING_ENUM(name, text) MV_FINDING_##name,
    MV_FINDING_LIST(MV_FINDING_ENUM) MV_FINDING_COUNT
} mv_finding_kind;

/* The reports, named after their commands. */
#define MV_REPORT_LIST(X)             \
    X(OOM, "oom")                     \
    X(LEAKS, "leaks")                 \
    X(FRAGMENTATION, "fragmentation") \
    X(LEDGER, "ledger")               \
    X(WHATIF, "whatif")               \
    X(PEAK, "peak")                   \
    X(STATS, "stats")                 \
    X(INFO, "info")

typedef enum {
#define MV_REPORT_ENUM(name, text) MV_REPORT_##name,
    MV_REPORT_LIST(MV_REPORT_ENUM) MV_REPORT_COUNT
} mv_report;

/* The meaning of a failed request in another tool's file: the last of `count`. */
const char *mv_failure_may_be_caught(mv_text_maker *words, uint32_t count);

/* The blocks that a finding counts, which are highlighted for it. */
typedef enum {
    MV_BLOCKS_NONE,
    MV_BLOCKS_OF_LINE,     /* blocks whose stack is on the same line as
                            * `stack` (analyze/code/sites.h) */
    MV_BLOCKS_OF_LEAK,     /* blocks of row `leak` of the leak report */
    MV_BLOCKS_OF_PINS,     /* blocks of the same line that are next to holes */
    MV_BLOCKS_OF_CATEGORY, /* blocks of any line */
    MV_BLOCKS_WAITING      /* blocks that wait for a stream */
} mv_finding_blocks;

/* Maximum per kind; further findings are only counted. */
enum { MV_MOST_FINDINGS = 16, MV_PEAK_FINDINGS = 5 };

typedef struct {
    mv_finding_kind kind;
    mv_report report;    /* source of the finding */
    const char *verdict; /* the verdict in one word, for scripts: "leak", "clean", "unknown" */
    bool is_aside;       /* not a verdict of the report: a separate line in the first look */
    const char *text;    /* the verdict as one plain sentence with bytes, without a full stop */
    uint64_t bytes;      /* bytes concerned */
    const char *title;   /* "100 MiB requested, capacity" */
    const char *culprit; /* "train.py:62 forward"; "": none */
    const char *what;    /* a sentence with figures */
    const char *advice;  /* a sentence; "": none */
    /* The place that shows the finding. */
    bool has_place;       /* the fields below are set */
    bool is_about_heap;   /* shown by the heap at the moment, not by the events */
    uint32_t event;       /* the moment is after this event, or MV_BEFORE */
    uint32_t first, last; /* events concerned; MV_BEFORE; last < first: only `first` */
    mv_stack_id stack;    /* stack of the line to blame, or MV_NO_STACK */
    mv_frame_id frame;    /* frame of that line, or MV_NO_FRAME */
    uint32_t category;    /* category of the blocks concerned; MV_NO_ROW: all blocks of the line */
    /* The blocks alive, or waiting, at that moment. */
    mv_finding_blocks of;
    uint32_t leak;       /* OF_LEAK */
    const mv_pins *pins; /* OF_PINS */
    uint64_t held;       /* their bytes */
    uint32_t blocks;     /* number of these blocks; with OF_LEAK, until the program's exit */
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
    const mv_whatif *whatif; /* NULL: no finding about other settings */
    const mv_low_held *held; /* NULL: no finding about memory at the low points */
    const mv_ledger *ledger; /* NULL: no finding about the whole device */
    const mv_graphs *graphs; /* NULL: no finding about CUDA graphs */
} mv_reports;

/* O(findings). All results are in `arena`. Fails only when out of memory. */
mv_code mv_findings_find(mv_arena *arena, const mv_reports *reports, mv_findings *out, mv_err *err);

/* Only the findings about leaks; needs only the trace, sites, lives and leaks of the reports. */
mv_code mv_findings_of_leaks(mv_arena *arena, const mv_reports *reports, mv_findings *out,
                             mv_err *err);

/* Compares two findings for qsort. Leaks and fragmentation are equally serious, so bytes decide. */
int mv_finding_by_alarm(mv_finding_kind a, uint64_t bytes_a, mv_finding_kind b, uint64_t bytes_b);

const char *mv_finding_name(mv_finding_kind kind); /* "OUT OF MEMORY" */
const char *mv_report_name(mv_report report);      /* "leaks" */

#endif
