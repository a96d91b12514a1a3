/* The effect of one event in a sentence or two, and what happens to its bytes next.
 *
 *     event 8,407   Allocates 2.00 MiB (1.97 MiB requested) at 0x7f1200000000 in train.py:62
 *                   forward; freed after 12 ms by event 9,120; the address is used next by event
 *                   9,133 (layers.py:40 forward)
 *     event 9,120   Frees 2.00 MiB at 0x7f1200000000, which event 8,407 (train.py:62 forward)
 *                   allocated 12 ms before; the address is used next by event 9,133 (...)
 *     event 9,133   Allocates ...
 *
 * The links are rows and events, to which a pane can jump: `born` is the alloc, `freed` and
 * `completed` are its ends, `previous` and `next` are the allocations that use its first byte
 * before and after it (analyze/lives/address_users.h).
 *
 * Missing data is named: "allocated before the first event", "still allocated at the last event",
 * "no allocation is recorded there". Sentences have no full stop. Times between events come from
 * the file; without times, events are counted. */
#ifndef MV_EVENT_WORDS_H
#define MV_EVENT_WORDS_H

#include "analyze/lives/address_users.h"

/* One device. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* the frame kinds of the trace, from mv_frame_kinds; or NULL */
    const mv_lives *lives;
    const mv_address_users *users; /* NULL: without previous and next users */
} mv_event_facts;

typedef struct {
    uint32_t event;   /* MV_BEFORE: an allocation from before the first event */
    uint32_t alloc;   /* the allocation concerned, or MV_NO_ROW */
    uint32_t segment; /* row of lives->segments: contains the allocation, or belongs to the event;
                       * MV_NO_ROW: unknown */
    /* The life of the allocation or segment; MV_NEVER if there is none. */
    uint32_t born;           /* event that began it, or MV_BEFORE */
    uint32_t freed;          /* event that ended it; MV_NEVER: not recorded */
    uint32_t completed;      /* like `freed`, or later: the bytes can be reused from here */
    uint32_t previous, next; /* allocation rows, or MV_NO_ROW */
    const char *what;        /* "Allocates 2.00 MiB ... at ... in train.py:62 forward" */
    const char *then;        /* "freed after 12 ms by event 9,120; the address ..."; may be empty */
    const char *text;        /* both, with "; " between them */
} mv_event_explanation;

/* `event` < lives->events.count. O(1), except that segment events search their call for the
 * allocation that needed the segment. The texts are in `arena`. False when out of memory. */
bool mv_event_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t event,
                               mv_event_explanation *out);

/* The explanation of an allocation: its alloc event's, or one from its row if it is from before
 * the first event: "Allocated before the first event: 2.00 MiB at 0x7f1200000000; freed by event
 * 12; ...". */
bool mv_alloc_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc,
                               mv_event_explanation *out);

/* The explanation of a row of lives->segments: its segment event's, or one from the row if it is a
 * part of a segment or from before the first event: "A segment of 20.0 MiB at 0x7f..., held since
 * before the first event". */
bool mv_segment_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t segment,
                                 mv_event_explanation *out);

/* An allocation as sentences name it: "event 9,133 (layers.py:40 forward)", or "a block from before
 * the first event". NULL when out of memory. */
const char *mv_event_user_text(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc);

/* The time between two events, in that order: "12 ms", or "713 events" if the file has no times. */
const char *mv_event_span_text(mv_arena *arena, const mv_events *events, uint32_t from,
                               uint32_t to);

#endif
