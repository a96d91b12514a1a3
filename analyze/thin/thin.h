/* Makes a trace with fewer events, for uses that cannot store or show all events, such as a page.
 *
 * Blocks are removed with their whole lives, which are their alloc, free and annotate events.
 * Blocks for which the product of bytes and events from alloc to free is smallest are removed
 * first. The following are kept:
 *
 *     every other event                    segments, failed requests, snapshots, lone frees
 *     blocks alive at an end of the trace  so that the final heap can be explained
 *     blocks alive at a peak               of allocated, active, requested and reserved bytes, in
 *                                          total and in each pool, so that these peaks are the same
 *     blocks alive at a failed request     so that the report on it shows the same figures
 *     the block above a kept block         if it caused the kept block's excess bytes, because
 *                                          the layout determines sizes (analyze/lives/lives.h)
 *
 * Frames, stacks, segments, annotations and CUDA calls are unchanged. Events are renumbered. A note
 * in the trace, MV_NOTE_THINNED, contains the number of missing events. */
#pragma once

#include "analyze/lives/lives.h"
#include "analyze/thin/pauses.h"
#include "base/bitmap.h"

typedef struct {
    mv_trace trace;       /* the thinner trace, which shares everything with the original except
                          * events and their counts */
    uint64_t left_out;    /* number of events removed from all devices */
    uint64_t most_bytes;  /* the most by which a device's allocated bytes are too low at any
                          * moment */
    mv_bitmap *kept;      /* [trace.device_count] a set of the original events that were kept; NULL:
                          * all were kept */
    uint64_t most_events; /* the maximum, if events are downsampled */
    bool has_no_columns;  /* the lives that the caller passes have few columns of events, so
                           * mv_downsample_device sets only the number of kept events, and the caller
                           * sets their columns (mv_kept_events_push, mv_kept_events_copy) */
} mv_thinned;

/* Reduces the events of all devices together to `most_events`, in proportion. If more than
 * `most_events` events must be kept, only these are kept. O(n), plus the time to find the lives of
 * one device at a time. `trace` must outlive the result. */
mv_code mv_trace_downsample(mv_arena *arena, const mv_trace *trace, uint64_t most_events,
                            mv_thinned *out, mv_err *err);

/* Do the same in steps, for callers that have found the lives of some or all devices anyway:
 * mv_downsample_begin, mv_downsample_device for each of these devices, mv_downsample_end. The lives
 * are not needed afterwards. */
mv_code mv_downsample_begin(mv_arena *arena, const mv_trace *trace, uint64_t most_events,
                            mv_thinned *out, mv_err *err);
mv_code mv_downsample_device(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             mv_thinned *out, mv_err *err);
mv_code mv_downsample_end(mv_arena *arena, const mv_trace *trace, mv_thinned *out, mv_err *err);

/* Allocates the columns of the kept events. Returns false when out of memory. */
bool mv_kept_events_push(mv_arena *arena, const mv_bitmap *kept, mv_events *out);

/* Copies those of the events [first, end) that are kept. Event `first` is row `row` of `from`. */
void mv_kept_events_copy(const mv_bitmap *kept, uint32_t first, uint32_t end, const mv_events *from,
                         uint32_t row, mv_events *to);

/* Part of the note in a file whose last pause does not end. */
#define MV_PAUSED_TO_THE_END " in pauses, up to the end,"

/* Removes the blocks that were allocated and freed during the same pause. Segments, blocks above
 * kept blocks and everything else are kept, so memory outside the pauses is complete, but the peaks
 * during a pause are not. The note is MV_NOTE_THINNED. */
mv_code mv_thin_pauses(mv_arena *arena, const mv_trace *trace, const mv_pauses *pauses,
                       mv_thinned *out, mv_err *err);

/* Returns the number of events of all devices. */
uint64_t mv_events_of_all(const mv_trace *trace);

/* Returns "42,000,000 of 50,000,006 events were removed, of small or short-lived blocks: ..."; NULL
 * if no events were removed or when out of memory. */
const char *mv_thinned_text(mv_arena *arena, const mv_thinned *thinned);

/* Returns the number of a device's kept events before the original event `event`, which may also be
 * the number of all events. */
uint32_t mv_thinned_before(const mv_thinned *thinned, uint32_t device, uint32_t event);
