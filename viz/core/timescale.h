/* The x axis of a timeline: the place of each event, and the instant that a column of pixels shows.
 *
 *     EVENTS   one unit an event: event e is at e
 *     TIME     microseconds since the first event
 *     BUSY     like TIME, but a pause without events that exceeds a share of the trace is cut
 *              to a narrow band
 *     TICKS    the clock of PyTorch's viewer: 1 for an allocation, 1 for a free, 3 for the slide of
 *              the rows above it
 *
 * Between the places of two events, the heap is as the first event leaves it. Before event 0 there
 * is only the moment MV_BEFORE, if there is room for it. */
#ifndef MV_TIMESCALE_H
#define MV_TIMESCALE_H

#include "viz/core/index.h"
#include "viz/core/pyramid.h"

typedef enum { MV_CLOCK_EVENTS, MV_CLOCK_TIME, MV_CLOCK_TICKS, MV_CLOCK_BUSY, MV_CLOCKS } mv_clock;

/* A cut pause: before `event`, [from, to) on the axis. */
typedef struct {
    uint32_t event;
    double from, to;
    int64_t us;     /* its real length */
    double removed; /* microseconds removed from the axis by this cut and all cuts before it */
} mv_time_cut;

/* No more pauses than this can exceed their share. */
enum { MV_MOST_TIME_CUTS = 20 };

typedef struct {
    mv_clock clock;
    uint32_t events;
    double length;          /* the axis is [0, length); at least 1 */
    double slide;           /* length of a slide on the axis: 0 where none is shown */
    const int64_t *time_us; /* TIME, BUSY: [events] non-decreasing */
    uint32_t cut_count;
    const mv_time_cut *cuts; /* BUSY: [cut_count] ascending */
    const mv_index *index;
    bool of_segments;        /* heights are reserved bytes instead of the index's measure */
    const mv_bitmap *slides; /* TICKS */
} mv_timescale;

/* An instant: an event has been applied, and the rows above a freed allocation slide down. */
typedef struct {
    uint32_t event; /* or MV_BEFORE */
    uint32_t slid;  /* 0 to MV_SLID: a freed allocation still holds open 1 - slid / MV_SLID of its
                     * bytes, rounded up */
} mv_instant;

#define MV_SLID 65536u

/* Bytes still held open by a row that ends at the instant's event. */
static inline uint64_t mv_instant_open(uint64_t bytes, uint32_t slid)
{
    return bytes - (bytes >> 16) * slid - ((bytes & 0xffff) * slid >> 16);
}

/* Times that go backwards are replaced by the largest time before them, which needs a column in
 * `arena`; otherwise nothing is allocated. With unknown times (MV_NO_TIME) the scale becomes an
 * EVENTS scale, as its `clock` shows. `slides`, tallied, are the events at which drawn rows slide
 * down, for TICKS. Borrows `index` and `slides`. Fails only when out of memory.
 *
 * With an index of segments (mv_segment_lives_as_allocs), set `of_segments` afterwards; the levels
 * then come from the device's own lives, where segments are the reserved bytes. */
mv_code mv_timescale_make(mv_arena *arena, const mv_index *index, mv_clock clock,
                          const mv_bitmap *slides, mv_timescale *out, mv_err *err);

/* The height of the stack of all rows at these levels. */
uint64_t mv_timescale_height(const mv_timescale *scale, const mv_levels *levels);

/* The place of an event; 0 for MV_BEFORE, `length` for events beyond the trace. */
double mv_timescale_at(const mv_timescale *scale, uint32_t event);

/* On the time clocks (TIME, BUSY): converts a time since the first event to a place, and back.
 * Within a cut, places are spread evenly over the removed time. */
double mv_timescale_place_of(const mv_timescale *scale, double us);
double mv_timescale_us_at(const mv_timescale *scale, double place);

/* Whether places are times: TIME or BUSY. */
static inline bool mv_timescale_is_time(const mv_timescale *scale)
{
    return scale->clock == MV_CLOCK_TIME || scale->clock == MV_CLOCK_BUSY;
}

/* The first event at or after `x`; `events` when there is none. */
uint32_t mv_timescale_from(const mv_timescale *scale, double x);

/* The last event at or before `x`: the moment shown there; MV_BEFORE when there is none. */
uint32_t mv_timescale_moment(const mv_timescale *scale, double x);

/* The instant shown by a column that covers the places [x0, x1). If it contains an event: the first
 * moment with most allocated (for segments: reserved), so that no peak is lost. If it is narrower
 * than an event: the heap at its middle, with slides in progress. */
mv_instant mv_timescale_instant(const mv_timescale *scale, mv_pyramid_reader *levels, double x0,
                                double x1);

/* mv_timescale_instant for a column that is known to contain the events [first, end). */
mv_instant mv_timescale_instant_of(const mv_timescale *scale, mv_pyramid_reader *levels, double x0,
                                   double x1, uint32_t first, uint32_t end);

#endif
