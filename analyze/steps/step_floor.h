/* The floor of a run: the least allocated within each step.
 *
 *     allocated    /\  /\  /\  /\
 *                 /  \/  \/  \/  \_      the floor: memory held regardless of the steps
 *     bins      0 | 1 | 2 | 3 | 4 | rest
 *
 * If a program needs ever more memory, its floor rises. If one line keeps memory and another line
 * frees as much, the floor does not change. */
#ifndef MV_STEP_FLOOR_H
#define MV_STEP_FLOOR_H

#include "analyze/steps/outer_call.h"
#include "analyze/steps/steps.h"
#include "base/search.h"

/* The change of allocated bytes by each event: [events.count]. *before is the number of bytes
 * allocated before the first event. NULL when out of memory. O(events + allocations). */
int64_t *mv_level_changes(mv_arena *arena, const mv_lives *lives, int64_t *before);

/* Bins are defined in steps.h. Bins 1 to bins - 2 are whole steps. */
typedef struct {
    uint32_t bins;    /* steps.count + 1 */
    uint64_t *least;  /* [bins] fewest bytes allocated within the bin, including its first moment */
    uint64_t *most;   /* [bins] */
    uint32_t *moment; /* [bins] the moment of `least`: before this event */
} mv_floor;

/* The first bin whose floor comes after an event: from there on, memory allocated at the event is
 * part of the floor, and memory freed at the event no longer is. `bins` if there is no such bin. */
static inline uint32_t mv_floor_bin(const mv_floor *floor, uint32_t event)
{
    return (uint32_t)mv_upper_bound_u32(floor->moment, floor->bins, event);
}

/* Whether an allocation is part of any floor; few are. Call this in order of birth, with *from
 * initially 0; *from becomes the first bin whose floor comes after the birth. */
static inline bool mv_floor_holds(const mv_floor *floor, const mv_alloc_lives *allocs, uint32_t row,
                                  uint32_t *from)
{
    while (*from < floor->bins && allocs->birth[row] != MV_BEFORE &&
           floor->moment[*from] <= allocs->birth[row])
        ++*from;
    return *from < floor->bins && floor->moment[*from] <= allocs->freed[row];
}

/* O(events + allocations). Fails only when out of memory. */
mv_code mv_floor_find(mv_arena *arena, const mv_lives *lives, const mv_steps *steps, mv_floor *out,
                      mv_err *err);

typedef enum {
    MV_FLOOR_RISES, /* by about as many bytes as seem to be kept */
    MV_FLOOR_NOISY, /* the floor varies by more than the kept bytes, so it proves nothing */
    MV_FLOOR_STAYS  /* as many bytes as are kept are freed elsewhere */
} mv_floor_proof;

/* Whether the floor rises where memory seems to be kept. kept[b]: kept bytes that were allocated in
 * bin b; only bins from `first` on count. Memory from `scratch` may be released after the call.
 * False when out of memory. O(n log n) in the bins. */
bool mv_floor_prove(mv_arena *scratch, const mv_floor *floor, const uint64_t *kept, uint32_t first,
                    mv_floor_proof *out);

/* Whether the floor of the bins from `first` to the last whole bin rises to the end. Memory that is
 * freed later, even after the last mark, is not a rise: for each bin, the lowest floor from there
 * to the end counts.
 *
 *     floor     ___/---\____/---\___     comes back: not a rise
 *               __/-----------------     a fill that ends: not a rise
 *               ___/--/--/--/--/--/-     rises
 *
 * The highest single step is ignored: a one-time allocation is not a trend. A rise then needs three
 * things. First, the last third of the floor is above the whole first third, or the floor rises
 * through six equal parts, which happens by chance once in 720 times; with four to eleven bins, it
 * must also never fall. Second, late in the last third the floor still rises by at least half of an
 * even share; for a floor that never falls, this may be measured over the length of its longest
 * pause instead. Third, the floor has not stopped: its last rise is less than two of the longest
 * earlier pauses ago.
 *
 * A floor that varies with the requests under way also rises if it rises through six parts except
 * for one pair of neighbours (by chance, 6 times in 720), and by half of an even share from the
 * fourth part to the last. Both tests are repeated without the first third of the bins and without
 * the first half, in which a server fills. *plainly is false if only such a test shows the rise.
 * False when out of memory. O(bins). */
bool mv_floor_trend(mv_arena *scratch, const mv_floor *floor, uint32_t first, bool *rises,
                    bool *plainly);

/* For runs without steps and without module calls: whether a line repeats throughout the last two
 * thirds of the events, and the lowest level of the last third is not above that of the middle
 * third. Without such a line, a third may be shorter than one step, and a low level only shows that
 * activations were freed. False when out of memory. O(events + allocations). */
bool mv_floor_comes_back(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                         bool *out);

#endif
