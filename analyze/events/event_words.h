/* What one event did, in a sentence or two; and where the life of its bytes continues.
 *
 *     event 8,407   Allocates 2.00 MiB (1.97 MiB requested) at 0x7f1200000000 in train.py:62
 * forward; freed after 12 ms by event 9,120; the address is used next by event 9,133 (layers.py:40
 * forward) event 9,120   Frees 2.00 MiB at 0x7f1200000000, which event 8,407 (train.py:62 forward)
 *                   allocated 12 ms before; the address is used next by event 9,133 (...)
 *     event 9,133   Allocates ...
 *
 * The links are rows and events, so that a pane can lead there: `born` is the alloc, `freed` and
 * `completed` are its ends, `previous` and `next` the allocations that had and have its first byte
 * (analyze/lives/address_users.h).
 *
 * What the file does not have is said so: "allocated before the first event", "not freed up to the
 * last event", "no allocation is recorded there". Sentences have no full stop. Times between events
 * are those of the file; where it has none, events are counted. */
#ifndef MV_EVENT_WORDS_H
#define MV_EVENT_WORDS_H

#include "analyze/lives/address_users.h"

/* One device. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* of its frames, from mv_frame_kinds; or NULL */
    const mv_lives *lives;
    const mv_address_users *users; /* NULL: previous and next users are left out */
} mv_event_facts;

typedef struct {
    uint32_t event;   /* MV_BEFORE: an allocation from before the first event */
    uint32_t alloc;   /* that it is about, or MV_NO_ROW */
    uint32_t segment; /* of lives->segments: that holds the allocation, or that the event is about;
                       * MV_NO_ROW: not known */
    /* The life of the allocation or segment; without one MV_NEVER. */
    uint32_t born;           /* event that made it, or MV_BEFORE */
    uint32_t freed;          /* event that ended it; MV_NEVER: none that is recorded */
    uint32_t completed;      /* as freed, or later: its bytes can be used again */
    uint32_t previous, next; /* allocations, or MV_NO_ROW */
    const char *what;        /* "Allocates 2.00 MiB ... at ... in train.py:62 forward" */
    const char *then;        /* "freed after 12 ms by event 9,120; the address ..."; "": nothing */
    const char *text;        /* both, with "; " between them */
} mv_event_story;

/* `event` is below lives->events.count. O(1), except that a segment looks for the allocation that
 * needed it among the events of its call. The texts are in `arena`. False when memory is out. */
bool mv_event_story_find(mv_arena *arena, const mv_event_facts *facts, uint32_t event,
                         mv_event_story *out);

/* The story of an allocation: that of its alloc event, or of one from before the first event:
 * "Allocated before the first event: 2.00 MiB at 0x7f1200000000; freed by event 12; ...". */
bool mv_alloc_story_find(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc,
                         mv_event_story *out);

/* The story of a row of lives->segments: that of its segment event, or of a part or of one from
 * before the first event: "A segment of 20.0 MiB at 0x7f..., held since before the first event". */
bool mv_segment_story_find(mv_arena *arena, const mv_event_facts *facts, uint32_t segment,
                           mv_event_story *out);

/* "event 9,133 (layers.py:40 forward)", or "a block from before the first event": an allocation as
 * sentences name it. NULL when memory is out. */
const char *mv_event_user_text(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc);

/* "12 ms", or "713 events" where the file has no times: between two events, in that order. */
const char *mv_event_span_text(mv_arena *arena, const mv_events *events, uint32_t from,
                               uint32_t to);

#endif
