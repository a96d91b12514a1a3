/* The times of a device's events, either as a column of 8 bytes an event or packed into about one.
 *
 * A packed time is stored as the step from the event before it, which seldom needs more than a byte.
 * `base` has the time of every 64th event. Events after a step that is too long, and first events of
 * the pieces from which the times are collected, are jumps, which have their own times. So finding
 * the time of an event takes a search among the jumps and at most 63 additions. */
#pragma once

#include "base/search.h"
#include "parse/model/trace.h"

typedef struct {
    uint32_t event;
    int64_t time_us;
} mv_time_jump;

typedef struct mv_packed_times {
    uint32_t count;
    uint32_t step_bytes; /* 1 or 2 */
    void *step;          /* [count] microseconds since the event before; jumps have any value */
    int64_t *base;       /* [count / 64 + 1] time of every 64th event */
    mv_time_jump *jumps; /* [jump_count] ascending; the first is event 0 */
    uint32_t jump_count, jump_capacity;
    int64_t last_us; /* time of the last event that was added */
} mv_packed_times;

/* The times of consecutive events. */
typedef struct {
    uint32_t count;
    const int64_t *time_us; /* [count] */
    void *step;             /* [count] */
    mv_time_jump *jumps;    /* [jump_count] events are counted from the first of the piece */
    uint32_t jump_count, jump_capacity;
} mv_times_piece;

/* Begins with `count` events that last `us` microseconds in total. Fails only when out of memory. */
bool mv_packed_times_begin(mv_arena *arena, uint32_t count, uint64_t us, mv_packed_times *out);

/* Packs a piece, in `arena`. Different threads may do so at the same time. Fails with MV_NOMEM, or
 * with MV_CORRUPT if the times are not in ascending order. */
mv_code mv_times_piece_pack(const mv_packed_times *times, mv_arena *arena, const int64_t *time_us,
                            uint32_t count, mv_times_piece *out);

/* Adds the next piece, whose first event is `first`. `arena` is that of `times`. Fails like
 * mv_times_piece_pack. */
mv_code mv_packed_times_add(mv_packed_times *times, mv_arena *arena, uint32_t first,
                            const mv_times_piece *piece);

/* Copies a piece that was added. Different threads may do so at the same time, also while others are
 * added. */
void mv_packed_times_copy(const mv_packed_times *times, uint32_t first,
                          const mv_times_piece *piece);

int64_t mv_packed_time(const mv_packed_times *times, uint32_t event);

/* Returns the time of an event. */
static inline int64_t mv_event_time(const mv_events *events, uint32_t event)
{
    return events->time_us ? events->time_us[event] : mv_packed_time(events->packed_times, event);
}

/* Returns the first event at or after a time; events->count if there is none. */
static inline uint32_t mv_event_from(const mv_events *events, int64_t time_us)
{
    mv_bisect b = mv_bisect_over(0, events->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, mv_event_time(events, (uint32_t)b.middle) < time_us);
    return (uint32_t)b.low;
}

/* Returns the first event after a time; events->count if there is none. */
static inline uint32_t mv_event_after(const mv_events *events, int64_t time_us)
{
    return time_us == INT64_MAX ? events->count : mv_event_from(events, time_us + 1);
}
