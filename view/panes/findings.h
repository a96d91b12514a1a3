/* What is wrong with one device's memory, as a list: the verdicts of the analyzers, the most
 * alarming first, each with the place in the picture that shows it.
 *
 *     out of memory      each failed request, in order of events
 *     leaks, fragmentation  those with most bytes first
 *     peak               who holds most then
 *     notes              what the file lacks, where it contradicts itself
 *     fine               what was looked for and is not there
 *
 * Figures and sentences are those of `memviz oom`, `leaks`, `fragmentation` and `peak`. */
#ifndef MV_FINDINGS_H
#define MV_FINDINGS_H

#include "view/state/document.h"

#define MV_FINDING_LIST(X)      \
    X(OOM, "OUT OF MEMORY")     \
    X(LEAK, "LEAK")             \
    X(FRAGMENTED, "FRAGMENTED") \
    X(PEAK, "PEAK")             \
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
    uint8_t kind;        /* mv_finding_kind */
    uint64_t bytes;      /* that it is about */
    const char *title;   /* "100 MiB asked for, capacity" */
    const char *culprit; /* "train.py:62 forward"; "": nobody */
    const char *what;    /* a sentence with figures */
    const char *advice;  /* a sentence; "": none */
    /* Where it is seen. */
    bool has_place;
    bool shows_state;   /* in the allocator's state, else on the timeline */
    uint32_t event;     /* the moment is behind it, or MV_BEFORE */
    uint32_t from, to;  /* events [from, to) to show */
    uint32_t alloc;     /* to pin, or MV_NO_ROW */
    const char *search; /* words of a filter; "": none */
} mv_finding;

typedef struct {
    uint32_t count;
    mv_finding *rows; /* [count] */
} mv_findings;

/* Of a device at MV_DEVICE_JUDGED. O(rows of its lives). Everything lives in `arena`. Fails only
 * for want of memory. */
mv_code mv_findings_find(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                         const mv_document_device *device, mv_findings *out, mv_err *err);

const char *mv_finding_name(uint8_t kind); /* "OUT OF MEMORY" */

#endif
