/* Allocations that a column does not show. A column covers many events, but shows the heap after
 * only one of them. Its spikes are the allocations that are born in the column and freed before
 * that instant, or born after it and freed before the next column's instant; the timeline marks
 * them in a separate lane. */
#ifndef MV_COLUMN_SPIKES_H
#define MV_COLUMN_SPIKES_H

#include "viz/core/index.h"

/* The largest row of at least `least` bytes that is born after an event of [first, end), is not
 * alive at `event` (the event shown), and ends before `end`; the first among equals; MV_NO_ROW when
 * there is none. Rows that are never alive do not count. `drawn` NULL: all rows. O(log n) for each
 * row that is larger than all rows before it. */
uint32_t mv_spike_find(const mv_index *index, const uint64_t *drawn, uint32_t first, uint32_t end,
                       uint32_t event, uint64_t least);

#endif
