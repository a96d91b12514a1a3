/* The x axis of a timeline: the position of each event, and the instant that a column of pixels
 * shows.
 *
 *     EVENTS   one unit an event: event e is at e
 *     TIME     microseconds since the first event
 *     BUSY     like TIME, but a pause without events that exceeds a fraction of the trace is cut
 *              to a narrow band
 *     TICKS    the clock of PyTorch's viewer: 1 for an allocation, 1 for a free, 3 for the slide of
 *              the rows above it
 *
 * Between the positions of two events, the heap is shown as it is after the first of them. Before
 * event 0 there is only the moment MV_BEFORE, if there is room for it. */
#pragma once

#include "viz/core/index.h"
#include "viz/core/pyramid.h"

typedef enum { MV_CLOCK_EVENTS, MV_CLOCK_TIME, MV_CLOCK_TICKS, MV_CLOCK_BUSY, MV_CLOCKS } mv_clock;

/* A pause that is cut. It precedes `event` and takes [from, to) on the axis. */
typedef struct {
    uint32_t event;
    double from, to;
    int64_t us;     /* actual length of the pause in microseconds */
    double removed; /* microseconds removed from the axis by this cut and all cuts before it */
} mv_time_cut;

/* Maximum number of cuts. No trace can have more pauses that exceed the fraction at which a pause
 * is cut. */
enum { MV_MOST_TIME_CUTS = 20 };

typedef struct {
    mv_clock clock;
    uint32_t events;
    double length;          /* length of the axis, which is [0, length); at least 1 */
    double slide;           /* length of a slide on the axis; 0 if slides are not shown */
    const int64_t *time_us; /* TIME, BUSY: [events] times, which never decrease */
    uint32_t cut_count;
    const mv_time_cut *cuts; /* BUSY: [cut_count] in ascending order */
    const mv_index *index;
    bool of_segments;        /* heights are reserved bytes, rather than the index's measure */
    const mv_bitmap *slides; /* TICKS */
} mv_timescale;

/* An instant: `event` has been applied, and the rows above a freed allocation are sliding down. */
typedef struct {
    uint32_t event; /* an event, or MV_BEFORE */
    uint32_t slid;  /* how far they have slid, 0 to MV_SLID: a freed allocation still holds open 1 -
                     * slid / MV_SLID of its bytes, rounded up */
} mv_instant;

#define MV_SLID 65536u

/* Returns how many bytes are still held open by a row that ends at the instant's event. */
static inline uint64_t mv_instant_open(uint64_t bytes, uint32_t slid)
{
    return bytes - (bytes >> 16) * slid - ((bytes & 0xffff) * slid >> 16);
}

/* Makes a timescale, which borrows `index` and `slides`. Times that go backwards are replaced with
 * the largest time before them. That needs a column in `arena`; otherwise nothing is allocated. If
 * any time is unknown (MV_NO_TIME), the scale becomes an EVENTS scale, and `clock` is set
 * accordingly. `slides`, tallied, are the events at which drawn rows slide down, for TICKS. Fails
 * only when out of memory.
 *
 * With an index of segments (mv_segment_lives_as_allocs), the caller must set `of_segments`
 * afterwards. The levels then come from the device's own lives, in which segments are the reserved
 * bytes. */
mv_code mv_timescale_make(mv_arena *arena, const mv_index *index, mv_clock clock,
                          const mv_bitmap *slides, mv_timescale *out, mv_err *err);

/* Returns the height of the stack of all rows at these levels. */
uint64_t mv_timescale_height(const mv_timescale *scale, const mv_levels *levels);

/* Returns the position of an event; 0 for MV_BEFORE, `length` for events beyond the end of the
 * trace. */
double mv_timescale_at(const mv_timescale *scale, uint32_t event);

/* On the time clocks (TIME, BUSY): convert a time since the first event to a position, and back.
 * Within a cut, positions are spread evenly over the removed time. */
double mv_timescale_place_of(const mv_timescale *scale, double us);
double mv_timescale_us_at(const mv_timescale *scale, double place);

/* Whether positions are times, as on TIME and BUSY. */
static inline bool mv_timescale_is_time(const mv_timescale *scale)
{
    return scale->clock == MV_CLOCK_TIME || scale->clock == MV_CLOCK_BUSY;
}

/* Returns the first event at or after `x`; `events` if there is none. */
uint32_t mv_timescale_from(const mv_timescale *scale, double x);

/* Returns the last event at or before `x`, which is the moment shown there; MV_BEFORE if there is
 * none. */
uint32_t mv_timescale_moment(const mv_timescale *scale, double x);

/* Returns the instant shown by a column that covers the positions [x0, x1). If the column contains
 * an event, it is the first moment at which most is allocated (for segments: reserved), so that no
 * peak is lost. If the column is narrower than an event, it is the heap at the middle of the
 * column, with slides in progress. */
mv_instant mv_timescale_instant(const mv_timescale *scale, mv_pyramid_reader *levels, double x0,
                                double x1);

/* Like mv_timescale_instant, for a column that is known to contain the events [first, end). */
mv_instant mv_timescale_instant_of(const mv_timescale *scale, mv_pyramid_reader *levels, double x0,
                                   double x1, uint32_t first, uint32_t end);
