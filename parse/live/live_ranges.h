/* What threads mark in a live file: ranges that nest within a thread (PUSH, POP), ranges that may
 * end on another (BEGIN, END), and moments. */
#ifndef MV_LIVE_RANGES_H
#define MV_LIVE_RANGES_H

#include "parse/live/live_events.h"
#include "parse/live/live_names.h"

/* A range that began, inside of the one that its thread had open. */
typedef struct {
    mv_string_id name;
    uint32_t outer; /* row, or MV_NO_ROW */
} mv_live_open;

typedef struct {
    uint64_t key;  /* thread, or number of a range */
    uint32_t kind; /* which of both */
    uint32_t row;  /* THREAD: row of its innermost open range; else mv_string_id of the name, or
                    * MV_NO_ROW when it ended */
} mv_live_keyed;

typedef struct {
    mv_arena *arena;
    mv_intern index; /* of keyed, by key and kind */
    mv_live_keyed *keyed;
    uint32_t keyed_count, keyed_capacity;
    mv_live_open *open;
    uint32_t open_count, open_capacity;
} mv_live_ranges;

void mv_live_ranges_init(mv_arena *arena, mv_live_ranges *out);

/* Adds the annotation that a MARK, PUSH, POP, BEGIN or END record makes; an end without its
 * beginning is counted as loose. `time_us` is that of the model. False: memory is out. */
bool mv_live_ranges_add(mv_live_ranges *r, mv_live_names *names, const mv_live_record *record,
                        int64_t time_us);

#endif
