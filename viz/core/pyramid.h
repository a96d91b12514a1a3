/* Finds the minimum and maximum of the levels in totals.h over any range of events, without storing
 * a number for each event.
 *
 *     events     0 ........ 63 64 ....... 127 128 ....
 *     buckets   │ least, most │ least, most │          64 events each: all four measures, and
 *                └──────┬──────────────────┘           the event with most allocated
 *     above            16 buckets, 256 buckets ...
 *     kept levels      before every second bucket
 *
 * A range is read from whole nodes. At each of its two ends, at most 64 events of a bucket are
 * replayed, starting at the nearer kept levels. Every result is therefore exact, and no peak is
 * lost at any width. The pyramid takes about 1.45 bytes of memory per event.
 *
 * A moment is identified by the event before it, as in analyze/lives/alive.h. MV_BEFORE is the
 * moment before the first event, and precedes event 0 in every range. */
#pragma once

#include "analyze/totals/level_steps.h"

enum {
    MV_PYRAMID_BUCKET = 64,
    MV_PYRAMID_CUT = 2 * MV_PYRAMID_BUCKET,
    MV_PYRAMID_FAN = 16,
    MV_PYRAMID_MOST_LEVELS = 8
};

/* Minimum and maximum of each measure within a range of moments. The measures are independent. */
typedef struct {
    mv_levels least;
    mv_levels most;
    uint32_t allocated_event; /* first moment of the range at which most.allocated is reached */
    uint32_t reserved_event;  /* first moment at which most.reserved is reached; if of_level, see
                                 mv_moment_filled */
} mv_extent;

typedef struct {
    const mv_lives *lives;
    mv_level_steps steps; /* a prepared copy, which is read but never advanced */
    mv_levels before;     /* levels before the first event */
    bool of_level;        /* the caller must set it if the trace has an origin.level */
    uint32_t events;
    uint32_t levels;                           /* number of levels of nodes; 0 without events */
    uint32_t length[MV_PYRAMID_MOST_LEVELS];   /* number of nodes on each level */
    mv_extent *extent[MV_PYRAMID_MOST_LEVELS]; /* [length[level]] */
    mv_levels *kept;                           /* levels before events 0, 128, 256 ... and at the
                                                  end */
    uint32_t filled;                           /* number of events processed so far; the next
                                                  members are the state after these events */
    mv_levels last;
    mv_level_steps rest;
} mv_pyramid;

/* The position of one thread in a pyramid, which is the last bucket that the thread replayed. Any
 * number of readers may read a pyramid at the same time. */
typedef struct {
    const mv_pyramid *pyramid;
    uint32_t bucket; /* bucket that was replayed last; MV_NO_ROW: none yet */
    mv_levels after[MV_PYRAMID_BUCKET];
} mv_pyramid_reader;

/* Builds the pyramid in one pass over the events. `arena` keeps the pyramid, which borrows `lives`.
 * Fails only when out of memory. */
mv_code mv_pyramid_find(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err);

/* Build the pyramid in pieces: call mv_pyramid_begin, and then mv_pyramid_some for some events at a
 * time, until it returns false. */
mv_code mv_pyramid_begin(mv_arena *arena, const mv_lives *lives, mv_pyramid *out, mv_err *err);
bool mv_pyramid_some(mv_pyramid *pyramid, uint32_t events);

void mv_pyramid_reader_init(mv_pyramid_reader *reader, const mv_pyramid *pyramid);

/* Returns the levels at a moment. An event beyond the end of the trace counts as the last event. */
mv_levels mv_pyramid_at(mv_pyramid_reader *reader, uint32_t event);

/* Returns the extent of the moments from `first`, which may be MV_BEFORE, to the moment before
 * `end`, which is at most the number of events. For an empty range, returns the extent of the
 * moment `first`. If ranges are read from left to right, each bucket is replayed only once. */
mv_extent mv_pyramid_range(mv_pyramid_reader *reader, uint32_t first, uint32_t end);

/* Returns an event at which to cut a trace into ranges of about `width` events, for curves with one
 * range per pixel. The cut is at `event` or less than `width` events before it. It is chosen so
 * that nothing needs to be replayed and so that wide ranges consist of few nodes. Callers should
 * use each cut as the end of one range, and the cut minus one as the beginning of the next range,
 * so that no event is omitted. */
static inline uint32_t mv_pyramid_cut(uint32_t event, uint32_t width)
{
    uint32_t unit = MV_PYRAMID_CUT;

    if (width < unit)
        return event;
    for (uint64_t node = MV_PYRAMID_BUCKET; node <= width / 4; node *= MV_PYRAMID_FAN)
        unit = node > unit ? (uint32_t)node : unit;
    return event - event % unit;
}
