/* The allocated bytes of one device as a curve over its events, and its peak without some of its
 * allocations.
 *
 * The caller sorts allocations into parts (such as lines of code); the curve contains every change
 * of every part. */
#ifndef MV_CURVE_H
#define MV_CURVE_H

#include "analyze/lives/lives.h"
#include "analyze/lives/position.h"

/* The bytes that a part gains or loses at one event. */
typedef struct {
    uint32_t event;
    uint32_t part;
    int64_t bytes;
} mv_curve_step;

/* There is a level after each event of the window, and one at the window's first moment. The first
 * level comes from the steps of event MV_BEFORE: one step for each part, with all its bytes from
 * before the window. */
typedef struct {
    uint32_t parts;
    uint64_t count;
    mv_curve_step *steps; /* [count] MV_BEFORE first, then by event */
} mv_curve;

/* The curve of allocated bytes within a window. `part_of` [allocs.count] is the part of each
 * allocation, below `parts`. O(n). Fails only when out of memory. */
mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err);

/* The highest level and the first event after which it is reached (MV_BEFORE: the window's first
 * moment), without the parts for which `gone` is set. `gone` may be NULL. O(steps). */
uint64_t mv_curve_peak(const mv_curve *curve, const uint8_t *gone, uint32_t *event);

/* For each part, the highest level of the curve without this part and without the parts in `gone`,
 * which may be NULL: [parts]. Exact; O(n log n) for all parts together. NULL when out of memory. */
uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone);

/* Adds each part's bytes after an event to bytes[parts]. */
void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes);

#endif
