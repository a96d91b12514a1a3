/* Minimum and maximum of the levels of totals.h in any range of events, without storing a number
 * for each event.
 *
 *     events     0 ........ 63 64 ....... 127 128 ....
 *     buckets   │ least, most │ least, most │          64 events each: all four measures, and
 *                └──────┬──────────────────┘           the event with most allocated
 *     above            16 buckets, 256 buckets ...
 *     kept levels      before every second bucket
 *
 * A range is read from whole nodes; at its two ends the events of a bucket are replayed, at most
 * 64, from the nearer kept levels. So every result is exact, and no peak is lost at any width.
 * Memory: about 1.45 bytes an event.
 *
 * The name of a moment is the event before it, as in analyze/lives/alive.h; MV_BEFORE is the moment
 * before the first event, and comes before event 0 in every range. */
#ifndef MV_PYRAMID_H
#define MV_PYRAMID_H

#include "analyze/totals/level_steps.h"

enum {
    MV_PYRAMID_BUCKET = 64,
    MV_PYRAMID_CUT = 2 * MV_PYRAMID_BUCKET,
    MV_PYRAMID_FAN = 16,
    MV_PYRAMID_MOST_LEVELS = 8
};

/* Minimum and maximum of each measure, independently, within a range of moments. */
typedef struct {
    mv_levels least;
    mv_levels most;
    uint32_t allocated_event; /* the first moment of the range with most.allocated */
    uint32_t reserved_event;  /* of most.reserved; if of_level: see mv_moment_filled */
} mv_extent;

typedef struct {
    const mv_lives *lives;
    mv_level_steps steps; /* a prepared copy: read, never advanced */
    mv_levels before;     /* before the first event */
    bool of_level;        /* set it if the trace has an origin.level */
    uint32_t events;
    uint32_t levels;                           /* 0 without events */
    uint32_t length[MV_PYRAMID_MOST_LEVELS];   /* nodes of a level */
    mv_extent *extent[MV_PYRAMID_MOST_LEVELS]; /* [length[level]] */
    mv_levels *kept;                           /* before events 0, 128, 256 ... and at the end */
    uint32_t filled;                           /* events so far, and the state after them */
    mv_levels last;
    mv_level_steps rest;
} mv_pyramid;

/* The position of one thread in a pyramid: the last bucket that it replayed. Any number of readers
 * may read a pyramid at the same time. */
typedef struct {
    const mv_pyramid *pyramid;
    uint32_t bucket; /* MV_NO_ROW: none yet */
    mv_levels after[MV_PYRAMID_BUCKET];
} mv_pyramid_reader;

/* One pass over the events. `arena` keeps the pyramid, which borrows `lives`. Fails only when out
 * of memory. */
mv_code mv_pyramid_find(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err);

/* The same in pieces: begin, then some events at a time, until false. */
mv_code mv_pyramid_begin(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err);
bool mv_pyramid_some(mv_pyramid *pyramid, uint32_t events);

void mv_pyramid_reader_init(mv_pyramid_reader *reader, const mv_pyramid *pyramid);

/* The levels at a moment. An event beyond the trace counts as the last one. */
mv_levels mv_pyramid_at(mv_pyramid_reader *reader, uint32_t event);

/* The extent of the moments from `first`, which may be MV_BEFORE, to the moment before `end` (at
 * most the number of events). An empty range returns the moment `first` alone. Ranges read from
 * left to right replay each bucket once. */
mv_extent mv_pyramid_range(mv_pyramid_reader *reader, uint32_t first, uint32_t end);

/* Finds a place to cut a trace into ranges of about `width` events, for curves with one range a
 * pixel: at `event`, or less than a width before it, at a place without replays and, for wide
 * ranges, with few nodes to read. Use each cut as the end of one range and, less one, as the
 * beginning of the next; no event is omitted. */
static inline uint32_t mv_pyramid_cut(uint32_t event, uint32_t width)
{
    uint32_t unit = MV_PYRAMID_CUT;

    if (width < unit)
        return event;
    for (uint64_t node = MV_PYRAMID_BUCKET; node <= width / 4; node *= MV_PYRAMID_FAN)
        unit = node > unit ? (uint32_t)node : unit;
    return event - event % unit;
}

#endif
