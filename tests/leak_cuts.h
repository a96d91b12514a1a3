/* A recording judged for leaks as it would have looked had it ended earlier: a test that needs no
 * oracle but whether the whole recording leaks. */
#ifndef MVT_LEAK_CUTS_H
#define MVT_LEAK_CUTS_H

#include <stdio.h>

#include "analyze/leaks.h"

enum { MVT_LEAK_LABELS = 8 };

/* Of one device. */
typedef struct {
    mv_leak_verdict verdict;          /* of the whole recording */
    char label[MVT_LEAK_LABELS][200]; /* of its leaks */
    uint32_t labels;
    bool is_graph;                       /* the first leak is a graph, made by many lines */
    uint32_t cuts;                       /* places that were judged, the end included */
    uint32_t leak, clean, unknown;       /* verdicts at these places */
    uint32_t due;                        /* the event after which a leak must be named: the sixth
                                          * step in which the first leak kept a block has begun */
    uint32_t cuts_due, missed, misnamed; /* of the places from there on: not a leak, or another
                                          * line comes first */
    uint32_t first_leak;                 /* the first place at which a leak was named; MV_NEVER */
} mvt_leak_cuts;

/* Judges `cuts` places, evenly spread over the events. A line for each goes to `log` unless it is
 * NULL: "device end verdict steps source leaked blocks culprit why", separated by tabs. */
mv_code mvt_leak_cuts_find(mv_budget *budget, const mv_trace *trace, uint32_t device, uint32_t cuts,
                           FILE *log, mvt_leak_cuts *out, mv_err *err);

#endif
