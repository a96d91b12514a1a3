/* Represents the allocated bytes of one device as a curve over its events, and finds the peak of
 * this curve without some of the allocations.
 *
 * The caller assigns the allocations to parts (such as lines of code). The curve contains every
 * change of every part. */
#pragma once

#include "analyze/lives/position.h"
#include "analyze/totals/level_steps.h"

enum { MV_CURVE_PIECES = 16 };

/* The curve has a level after each event of the window, and one at the window's first moment. The
 * changes are not stored, because they follow from the columns of the lives, which must outlive the
 * curve. */
typedef struct {
    uint32_t parts;
    mv_lives lives;
    mv_window window;
    const uint32_t *part_of; /* [allocs.count] */
    uint32_t pieces; /* the window is divided into pieces, which several threads can follow */
    uint32_t first[MV_CURVE_PIECES + 1]; /* [pieces + 1] first event of each piece */
    int64_t *before; /* [pieces][parts] bytes that each part holds at the first moment of a piece */
    mv_level_steps steps;
    uint64_t least; /* the peak without any single part is not lower; 0: not known. Stretches with
                     * lower levels are then left out */
} mv_curve;

/* A highest level, and the first event after which it is reached (MV_BEFORE: the window's first
 * moment). */
typedef struct {
    uint64_t bytes;
    uint32_t event;
} mv_curve_top;

/* Makes the curve of allocated bytes within a window. `part_of`, [allocs.count], is the part of
 * each allocation, a number below `parts`. O(n). Fails only when out of memory. */
mv_code mv_curve_find(mv_arena *arena, const mv_lives *lives, mv_window window,
                      const uint32_t *part_of, uint32_t parts, mv_curve *out, mv_err *err);

/* Returns the highest level of the curve without the parts for which `gone` is set; `gone` may be
 * NULL. O(events). */
mv_curve_top mv_curve_peak(const mv_curve *curve, const uint8_t *gone);

/* Returns, for each part, the highest level of the curve without this part and without the parts in
 * `gone`, which may be NULL: [parts]. The levels are exact. Sets *top to mv_curve_peak(curve, gone).
 * O(n log n) for all parts together, on several threads. Returns NULL when out of memory. */
uint64_t *mv_curve_peaks_without(mv_arena *arena, const mv_curve *curve, const uint8_t *gone,
                                 mv_curve_top *top);

/* Adds the bytes that each part holds after an event to bytes[parts]. */
void mv_curve_bytes_at(const mv_curve *curve, uint32_t event, uint64_t *bytes);
