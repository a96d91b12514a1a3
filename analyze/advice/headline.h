/* The verdicts of the reports on one device, short: for titles of pictures and pages, and for the
 * badge in the viewer's toolbar.
 *
 *     out of memory: fragmentation · leak 24.0 MiB at train.py:74, 2 more
 *     fragmented: 514 MiB beyond the need
 *     leaks unknown: no stacks · fragmentation ok as far as is known · no failed request recorded
 *     no leak · fragmentation ok · no request failed
 *
 * It says no more than the reports do: what they call unknown is unknown here. */
#ifndef MV_HEADLINE_H
#define MV_HEADLINE_H

#include "analyze/advice/findings.h"

typedef enum {
    MV_HEADLINE_ALARM,   /* it is wrong */
    MV_HEADLINE_UNKNOWN, /* the file does not show it */
    MV_HEADLINE_FINE     /* it was looked for and is not there */
} mv_headline_level;

typedef struct {
    mv_headline_level level;
    mv_finding_kind kind; /* MV_FINDING_OOM, _LEAK, _FRAGMENTED or _WAITING: which report says it */
    uint64_t bytes;       /* that it is about; 0: none */
    const char *text;     /* "leak 24.0 MiB at train.py:74, 2 more" */
    const char *why;      /* the report's sentence, without a full stop; never NULL */
} mv_headline_row;

typedef struct {
    uint32_t count, alarms;  /* rows; the first `alarms` of them say what is wrong */
    mv_headline_row rows[3]; /* alarms first: failed requests, then those with most bytes; then
                              * leaks, fragmentation, failed requests */
    const char *line; /* one line: the alarms, or all rows when there is none; "" without reports */
} mv_headline;

/* Reports that are NULL are left out: nothing is said of what they are about. `trace` and `sites`
 * are needed for leaks. O(failed requests). Texts are in `arena`, or those of the reports. Fails
 * only when memory is out. */
mv_code mv_headline_find(mv_arena *arena, const mv_reports *reports, mv_headline *out, mv_err *err);

/* The least that a badge says: how many findings are wrong and which is the worst ("3: leak"), or
 * else the first that is not known, with what is missing ("leaks unknown: no stacks"), or "fine",
 * of a damaged file "fine as far as recorded". The headline is of the same reports, which have the
 * `trace`. NULL when memory is out. */
const char *mv_headline_badge(mv_arena *arena, const mv_reports *reports,
                              const mv_headline *headline);

#endif
