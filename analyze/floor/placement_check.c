#include "analyze/floor/placement.h"
#include "analyze/replay/gaps.h"
#include "base/sort.h"

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* A birth or a death. At equal times deaths come first, because a life does not include its end. */
typedef struct {
    uint32_t time;
    uint8_t is_birth;
    uint32_t row;
} moment;

static moment *moments_of(mv_arena *arena, const mv_placed_block *blocks, uint32_t count)
{
    moment *moments = mv_push_array(arena, moment, 2 * (uint64_t)count);

    for (uint32_t i = 0; moments && i < count; i++) {
        moments[2 * (uint64_t)i] = (moment){blocks[i].birth, 1, i};
        moments[2 * (uint64_t)i + 1] = (moment){blocks[i].death, 0, i};
    }
    if (moments)
        mv_sort_rows(arena, moments, 2 * (uint64_t)count, MV_RISING(moment, time),
                     MV_RISING(moment, is_birth));
    return moments;
}

mv_code mv_placement_load(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t *load, uint32_t *at, mv_err *err)
{
    mv_arena own;
    moment *moments;
    uint64_t now = 0;

    *load = 0;
    *at = 0;
    mv_arena_init(&own, arena->budget);
    moments = moments_of(&own, blocks, count);
    for (uint64_t i = 0; moments && i < 2 * (uint64_t)count; i++) {
        uint64_t size = blocks[moments[i].row].size;
        now += moments[i].is_birth ? size : -size;
        if (now > *load) {
            *load = now;
            *at = moments[i].time;
        }
    }
    mv_arena_release(&own);
    return moments ? MV_OK : no_memory(err);
}

/* Adds a living block. Returns false if it overlaps another living block. */
static bool add(mv_gaps *living, uint64_t low, uint64_t size, bool *out_of_memory)
{
    uint32_t below = mv_gaps_before(living, low), above = mv_gaps_at(living, low);

    if (below != MV_NO_GAP && living->gaps[below].addr + living->gaps[below].size > low)
        return false;
    if (above != MV_NO_GAP && low + size > living->gaps[above].addr)
        return false;
    *out_of_memory = !mv_gaps_add(living, low, size, 0);
    return !*out_of_memory;
}

mv_code mv_placement_check(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                           const uint64_t *offset, uint64_t top, bool *is_sound, mv_err *err)
{
    bool out_of_memory = false;
    uint64_t highest = 0;
    mv_gaps living;
    moment *moments;
    mv_arena own;

    mv_arena_init(&own, arena->budget);
    mv_gaps_init(&living, &own);
    moments = moments_of(&own, blocks, count);
    *is_sound = true;
    for (uint64_t i = 0; moments && i < 2 * (uint64_t)count && *is_sound; i++) {
        uint32_t row = moments[i].row;
        uint64_t end = offset[row] + blocks[row].size;
        highest = end > highest ? end : highest;
        if (moments[i].is_birth)
            *is_sound =
                end > offset[row] && add(&living, offset[row], blocks[row].size, &out_of_memory);
        else
            mv_gaps_drop(&living, mv_gaps_at(&living, offset[row]));
    }
    *is_sound = *is_sound && highest == top;
    mv_arena_release(&own);
    return moments && !out_of_memory ? MV_OK : no_memory(err);
}
