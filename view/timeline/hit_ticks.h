/* Marks of the hits of a search: a tick for each pixel column in which a hit is allocated, at the
 * bottom of the timeline, on the minimap, and beside the table of events. */
#ifndef MV_HIT_TICKS_H
#define MV_HIT_TICKS_H

#include "view/frame/view.h"
#include "view/timeline/viewport.h"

bool mv_hits_are_marked(const mv_view *view);

/* Whether a hit is allocated after the event `after`, MV_BEFORE: from the beginning, and not after
 * `event`. O(log n + n / 64) between them. */
bool mv_hit_is_born(const mv_view *view, uint32_t after, uint32_t event);

/* The strip has the same columns as `at`. */
void mv_hit_ticks(mv_view *view, const mv_viewport *at, mv_box strip);

#endif
