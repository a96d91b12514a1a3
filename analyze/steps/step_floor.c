#include "analyze/steps/step_floor.h"

#include <stdlib.h>

#include "base/sort.h"

/* With fewer events, a run without steps shows nothing. */
#define LEAST_EVENTS 100

/* The bytes that each event adds to what is allocated. *before is what was allocated before the
 * first event. */
static int64_t *changes_of(mv_arena *scratch, const mv_lives *lives, int64_t *before)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t events = lives->events.count;
    int64_t *change = mv_push_array(scratch, int64_t, events);

    *before = 0;
    for (uint32_t i = 0; change && i < a->count; i++) {
        if (a->birth[i] == MV_BEFORE)
            *before += (int64_t)a->block[i];
        else if (a->birth[i] < events)
            change[a->birth[i]] += (int64_t)a->block[i];
        if (a->freed[i] < events)
            change[a->freed[i]] -= (int64_t)a->block[i];
    }
    return change;
}

static void take(mv_floor *out, uint32_t bin, int64_t level)
{
    uint64_t bytes = level > 0 ? (uint64_t)level : 0;

    if (bytes < out->least[bin])
        out->least[bin] = bytes;
    if (bytes > out->most[bin])
        out->most[bin] = bytes;
}

mv_code mv_floor_find(mv_arena *arena, const mv_lives *lives, const mv_steps *steps, mv_floor *out,
                      mv_err *err)
{
    mv_arena scratch;
    int64_t level, *change;
    uint32_t bin = 0;

    *out = (mv_floor){.bins = steps->count + 1};
    out->least = mv_push_array(arena, uint64_t, out->bins);
    out->most = mv_push_array(arena, uint64_t, out->bins);
    mv_arena_init(&scratch, arena->budget);
    change = changes_of(&scratch, lives, &level);
    if (!out->least || !out->most || !change) {
        mv_arena_release(&scratch);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the floor of %u steps", steps->count);
    }
    for (uint32_t b = 0; b < out->bins; b++)
        out->least[b] = UINT64_MAX;
    take(out, 0, level);
    for (uint32_t e = 0; e < lives->events.count; e++) {
        while (bin < steps->count && steps->at[bin] <= e)
            take(out, ++bin, level);
        level += change[e];
        take(out, bin, level);
    }
    while (bin < steps->count)
        take(out, ++bin, level);
    mv_arena_release(&scratch);
    return MV_OK;
}

static int64_t median(int64_t *values, uint32_t count)
{
    mv_sort_rows(NULL, values, count, MV_RISING_VALUES(int64_t));
    return values[count / 2];
}

/* A block born in bin b raises the floor of bin b, or of bin b + 1 if it was born after the lowest
 * moment. So the floor is compared from bin b - 1 to bin b + 1. */
bool mv_floor_prove(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept, uint32_t first,
                    mv_floor_proof *out)
{
    int64_t *rise = mv_push_array(scratch, int64_t, floor->bins);
    int64_t *born = mv_push_array(scratch, int64_t, floor->bins);
    uint32_t count = 0;
    int64_t middle, wanted;

    *out = MV_FLOOR_NOISY;
    if (!rise || !born)
        return false;
    for (uint32_t b = first > 1 ? first : 1; b + 2 < floor->bins; b++) {
        if (kept[b] == 0)
            continue;
        rise[count] = (int64_t)(floor->least[b + 1] - floor->least[b - 1]);
        born[count++] = (int64_t)kept[b];
    }
    if (count == 0)
        return true;
    wanted = median(born, count);
    middle = median(rise, count);
    if (2 * middle >= wanted) {
        *out = MV_FLOOR_RISES;
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        rise[i] = llabs(rise[i] - middle);
    if (median(rise, count) <= wanted)
        *out = MV_FLOOR_STAYS;
    return true;
}

bool mv_floor_comes_back(mv_arena *scratch, const mv_lives *lives, bool *out)
{
    uint32_t events = lives->events.count;
    int64_t level, least[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    int64_t *change = changes_of(scratch, lives, &level);

    *out = false;
    if (!change)
        return false;
    for (uint32_t e = 0; e < events; e++) {
        uint32_t third = (uint32_t)((uint64_t)e * 3 / events);

        level += change[e];
        least[third] = level < least[third] ? level : least[third];
    }
    *out = events >= LEAST_EVENTS && least[2] <= least[1];
    return true;
}
