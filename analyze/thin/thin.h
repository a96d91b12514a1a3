/* A trace with fewer events, for what cannot hold or show all of them, such as a page.
 *
 * Left out are whole lives of blocks: their alloc, free and annotate events. The blocks that hold
 * the least, by bytes x events from alloc to free, go first. What stays:
 *
 *     every other event                    segments, failed requests, snapshots, lone frees
 *     blocks alive at an end of the trace  so that the final heap is explained
 *     blocks alive at a peak               of allocated, active, requested and reserved bytes, in
 *                                          all and in each pool: these peaks keep their values
 *     blocks alive at a failed request     so that its report keeps its figures
 *     the block above one that stays       if it was why that one got more bytes than it needed:
 *                                          sizes follow from the layout (analyze/lives/lives.h)
 *
 * Frames, stacks, segments, annotations, calls of CUDA stay as they are. Events have new numbers.
 * The trace says in a note, MV_NOTE_THINNED, how many events are missing. */
#ifndef MV_THIN_H
#define MV_THIN_H

#include "base/bitmap.h"
#include "parse/model/trace.h"

typedef struct {
    mv_trace trace;      /* shares with the other all but events and what counts them */
    uint64_t left_out;   /* events of all devices */
    uint64_t most_bytes; /* the allocated bytes of a device are lower by at most so many, at one
                            moment they are */
    mv_bitmap *kept;     /* [trace.device_count] bits of its old events */
} mv_thinned;

/* Leaves out what there is more of than `most_events`, of all devices together, in proportion. If
 * what stays is more, nothing else does. O(n) beside what the lives of each device cost, a device
 * at a time. `trace` must live as long as the result. */
mv_code mv_thin(mv_arena *arena, const mv_trace *trace, uint64_t most_events, mv_thinned *out,
                mv_err *err);

/* "42,000,000 of 50,000,006 events are left out, of blocks that held little: ..."; NULL: none is,
 * or memory is out. */
const char *mv_thinned_text(mv_arena *arena, const mv_thinned *thinned);

/* Kept events of a device before the old event `event`, which may be the number of all. */
uint32_t mv_thinned_before(const mv_thinned *thinned, uint32_t device, uint32_t event);

#endif
