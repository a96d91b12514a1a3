/* The outline of one allocation in the timeline, computed on request: offsets are not stored.
 *
 *     offset                     ┌──────── point[1]: the slide of a row below begins
 *       │   point[0] ●───────────●
 *       │            │            ╲      ┌── its bytes high, everywhere
 *       │            │             ●─────────────────● point[3]: its end
 *       │            │ point[2]: the slide is over   │
 *       └──────────────────────────────────────────────── clock
 *
 * The points are those of the lower edge, from left to right; the upper edge is `bytes` above it.
 * A slide has two points, so straight lines between points are the outline. */
#ifndef MV_POLYGON_H
#define MV_POLYGON_H

#include "viz/core/drawn_rows.h"
#include "viz/core/timescale.h"

typedef struct {
    int64_t x;
    uint64_t offset; /* bytes below it */
} mv_polygon_point;

typedef struct {
    uint32_t rank;
    uint64_t bytes;
    uint32_t count;
    mv_polygon_point
        *point; /* [count] at least 2; 0 when the row is not drawn, or not in the window */
} mv_polygon;

/* What x counts:
 *
 *     TICKS    as PyTorch's viewer (drawn_rows.h): slides take 3 ticks, edges are slanted
 *     EVENTS   what is alive after event e fills [e, e + 1); slides are steps
 *     TIME     microseconds, time_us of the events as they are; slides are steps
 *
 * The outline of `rank` within events [from, to). It begins at its birth
 * or at `from`, and ends at its end, at `to`, or with the axis. O(points x log n), and to find its
 * first offset: at most 1,024 events, or what is alive below it where it was born before the
 * window. Fails only when memory runs out. */
mv_code mv_polygon_find(mv_arena *arena, const mv_drawn *drawn, mv_clock clock, uint32_t rank,
                        uint32_t from, uint32_t to, mv_polygon *out, mv_err *err);

/* The number of points that it would have, or `most` when there are more. O(result x log n). */
uint32_t mv_polygon_count(const mv_drawn *drawn, uint32_t rank, uint32_t from, uint32_t to,
                          uint32_t most);

/* x of an event, or of `events`: the end of the axis. */
int64_t mv_clock_at(const mv_drawn *drawn, mv_clock clock, uint32_t event);

#endif
