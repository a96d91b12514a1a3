/* Arranges annotations, marks and steps in lanes, for the strip above a timeline.
 *
 *     lane 0   ├──────────── ProfilerStep#3 ────────────┤├──── ProfilerStep#4 ...
 *     lane 1   ├─ forward ─┤├─ backward ─┤
 *     lane 2     ▏mark        ▏mark                        a mark is a range without a length */
#pragma once

#include "analyze/steps/steps.h"
#include "view/document/trace_marks.h"

enum { MV_MOST_NESTED = 3, MV_MOST_LANES = MV_MOST_NESTED + 2 };

typedef struct {
    uint32_t from, to; /* events [from, to); equal for a mark */
    mv_string_id name; /* name of the row; MV_NO_STRING: the row is a step, which is identified by
                        * its number */
} mv_lane_row;

typedef struct {
    const char *title; /* "annotations", "marks", "steps"; "" for inner annotations */
    uint32_t count;
    mv_lane_row *rows; /* [count] sorted by `from`; the rows of a lane do not overlap */
} mv_lane;

typedef struct {
    uint32_t count;
    mv_lane lanes[MV_MOST_LANES]; /* outermost lane first */
    uint32_t begin_count;
    uint32_t *begins; /* [begin_count] events at which rows begin, in ascending order, without
                         duplicates */
} mv_mark_lanes;

/* Finds the lanes. `steps` may be NULL if the steps are unknown. Ranges that are nested deeper than
 * MV_MOST_NESTED are omitted. O(n log n) in the number of marks and steps. Fails only when out of
 * memory. */
mv_code mv_mark_lanes_find(mv_arena *arena, const mv_trace_marks *trace_marks,
                           const mv_steps *steps, uint32_t events, mv_mark_lanes *out, mv_err *err);

/* Returns the first row of a lane that ends after `event` (for a mark: that is at or after it);
 * `count` if there is none. */
uint32_t mv_lane_after(const mv_lane *lane, uint32_t event);

/* Return the nearest event before or after `event` (MV_BEFORE: before all events); MV_NO_ROW if
 * there is none. `events` must be ascending. */
uint32_t mv_event_before(const uint32_t *events, uint32_t count, uint32_t event);
uint32_t mv_listed_event_after(const uint32_t *events, uint32_t count, uint32_t event);
