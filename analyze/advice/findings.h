/* Lists one device's memory problems, with the verdicts of all reports, most serious first. The
 * figures and sentences are the same as in `memviz oom`, `leaks`, `fragmentation`, `ledger`,
 * `whatif` and `peak`. The viewer lists all findings; `memviz FILE` shows only the first finding of
 * each report (triage.h).
 *
 *     out of memory      failed requests, in order of events
 *     leaks, fragmentation  most bytes first, including memory that waits for streams
 *     device             everything that holds memory of the device
 *     what if            savings with other settings
 *     peak, held         the largest holders at the peak, or in a file that has only one moment
 *     notes              data missing from the file, and contradictions in it
 *     fine               problems that were looked for and not found */
#pragma once

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

/* Returns what the last of `count` failed requests in another tool's file may mean: the program may
 * have caught the error and continued. */
const char *mv_failure_may_be_caught(mv_text_maker *words, uint32_t count);

/* The blocks that a finding counts. The viewer highlights these blocks. */
typedef enum {
    MV_BLOCKS_NONE,
    MV_BLOCKS_OF_LINE,     /* blocks that were allocated on the same line of code as `stack`
                            * (analyze/code/sites.h) */
    MV_BLOCKS_OF_LEAK,     /* blocks of row `leak` of the leak report */
    MV_BLOCKS_OF_PINS,     /* blocks of the same line that are next to holes */
    MV_BLOCKS_OF_CATEGORY, /* blocks of any line */
    MV_BLOCKS_WAITING      /* blocks that wait for a stream */
} mv_finding_blocks;

/* Maximum number of findings of each kind; further findings are only counted. */
enum { MV_MOST_FINDINGS = 16, MV_PEAK_FINDINGS = 5 };

typedef struct {
    mv_finding_kind kind;
    mv_report report;    /* source of the finding */
    const char *verdict; /* the verdict in one word, for scripts: "leak", "clean", "unknown" */
    bool is_aside;       /* the finding is not the verdict of its report, so `memviz FILE` shows
                          * it on a separate line */
    const char *text;    /* the verdict as one plain sentence that states the bytes, without a full
                          * stop */
    uint64_t bytes;      /* number of bytes affected */
    const char *title;   /* short title, such as "100 MiB requested, capacity" */
    const char *culprit; /* line to blame, such as "train.py:62 forward", or "" if there is none */
    const char *what;    /* description of the problem: one sentence with figures */
    const char *advice;  /* advice as one sentence, or "" if there is none */
    /* The place at which the viewer shows the finding. */
    bool has_place;       /* whether the fields below are set */
    bool is_about_heap;   /* the finding is visible in the heap at that moment, not in the events */
    uint32_t event;       /* the moment directly after this event, or MV_BEFORE */
    uint32_t first, last; /* first and last event of the finding, or MV_BEFORE. If last < first, the
                           * finding has only the event `first` */
    mv_stack_id stack;    /* stack of the line to blame, or MV_NO_STACK */
    uint32_t category;    /* category of the counted blocks; MV_NO_ROW: all blocks of the line */
    /* The counted blocks that are allocated, or that wait for a stream, at that moment. */
    mv_finding_blocks of;
    uint32_t leak;       /* MV_BLOCKS_OF_LEAK: row of the leak report */
    const mv_pins *pins; /* MV_BLOCKS_OF_PINS: the blocks next to holes */
    uint64_t held;       /* total size of these blocks in bytes */
    uint32_t blocks;     /* number of these blocks; for MV_BLOCKS_OF_LEAK, their number when the
                          * program exits */
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
    const mv_whatif *whatif; /* if NULL, there are no findings about other settings */
    const mv_low_held *held; /* if NULL, there are no findings about memory at the low points */
    const mv_ledger *ledger; /* if NULL, there are no findings about the whole device */
    const mv_graphs *graphs; /* if NULL, there are no findings about CUDA graphs */
} mv_reports;

/* Collects the findings of all reports. O(findings). All results are in `arena`. Fails only when
 * out of memory. */
mv_code mv_findings_find(mv_arena *arena, const mv_reports *reports, mv_findings *out, mv_err *err);

/* Collects only the findings about leaks. Of `reports`, only trace, sites, lives and leaks must be
 * set. */
mv_code mv_findings_of_leaks(mv_arena *arena, const mv_reports *reports, mv_findings *out,
                             mv_err *err);

/* Compares two findings for qsort. Leaks and fragmentation are equally serious, so the finding with
 * more bytes comes first. */
int mv_finding_by_alarm(mv_finding_kind a, uint64_t bytes_a, mv_finding_kind b, uint64_t bytes_b);

/* Defines an mv_compare for rows with a `kind` and `bytes`. Equally serious rows keep their order. */
#define MV_FINDING_BY_ALARM(name, type, kind)                                 \
    static int name(const void *left, const void *right, const void *context) \
    {                                                                         \
        const type *a = left, *b = right;                                     \
        (void)context;                                                        \
        return mv_finding_by_alarm(a->kind, a->bytes, b->kind, b->bytes);     \
    }

const char *mv_finding_name(mv_finding_kind kind); /* "OUT OF MEMORY" */
const char *mv_report_name(mv_report report);      /* "leaks" */
