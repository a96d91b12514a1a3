/* Describes in a sentence or two what an event does and what happens to its bytes next.
 *
 *     event 8,407   Allocates 2.00 MiB (1.97 MiB requested) at 0x7f1200000000 in train.py:62
 *                   forward; freed after 12 ms by event 9,120; the address is used next by event
 *                   9,133 (layers.py:40 forward)
 *     event 9,120   Frees 2.00 MiB at 0x7f1200000000, which event 8,407 (train.py:62 forward)
 *                   allocated 12 ms before; the address is used next by event 9,133 (...)
 *     event 9,133   Allocates ...
 *
 * The links are rows and events to which a pane can jump. `born` is the alloc event of an
 * allocation, `freed` and `completed` are the events that end it, and `previous` and `next` are the
 * allocations that use the allocation's first byte before and after it
 * (analyze/lives/address_users.h).
 *
 * Missing data is described in words: "allocated before the first event", "still allocated at the
 * last event", "no allocation is recorded there". Sentences have no full stop. Times between events
 * come from the file; without times, events are counted. */
#pragma once

#include "analyze/lives/address_users.h"

/* Facts about one device, from which the sentences are made. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* the frame kinds of the trace, from mv_frame_kinds; or NULL */
    const mv_lives *lives;
    const mv_address_users *users; /* previous and next users of addresses; NULL: sentences leave
                                    * them out */
} mv_event_facts;

typedef struct {
    uint32_t event;   /* the explained event; MV_BEFORE: an allocation from before the first
                       * event */
    uint32_t alloc;   /* row of the allocation that the event concerns, or MV_NO_ROW */
    uint32_t segment; /* row of lives->segments: the segment that contains the allocation or
                       * belongs to the event; MV_NO_ROW: unknown */
    /* The life of the allocation or segment; MV_NEVER if the event concerns neither. */
    uint32_t born;           /* event that began this life, or MV_BEFORE */
    uint32_t freed;          /* event that ended this life; MV_NEVER: not recorded */
    uint32_t completed;      /* same as `freed`, or a later event, after which the bytes can be
                              * reused */
    uint32_t previous, next; /* rows of the previous and next allocations at the same address, or
                              * MV_NO_ROW */
    const char *what;        /* first sentence: "Allocates 2.00 MiB ... at ... in train.py:62
                              * forward" */
    const char *then;        /* what happens to the bytes next: "freed after 12 ms by event
                              * 9,120; the address ..."; may be empty */
    const char *text;        /* `what` and `then`, with "; " between them */
} mv_event_explanation;

/* Explains an event. `event` must be less than lives->events.count. O(1), except that for a segment
 * event the events of its call are searched for the allocation that needed the segment. The strings
 * are in `arena`. Returns false when out of memory. */
bool mv_event_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t event,
                               mv_event_explanation *out);

/* Explains an allocation. The result explains its alloc event. For an allocation from before the
 * first event, the result explains its row: "Allocated before the first event: 2.00 MiB at
 * 0x7f1200000000; freed by event 12; ...". */
bool mv_alloc_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc,
                               mv_event_explanation *out);

/* Explains a row of lives->segments. The result explains its segment event. If the row is a part of
 * a segment or from before the first event, the result explains the row: "A segment of 20.0 MiB at
 * 0x7f..., held since before the first event". */
bool mv_segment_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t segment,
                                 mv_event_explanation *out);

/* Returns the words for an allocation in sentences: "event 9,133 (layers.py:40 forward)", or "a
 * block from before the first event". Returns NULL when out of memory. */
const char *mv_event_user_text(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc);

/* Returns the time from event `from` to event `to`: "12 ms", or "713 events" if the file has no
 * times. */
const char *mv_event_span_text(mv_arena *arena, const mv_events *events, uint32_t from,
                               uint32_t to);
