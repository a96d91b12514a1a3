/* Converts the marks and ranges in a live file: single marks, ranges that nest within a thread
 * (PUSH, POP), and ranges that may end in another thread (BEGIN, END). */
#pragma once

#include "base/map.h"
#include "parse/live/live_events.h"
#include "parse/live/live_names.h"

/* An open range. */
typedef struct {
    mv_string_id name;
    uint32_t outer; /* row of the range around it in the same thread, or MV_NOT_IN_MAP */
} mv_live_open;

typedef struct {
    mv_arena *arena;
    mv_map innermost; /* row of a thread's innermost open range */
    mv_map named;     /* name (mv_string_id) of each open range, by the range's number */
    mv_live_open *open;
    uint32_t open_count, open_capacity;
} mv_live_ranges;

void mv_live_ranges_init(mv_arena *arena, mv_live_ranges *out);

/* Adds the annotation of a MARK, PUSH, POP, BEGIN or END record; an end without a beginning is
 * counted as loose. `time_us` is on the model's clock. Returns false when out of memory. */
bool mv_live_ranges_add(mv_live_ranges *r, mv_build *b, mv_live_names *names,
                        const mv_live_record *record, int64_t time_us);
