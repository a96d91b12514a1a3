/* Shortens the verdicts of one device's reports for the titles of pictures and pages, and for the
 * badge in the viewer's toolbar.
 *
 *     out of memory: fragmentation · leak 24.0 MiB at train.py:74, 2 more
 *     fragmented: 514 MiB beyond the need
 *     leaks unknown: no stacks · fragmentation ok (history incomplete) · no failed request recorded
 *     no leak · fragmentation ok · no request failed
 *     PyTorch's allocator: no leak · ...            if the file has other levels of memory
 *
 * If any report's verdict is unknown, so is the headline's. */
#pragma once

#include "analyze/advice/findings.h"

typedef enum {
    MV_HEADLINE_ALARM,   /* a problem */
    MV_HEADLINE_UNKNOWN, /* the file does not show whether there is a problem */
    MV_HEADLINE_FINE     /* no problem found */
} mv_headline_level;

typedef struct {
    mv_headline_level level;
    mv_finding_kind kind; /* kind of the report: MV_FINDING_OOM, _LEAK, _FRAGMENTED or _WAITING */
    uint64_t bytes;       /* number of bytes affected; 0: none */
    const char *text;     /* short form of the verdict, such as "leak 24.0 MiB at train.py:74, 2
                           * more" */
    const char *why;      /* sentence of the report, without a full stop; never NULL */
} mv_headline_row;

typedef struct {
    uint32_t count, alarms;  /* `count` rows, of which the first `alarms` are problems */
    mv_headline_row rows[3]; /* alarms come first: failed requests, then the other alarms, largest
                              * number of bytes first. After the alarms come leaks, fragmentation
                              * and failed requests */
    const char *line; /* all alarms on one line, or all rows if there are no alarms; "" if there
                       * are no reports */
} mv_headline;

/* Builds the headline. A NULL report adds no row. `trace` and `sites` are needed for leaks.
 * O(failed requests). The strings are in `arena` or belong to the reports. Fails only when out of
 * memory. */
mv_code mv_headline_find(mv_arena *arena, const mv_reports *reports, mv_headline *out, mv_err *err);

/* Returns the name of a problem in a badge, such as "leak", or NULL if this kind of finding is not
 * a problem. */
const char *mv_headline_problem(mv_finding_kind kind);

/* Returns "leaks unknown" if `text` is the sentence for unknown leaks, or NULL otherwise. */
const char *mv_headline_unknown(const char *text);

/* Returns the number of problems that the reports found. */
uint32_t mv_headline_problems(const mv_reports *reports);

/* Returns a short text for a badge, which consists of the number of problems and the worst problem
 * ("3: leak"). If there are no problems, returns the first unknown verdict and its reason ("leaks
 * unknown: no stacks"). If all verdicts are known, returns "fine", or "fine (file damaged)" for a
 * damaged file. The headline must have been built from these reports, and their `trace` must be
 * set. Returns NULL when out of memory. */
const char *mv_headline_badge(mv_arena *arena, const mv_reports *reports,
                              const mv_headline *headline);
