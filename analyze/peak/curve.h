/* The allocated bytes of one device as a curve over its events, and what it would be without some
 * of its allocations: what peaks elsewhere are judged by.
 *
 * Allocations are sorted into parts by the caller (a part may be a line of code); the curve knows
 * when each part grows and shrinks. */
#ifndef MV_CURVE_H
#define MV_CURVE_H

#include "analyze/lives/lives.h"
#include "analyze/lives/position.h"

/* Bytes that a part gains or loses at one event. */
typedef struct {
    uint32_t event;
    uint32_t part;
    int64_t bytes;
} mv_curve_step;

/* Levels count behind each event of the window, and at its first moment, which the steps of event
 * MV_BEFORE make: everything from in front of the window is summed there, a step a part. */
typedef struct {
    uint32_t parts;
    uint64_t count;
    mv_curve_step *steps; /* [count] MV_BEFORE first, then by event */
} mv_curve;

/* The curve of allocated bytes within a window. `part_of` [allocs.count] gives the part of each
 * allocation, below `parts`. O(n). Fails only for want of memory. */
mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err);

/* The highest level and the first event behind which it stands (MV_BEFORE: the window's first
 * moment), without the parts for which `gone` is set; NULL: with all. O(steps). */
uint64_t mv_curve_peak(const mv_curve *curve, const uint8_t *gone, uint32_t *event);

/* For each part the highest level that the curve would reach without it: its own bytes taken away
 * at every moment, the parts in `gone` (may be NULL) as well. [parts]; exact, in O(n log n) for
 * all parts together. NULL when memory is out. */
uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone);

/* The bytes of each part behind an event: adds to bytes[parts]. */
void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes);

#endif
