/* The verdicts of the reports on one device, short: for titles of pictures and pages, and for the
 * badge in the viewer's toolbar.
 *
 *     out of memory: fragmentation · leak 24.0 MiB at train.py:74, 2 more
 *     fragmented: 514 MiB beyond the need
 *     leaks unknown: no stacks · fragmentation ok (history incomplete) · no failed request recorded
 *     no leak · fragmentation ok · no request failed
 *     PyTorch's allocator: no leak · ...            if the file has other levels of memory
 *
 * If a report's verdict is unknown, so is the headline's. */
#ifndef MV_HEADLINE_H
#define MV_HEADLINE_H

#include "analyze/advice/findings.h"

typedef enum {
    MV_HEADLINE_ALARM,   /* a problem */
    MV_HEADLINE_UNKNOWN, /* the file does not show it */
    MV_HEADLINE_FINE     /* no problem found */
} mv_headline_level;

typedef struct {
    mv_headline_level level;
    mv_finding_kind kind; /* kind of the report: MV_FINDING_OOM, _LEAK, _FRAGMENTED or _WAITING */
    uint64_t bytes;       /* bytes concerned; 0: none */
    const char *text;     /* "leak 24.0 MiB at train.py:74, 2 more" */
    const char *why;      /* the report's sentence, without a full stop; never NULL */
} mv_headline_row;

typedef struct {
    uint32_t count, alarms;  /* rows; the first `alarms` of them are problems */
    mv_headline_row rows[3]; /* alarms first: failed requests, then most bytes; then leaks,
                              * fragmentation, failed requests */
    const char *line; /* one line: the alarms, or all rows if there are none; "" without reports */
} mv_headline;

/* A NULL report adds no row. `trace` and `sites` are needed for leaks. O(failed requests). Texts
 * are in `arena` or belong to the reports. Fails only when out of memory. */
mv_code mv_headline_find(mv_arena *arena, const mv_reports *reports, mv_headline *out, mv_err *err);

/* The name of a problem in a badge, such as "leak"; NULL if it is not a problem. */
const char *mv_headline_problem(mv_finding_kind kind);

/* "leaks unknown" if that is a finding's sentence, else NULL. */
const char *mv_headline_unknown(const char *text);

/* The number of problems that the reports found. */
uint32_t mv_headline_problems(const mv_reports *reports);

/* A short form for a badge: the number of problems and the worst one ("3: leak"); else the first
 * unknown with its reason ("leaks unknown: no stacks"); else "fine", or for a damaged file "fine
 * (file damaged)". The headline must be from these reports, and their `trace` must be set. NULL
 * when out of memory. */
const char *mv_headline_badge(mv_arena *arena, const mv_reports *reports,
                              const mv_headline *headline);

#endif
