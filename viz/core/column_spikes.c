#include "viz/core/column_spikes.h"

uint32_t mv_spike_find(const mv_index *x, const uint64_t *drawn, uint32_t first, uint32_t end,
                       uint32_t event, uint64_t least)
{
    uint32_t limit, found = MV_NO_ROW;

    if (first >= end)
        return MV_NO_ROW;
    limit = mv_index_born(x, end - 1);
    for (uint32_t r = mv_index_born(x, first - 1); r < limit; r++) {
        r = mv_index_next_large(x, r, limit, least);
        if (r == limit)
            break;
        if (x->end[r] >= end || x->end[r] <= x->birth[r] || mv_index_is_alive(x, r, event))
            continue;
        if (drawn && !(drawn[r >> 6] >> (r & 63) & 1))
            continue;
        found = r;
        least = x->bytes[r] + 1;
        if (least == 0)
            break;
    }
    return found;
}
