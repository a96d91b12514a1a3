/* Represents the allocated bytes of one device as a curve over its events, and finds the peak of
 * this curve without some of the allocations.
 *
 * The caller assigns the allocations to parts (such as lines of code). The curve contains every
 * change of every part. */
#ifndef MV_CURVE_H
#define MV_CURVE_H

#include "analyze/lives/lives.h"
#include "analyze/lives/position.h"

/* A number of bytes that a part gains or loses at one event. */
typedef struct {
    uint32_t event;
    uint32_t part;
    int64_t bytes;
} mv_curve_step;

/* The curve has a level after each event of the window, and one at the window's first moment. The
 * first level comes from the steps of event MV_BEFORE. Each part has one such step, with all of the
 * part's bytes from before the window. */
typedef struct {
    uint32_t parts;
    uint64_t count;
    mv_curve_step *steps; /* [count] steps; those of MV_BEFORE come first, the others are sorted by
                           * event */
} mv_curve;

/* Makes the curve of allocated bytes within a window. `part_of`, [allocs.count], is the part of
 * each allocation, a number below `parts`. O(n). Fails only when out of memory. */
mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err);

/* Returns the highest level of the curve without the parts for which `gone` is set; `gone` may be
 * NULL. Sets *event to the first event after which this level is reached (MV_BEFORE: the window's
 * first moment). O(steps). */
uint64_t mv_curve_peak(const mv_curve *curve, const uint8_t *gone, uint32_t *event);

/* Returns, for each part, the highest level of the curve without this part and without the parts in
 * `gone`, which may be NULL: [parts]. The levels are exact. O(n log n) for all parts together.
 * Returns NULL when out of memory. */
uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone);

/* Adds the bytes that each part holds after an event to bytes[parts]. */
void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes);

#endif
