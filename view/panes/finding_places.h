/* The place of a finding (analyze/advice/findings.h) in the window: a click on a finding pins,
 * shows and searches for it. */
#ifndef MV_FINDING_PLACES_H
#define MV_FINDING_PLACES_H

#include "analyze/advice/findings.h"
#include "view/document/document.h"

typedef struct {
    uint32_t from, to;  /* events [from, to) to show */
    uint32_t alloc;     /* row to pin; MV_NO_ROW: none */
    const char *search; /* a filter; "": none */
    const char *ticks;  /* of the What-if tab (whatif_replay.h); "": none */
} mv_finding_place;

/* [findings->count] places in `arena`; NULL when out of memory. O(rows of its lives) for each.
 * `whatif` NULL: there is no finding about other settings. */
mv_finding_place *mv_finding_places_find(mv_arena *arena, const mv_document *document,
                                         const mv_document_device *device,
                                         const mv_findings *findings, const mv_whatif *whatif);

#endif
