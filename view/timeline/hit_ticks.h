/* Marks the hits of a search. Each pixel column in which a hit is allocated has a tick. Ticks are
 * shown at the bottom of the timeline and of the lanes of ranks, on the minimap, and next to the
 * table of events. */
#pragma once

#include "view/timeline/pane_timeline.h"

bool mv_hits_are_marked(const mv_view *view);

/* Whether a hit is allocated after the event `after` (MV_BEFORE: from the beginning) and not after
 * `event`. `bits` belong to the allocations of `index`. O(log n + n / 64) for the n allocations in
 * between. */
bool mv_hit_is_born(const mv_index *index, const mv_filter_bits *bits, uint32_t after,
                    uint32_t event);

/* Paints the ticks. The strip has the same columns as `at`. */
void mv_hit_ticks(mv_view *view, const mv_viewport *at, mv_box strip);

/* Paints the ticks of any device, in the columns of an envelope. */
void mv_hit_ticks_of(mv_view *view, const mv_index *index, const mv_filter_bits *bits,
                     const mv_envelope *columns, mv_box strip);
