/* The blocks and segments alive before an event, so that the events after it can be analyzed as if
 * the earlier ones were present.
 *
 *     events of the whole trace     0 1 2 3 4 5 6 7 8 9
 *     alive before event 7            1     4                living = {.count = 2, .first = 7}
 *     rows of the part                0     1     2 3 4
 *
 * The first rows of a part are the events that began them: the alloc of a block, and its
 * free_requested if it waits for a stream; the segment_alloc or segment_map of a segment, or of the
 * remaining piece of one. Writers store this only for traces whose lives have no doubts, so
 * that reports on the window are the same as from the whole. */
#ifndef MV_LIVING_H
#define MV_LIVING_H

#include "parse/model/digest.h"

typedef struct mv_living {
    uint32_t count;        /* rows before the part */
    uint32_t first;        /* event in row `count`; `total` if no event is there; 0: from the first
                            * one on, and `count` is 0 */
    uint32_t total;        /* events of the device */
    bool is_cut;           /* later events are missing, and the final heap says nothing */
    const uint64_t *block; /* [count] bytes that the allocated block occupies; 0 in other rows */
    uint32_t older;        /* blocks from before the first event: without rows */
    const uint64_t *older_addr, *older_block; /* [older] */
} mv_living;

/* The rows that begin what is alive, as a file has them. */
typedef struct {
    mv_events rows;
    uint32_t *event; /* number of the row's event; MV_NO_ROW: a block from before the first one */
    uint64_t *block; /* of mv_living */
} mv_living_columns;

/* The lives of a device, for writers (analyze/lives/digests.h): columns of mv_alloc_lives and
 * mv_segment_lives. */
typedef struct {
    bool is_known; /* they have no doubts; else the rest is zero */
    uint32_t allocs, segments;
    const uint64_t *addr, *requested, *block; /* [allocs] */
    const uint32_t *birth, *freed, *completed;
    const uint64_t *segment_addr, *segment_size; /* [segments] */
    const uint32_t *segment_birth, *segment_death;
} mv_spans;

/* Whether events of the device were left out. */
static inline bool mv_living_is_part(const mv_living *l)
{
    return l->first > 0 || l->is_cut;
}

static inline mv_living mv_living_of(const mv_trace *trace, uint32_t device)
{
    return trace->living && device < trace->device_count ? trace->living[device] : (mv_living){0};
}

/* The number of the event in a row, or UINT32_MAX for that. A row before the part is the moment
 * before its first event. */
static inline uint32_t mv_event_number(const mv_trace *trace, uint32_t device, uint32_t row)
{
    mv_living l = mv_living_of(trace, device);

    if (row == UINT32_MAX)
        return row;
    return row < l.count ? l.first - 1 : row - l.count + l.first;
}

/* The number of events, with those that were left out. */
static inline uint32_t mv_event_total(const mv_trace *trace, uint32_t device)
{
    return trace->living && device < trace->device_count ? trace->living[device].total
                                                         : mv_trace_events(trace, device).count;
}

/* The row of an event; of an event outside the part, the first row of the part, or its end. */
static inline uint32_t mv_row_of_event(const mv_trace *trace, uint32_t device, uint32_t number)
{
    mv_living l = mv_living_of(trace, device);
    uint32_t row = number < l.first ? l.count : number - l.first + l.count;
    uint32_t end = mv_trace_events(trace, device).count;

    return row < end ? row : end;
}

#endif
