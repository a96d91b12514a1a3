/* Finds the floor of a run, which is the least memory that is allocated within each step.
 *
 *     allocated    /\  /\  /\  /\
 *                 /  \/  \/  \/  \_      the floor: memory held regardless of the steps
 *     bins      0 | 1 | 2 | 3 | 4 | rest
 *
 * If a program needs more and more memory, its floor rises. If one line keeps memory and another
 * line frees the same amount, the floor does not change. */
#pragma once

#include "analyze/lives/lasting.h"
#include "analyze/steps/outer_call.h"
#include "analyze/steps/steps.h"
#include "base/search.h"

/* The floor in each bin. Bins are defined in steps.h; bins 1 to bins - 2 are whole steps. */
typedef struct {
    uint32_t bins;    /* number of bins: steps.count + 1 */
    uint64_t *least;  /* [bins] smallest number of bytes allocated within the bin, including at its
                       * first moment */
    uint64_t *most;   /* [bins] largest number of bytes allocated within the bin */
    uint32_t *moment; /* [bins] the event directly after the moment at which `least` was reached */
    mv_lasting lasting; /* allocations that outlive the bin of their birth or are part of a floor;
                         * usually few. They begin with all preexisting rows */
} mv_floor;

/* Returns the first bin whose floor comes after an event; `bins` if there is no such bin. In this
 * bin and all later ones, memory allocated at the event is part of the floor, and memory freed at
 * the event is no longer part of it. */
static inline uint32_t mv_floor_bin(const mv_floor *floor, uint32_t event)
{
    return (uint32_t)mv_upper_bound_u32(floor->moment, floor->bins, event);
}

/* Visits the allocations that are part of the floor of any bin, in order of birth. Most allocations
 * are not.
 *
 *     for (mv_floor_walk at = {.floor = floor, .allocs = allocs}; mv_floor_next(&at);)
 *         ... at.row, at.from ... */
typedef struct {
    const mv_floor *floor;
    const mv_alloc_lives *allocs;
    uint32_t next; /* row of floor->lasting */
    uint32_t row;  /* the allocation */
    uint32_t from; /* the first bin whose floor comes after its birth */
} mv_floor_walk;

static inline bool mv_floor_next(mv_floor_walk *walk)
{
    const mv_floor *f = walk->floor;

    while (walk->next < f->lasting.count) {
        uint32_t row = walk->row = f->lasting.row[walk->next++], birth = walk->allocs->birth[row];
        while (walk->from < f->bins && birth != MV_BEFORE && f->moment[walk->from] <= birth)
            walk->from++;
        if (walk->from < f->bins && f->moment[walk->from] <= walk->allocs->freed[row])
            return true;
    }
    return false;
}

/* Finds the floor. O(events + allocations). Fails only when out of memory. */
mv_code mv_floor_find(mv_arena *arena, const mv_lives *lives, const mv_steps *steps, mv_floor *out,
                      mv_err *err);

typedef enum {
    MV_FLOOR_RISES, /* the floor rises by about as many bytes as seem to be kept */
    MV_FLOOR_NOISY, /* the floor varies by more bytes than seem to be kept, so it proves nothing */
    MV_FLOOR_STAYS  /* the floor does not rise, because as many bytes as seem to be kept are freed
                     * elsewhere */
} mv_floor_proof;

/* Decides whether the floor rises where memory seems to be kept. kept[b] is the number of kept
 * bytes that were allocated in bin b; only bins at or after `first` count. Memory allocated in
 * `scratch` may be released after the call. O(n log n) in the number of bins. Returns false when
 * out of memory. */
bool mv_floor_prove(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept, uint32_t first,
                    mv_floor_proof *out);

/* Decides whether the floor of the bins from `first` to the last whole bin rises until the end.
 * Memory that is freed later, even after the last mark, does not count as a rise. Therefore, the
 * value used for each bin is the lowest floor in this bin or any later one.
 *
 *     floor     ___/---\____/---\___     comes back: not a rise
 *               __/-----------------     a fill that ends: not a rise
 *               ___/--/--/--/--/--/-     rises
 *
 * The highest single step of the floor is ignored, because a one-time allocation is not a trend.
 * The floor then rises if three conditions are met. First, the last third of the floor is above the
 * whole first third, or the floor rises through six equal parts, which happens by chance once in
 * 720 times. With four to eleven bins, the floor must also never fall. Second, late in the last
 * third, the floor still rises by at least half as much as it would if it rose evenly. For a floor
 * that never falls, this rise may instead be measured over the length of its longest pause. Third,
 * the floor has not stopped rising, that is, the time since its last rise is shorter than twice the
 * longest earlier pause.
 *
 * A floor that varies with the requests under way also counts as rising if two conditions are met.
 * It must rise through six parts, except for one pair of neighbours (which happens by chance 6
 * times in 720). It must also rise from the fourth part to the last by at least half as much as it
 * would if it rose evenly. Both tests are repeated without the first third of the bins and without
 * the first half, because a server fills up in this time. *plainly is set to false if only these
 * additional tests show the rise. O(bins). Returns false when out of memory. */
bool mv_floor_trend(mv_arena *scratch, const mv_floor *floor, uint32_t first, bool *rises,
                    bool *plainly);

/* For runs without steps and without module calls, decides whether the allocated level comes back
 * down. This is the case if a line repeats throughout the last two thirds of the events, and if the
 * lowest level of the last third is not above that of the middle third. Without such a line, a
 * third may be shorter than one step, so a low level shows only that activations were freed.
 * O(events + allocations). Returns false when out of memory. */
bool mv_floor_comes_back(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                         bool *out);
