/* Finds allocations that a column does not show. A column covers many events, but shows the heap
 * after only one of them. Its spikes are the allocations that are born in the column but freed
 * before that event, or born after that event but freed before the one that the next column shows.
 * The timeline marks spikes in a separate lane. */
#pragma once

#include "viz/core/index.h"

/* Returns the largest row of at least `least` bytes that is born after an event of [first, end), is
 * not alive at `event` (the event shown), and ends before `end`. If several are equally large,
 * returns the first of them; MV_NO_ROW if there is none. Rows that are never alive do not count.
 * `drawn` NULL: all rows. O(log n) for each row that is larger than all rows before it. */
uint32_t mv_spike_find(const mv_index *index, const uint64_t *drawn, uint32_t first, uint32_t end,
                       uint32_t event, uint64_t least);
