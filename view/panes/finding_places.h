/* Where a finding (analyze/advice/findings.h) is in the window: what a click on it pins, shows and
 * searches for. */
#pragma once

#include "analyze/advice/findings.h"
#include "view/document/document.h"

typedef struct {
    uint32_t from, to;  /* the events [from, to) to show */
    uint32_t alloc;     /* allocation to pin; MV_NO_ROW: none */
    const char *search; /* filter to search for; "": none */
    const char *ticks;  /* items to tick on the What-if tab (whatif_replay.h); "": none */
} mv_finding_place;

/* Finds the places of all findings: [findings->count], allocated in `arena`; NULL when out of
 * memory. O(rows of its lives) for each finding. If `whatif` is NULL, no finding may be about other
 * settings. */
mv_finding_place *mv_finding_places_find(mv_arena *arena, const mv_document *document,
                                         const mv_document_device *device,
                                         const mv_findings *findings, const mv_whatif *whatif);
