/* The blocks and segments that are alive before an event. They make it possible to analyze the
 * later events as if the earlier ones were present.
 *
 *     events of the whole trace     0 1 2 3 4 5 6 7 8 9
 *     alive before event 7            1     4                living = {.count = 2, .first = 7}
 *     rows of the part                0     1     2 3 4
 *
 * The first rows of a part are its live rows: copies of the events that began the live blocks and
 * segments. A block has its alloc, and also its free_requested if the block is waiting for a
 * stream. A segment, or a remaining piece of a segment, has its segment_alloc or segment_map.
 * Writers store live rows only for traces without uncertain lifetimes, so reports about the part
 * are the same as reports about that window of the whole trace. */
#pragma once

#include "parse/model/digest.h"

typedef struct mv_living {
    uint32_t count;        /* number of live rows */
    uint32_t first;        /* number of the event in row `count`, or `total` if there is no such
                            * event; 0: the part begins with the first event, and `count` is 0 */
    uint32_t total;        /* total number of events of the device */
    bool is_cut;           /* later events are missing, so the final heap cannot be used */
    const uint64_t *block; /* [count] bytes that the block of each alloc occupies; 0 in other
                            * rows */
    const uint32_t *event; /* [count] event number of each live row */
    uint32_t older;        /* number of blocks from before the first event; these blocks have no
                            * rows */
    const uint64_t *older_addr, *older_block; /* [older] addresses and sizes of these blocks */
} mv_living;

/* The live rows as stored in a file. */
typedef struct {
    mv_events rows;
    uint32_t *event; /* [rows.count] event number of each row; MV_NO_ROW: a block from before the
                      * first event */
    uint64_t *block; /* [rows.count] as in mv_living */
} mv_living_columns;

/* The lifetimes on a device, for writers (analyze/lives/digests.h). The arrays are columns of
 * mv_alloc_lives and mv_segment_lives. */
typedef struct {
    bool is_known; /* no lifetime is uncertain; if false, all other fields are zero */
    uint32_t allocs, segments;
    const uint64_t *addr, *requested, *block; /* [allocs] */
    const uint32_t *birth, *freed, *completed;
    const uint64_t *segment_addr, *segment_size; /* [segments] */
    const uint32_t *segment_birth, *segment_death;
} mv_spans;

/* Returns true if some events of the device were left out. */
static inline bool mv_living_is_part(const mv_living *l)
{
    return l->first > 0 || l->is_cut;
}

static inline mv_living mv_living_of(const mv_trace *trace, uint32_t device)
{
    return trace->living && device < trace->device_count ? trace->living[device] : (mv_living){0};
}

/* Returns the number of the event in a row; UINT32_MAX stays UINT32_MAX. For a live row, returns
 * the number of the last event before the part. */
static inline uint32_t mv_event_number(const mv_trace *trace, uint32_t device, uint32_t row)
{
    mv_living l = mv_living_of(trace, device);

    if (row == UINT32_MAX)
        return row;
    return row < l.count ? l.first - 1 : row - l.count + l.first;
}

/* Returns the number of events, including those that were left out. */
static inline uint32_t mv_event_total(const mv_trace *trace, uint32_t device)
{
    return trace->living && device < trace->device_count ? trace->living[device].total
                                                         : mv_trace_events(trace, device).count;
}

/* Returns the row of an event. For an event before the part, returns the first row after the live
 * rows; for an event after the part, the number of rows. */
static inline uint32_t mv_row_of_event(const mv_trace *trace, uint32_t device, uint32_t number)
{
    mv_living l = mv_living_of(trace, device);
    uint32_t row = number < l.first ? l.count : number - l.first + l.count;
    uint32_t end = mv_trace_events(trace, device).count;

    return row < end ? row : end;
}
