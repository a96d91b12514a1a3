#include "analyze/lives/ranges.h"

bool mv_ranges_init(mv_arena *arena, uint32_t count, mv_ranges *ranges)
{
    ranges->end = mv_push_unset(arena, uint32_t, count);
    ranges->row = mv_push_unset(arena, uint32_t, count);
    return mv_rankset_init(arena, count, &ranges->starts) && ranges->end && ranges->row;
}

void mv_ranges_add(mv_ranges *ranges, uint32_t low, uint32_t high, uint32_t row)
{
    if (low >= high)
        return;
    mv_rankset_add(&ranges->starts, low);
    ranges->end[low] = high;
    ranges->row[low] = row;
}

uint32_t mv_ranges_cut(mv_ranges *ranges, uint32_t rank)
{
    uint32_t start = mv_ranges_at(ranges, rank);
    uint32_t end;

    if (start == MV_NO_RANK || start == rank)
        return MV_NO_RANK;
    end = ranges->end[start];
    ranges->end[start] = rank;
    mv_ranges_add(ranges, rank, end, ranges->row[start]);
    return start;
}
