/* The outline of one allocation in the timeline, computed on request: offsets are not stored.
 *
 *     offset                     ┌──────── point[1]: the slide of a row below begins
 *       │   point[0] ●───────────●
 *       │            │            ╲      ┌── always `bytes` high
 *       │            │             ●─────────────────● point[3]: its end
 *       │            │ point[2]: the slide is over   │
 *       └──────────────────────────────────────────────── clock
 *
 * The points are on the lower edge, from left to right; the upper edge is `bytes` above it. A slide
 * has two points, so straight lines between the points form the outline. */
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
    mv_polygon_point *point; /* [count] 2 or more; 0 when not drawn, or not in the window */
} mv_polygon;

/* The unit of x:
 *
 *     TICKS    as PyTorch's viewer (drawn_rows.h): slides take 3 ticks, edges are slanted
 *     EVENTS   rows alive after event e fill [e, e + 1); slides are steps
 *     TIME     microseconds, time_us of the events unchanged; slides are steps
 *
 * The outline of `rank` within events [from, to). It begins at its birth or at `from`, and ends at
 * its end, at `to`, or with the axis. O(points x log n), plus the search for its first offset: at
 * most 1,024 events, or all rows alive below it if it was born before the window. Fails only when
 * memory runs out. */
mv_code mv_polygon_find(mv_arena *arena, const mv_drawn *drawn, mv_clock clock, uint32_t rank,
                        uint32_t from, uint32_t to, mv_polygon *out, mv_err *err);

/* The number of points in the outline, or `most` when there are more. O(result x log n). */
uint32_t mv_polygon_count(const mv_drawn *drawn, uint32_t rank, uint32_t from, uint32_t to,
                          uint32_t most);

/* x of an event; for `events`: the end of the axis. */
int64_t mv_clock_at(const mv_drawn *drawn, mv_clock clock, uint32_t event);

#endif
