/* The floor of a run: the least allocated within each step.
 *
 *     allocated    /\  /\  /\  /\
 *                 /  \/  \/  \/  \_      the floor: what the program holds whatever its steps do
 *     bins      0 | 1 | 2 | 3 | 4 | rest
 *
 * The floor of a program that needs ever more memory rises. If one line keeps memory and another
 * gives it back, the floor does not change. */
#ifndef MV_STEP_FLOOR_H
#define MV_STEP_FLOOR_H

#include "analyze/steps/outer_call.h"
#include "analyze/steps/steps.h"
#include "base/search.h"

/* The bytes that each event adds to what is allocated: [events.count]. *before is what was
 * allocated before the first event. NULL when memory is out. O(events + allocations). */
int64_t *mv_level_changes(mv_arena *arena, const mv_lives *lives, int64_t *before);

/* Bins are those of steps.h. Bins 1 to bins - 2 are whole steps. */
typedef struct {
    uint32_t bins;    /* steps.count + 1 */
    uint64_t *least;  /* [bins] least bytes allocated within the bin, including its first moment */
    uint64_t *most;   /* [bins] */
    uint32_t *moment; /* [bins] the moment of `least`: before this event */
} mv_floor;

/* The first bin whose floor comes after an event: what is allocated at that event is part of the
 * floor from there on, and what is freed at it no longer. `bins` when there is none. */
static inline uint32_t mv_floor_bin(const mv_floor *floor, uint32_t event)
{
    return (uint32_t)mv_upper_bound_u32(floor->moment, floor->bins, event);
}

/* O(events + allocations). Fails only when memory is out. */
mv_code mv_floor_find(mv_arena *arena, const mv_lives *lives, const mv_steps *steps, mv_floor *out,
                      mv_err *err);

typedef enum {
    MV_FLOOR_RISES, /* by about as much as seems to be kept */
    MV_FLOOR_NOISY, /* the floor goes up and down by more than that: it proves nothing */
    MV_FLOOR_STAYS  /* what is kept is given back elsewhere */
} mv_floor_proof;

/* Whether the floor rises where memory seems to be kept. kept[b] are the bytes that were born in
 * bin b and are kept; only bins from `first` on count. What `scratch` receives may be released
 * after the call. False when memory is out. O(n log n) in the bins. */
bool mv_floor_prove(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept, uint32_t first,
                    mv_floor_proof *out);

/* Whether the floor of the bins from `first` to the last whole one rises to the end. What is given
 * back later, be it after the last mark, is no rise: at each bin the least from there to the end
 * counts.
 *
 *     floor     ___/---\____/---\___     comes back: no rise
 *               __/-----------------     a fill that has an end: no rise
 *               ___/--/--/--/--/--/-     rises
 *
 * The highest single step is left out, since what is made once is no trend. Then three things show
 * a rise. It is above all that the floor was in the first third of the bins, or its least rises
 * through six parts of them, which chance does once in 720 times; in fewer than 12 bins, which are
 * four or more, it must not fall at all. Late in the last third it has risen by half of an even
 * share or more. And it has not stopped: the last rise is not as long ago as two of the longest
 * pauses before. False when memory is out. O(bins). */
bool mv_floor_trend(mv_arena *scratch, const mv_floor *floor, uint32_t first, bool *rises);

/* For runs without steps and without calls of modules: whether a line is repeated all through the
 * last two thirds of the events, and the least allocated in the last third is not above that in the
 * middle one. Without such a line a third may be less than one step, whose floor shows only that
 * activations were freed. False when memory is out. O(events + allocations). */
bool mv_floor_comes_back(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                         bool *out);

#endif
