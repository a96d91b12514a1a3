/* Sweeps over one device's events, and applies them to the device's heap block by block. The sweep
 * is private to mv_lives_find.
 *
 *     mv_lives_init      prepares the final heap by rank, once the ranks of all addresses are known
 *     mv_lives_undo      goes backwards from the final heap to the heap before the first event
 *     mv_lives_apply     goes forwards and makes the rows of lives.h, with block sizes from the
 *                        layout; sweeps several spans at a time if there are many events
 *                        (lives_spans.c)
 *     mv_lives_settle    compares the result of the forward sweep with the final heap
 *     mv_lives_history   finds the kind of history
 *
 * The events are not trusted. An event that contradicts the layout is counted in lives->doubts, and
 * the contradiction is resolved in favour of the newest event. */
#pragma once

#include "analyze/lives/address_ranks.h"
#include "analyze/lives/block_size.h"
#include "analyze/lives/lives.h"
#include "analyze/lives/ranges.h"
#include "parse/model/digest.h"

#include <stdatomic.h>

/* The sweep's record of an address. */
typedef struct {
    uint32_t alloc;   /* row of the allocation that starts here, if the address is in `used` */
    uint32_t as_of;   /* value of mv_lives_sweep.layout for which `segment` and `edge` are valid */
    uint32_t segment; /* row of the segment that contains the address, or MV_NO_ROW */
    uint32_t edge;    /* the nearest entry of `edges` above the address, or MV_NO_RANK */
} mv_lives_place;

typedef struct {
    uint32_t row; /* row of an allocation */
    uint32_t event;
} mv_lives_entry;

typedef struct {
    mv_arena *arena;
    mv_lives_entry *rows;
    uint32_t count, capacity;
} mv_lives_log;

/* A span of the events, which is swept in parallel with other spans. It is known which blocks are
 * in use at the start of the span, but neither their sizes nor the segment kinds that earlier
 * allocations show are known. */
typedef struct {
    /* Events that affect rows of other spans: frees of their blocks, and allocs directly above
     * their blocks. */
    mv_lives_log others;
    mv_lives_log kinds;         /* the span's first alloc event in each segment of unknown kind */
    _Atomic bool *has_conflict; /* shared by all spans; true: the results of the spans cannot be
                                 * joined */
} mv_lives_span;

typedef struct {
    mv_arena *arena;   /* arena for the rows */
    mv_arena *scratch; /* arena for everything else */
    bool keeps_ranks;  /* the address ranks are kept in `arena` */
    const mv_trace *trace;
    mv_lives *lives;
    mv_events ev;
    mv_block_rules rules;
    bool has_divisions; /* the rules have roundup_power2_divisions */
    mv_address_ranks ranks;
    bool has_requested; /* there are free_requested events */
    bool has_completed; /* there are free_completed events */
    bool is_captured;   /* the trace is a capture (mv_trace_is_captured) or another tool's file, so
                         * block sizes are known */
    bool fills;         /* each block fills a separate segment (mv_trace_allocator, and pinned
                         * memory in a snapshot) */
    bool is_thinned;    /* blocks were dropped (analyze/thin/thin.h), so gaps do not show block
                         * sizes */
    uint64_t recorded;  /* number of events before thinning */
    bool adds_segments; /* there are segment_alloc or segment_map events */

    mv_ranges final;       /* segments of the final heap; `row` is a row of trace->segments */
    uint32_t *final_block; /* [ranks] active block of the final heap that starts here, or
                            * MV_NO_ROW */

    mv_rankset before;     /* starts of the allocations from before the first event */
    uint32_t *first_free;  /* [ranks] first free event of such an allocation, or MV_NEVER */
    mv_ranges before_held; /* segments from before the first event; `row` is the event that ends the
                            * segment */

    mv_ranges held;         /* segments held now; `row` is a row of lives->segments */
    mv_rankset edges;       /* ends of segments and of runs; no free block extends across an edge */
    mv_rankset used;        /* starts of the blocks that are in use now */
    uint32_t layout;        /* number that changes whenever segments change; never 0 */
    mv_lives_place *places; /* [ranks] */
    uint32_t *kin; /* [rows of segments] an earlier row of the same reservation, or the row itself.
                    * Pieces that were ever adjacent share a reservation */
    uint64_t segment_capacity; /* number of segment rows for which memory is allocated */
    uint32_t applied;          /* number of events applied so far by mv_lives_apply_some */
    uint32_t spans;            /* number of spans swept in parallel; at least 1 */
    mv_lives_span *span;       /* the span that this sweep covers; NULL: it covers all events */
    uint32_t first_row;        /* the first row of this span; lower rows belong to other spans */
} mv_lives_sweep;

/* These functions run the phases of the sweep; each returns false when out of memory.
 * mv_lives_begin_apply and mv_lives_apply_some are the forward sweep. If there are several spans,
 * they form one piece; otherwise, a piece has `events` events. *again is set if pieces remain. */
bool mv_lives_init(mv_lives_sweep *r);
void mv_lives_undo(mv_lives_sweep *r);
bool mv_lives_begin_apply(mv_lives_sweep *r);
bool mv_lives_apply_some(mv_lives_sweep *r, uint32_t events, bool *again);
bool mv_lives_settle(mv_lives_sweep *r);
bool mv_lives_history(mv_lives_sweep *r);

/* lives_part.c: adds the blocks and sizes that the events of a part (parse/model/living.h) do not
 * show. Fails with MV_CORRUPT if the events contradict them. */
mv_code mv_lives_of_part(mv_lives_sweep *r, mv_err *err);

/* ---- shared by the files of the sweep ----------------------------------------------------- */

/* lives_segments.c: handles segments from before the first event, and segment events. */
bool mv_lives_hold_before(mv_lives_sweep *r);
void mv_lives_segment_event(mv_lives_sweep *r, uint32_t event);
void mv_lives_settle_segments(mv_lives_sweep *r);

/* lives_apply.c: ends the allocations that start in [low, high), which were evidently freed before
 * `event`, although no free was recorded. */
void mv_lives_lose(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t event);

/* Applies the events [first, end). */
void mv_lives_apply_events(mv_lives_sweep *r, uint32_t first, uint32_t end);

/* Applies an entry of mv_lives_span.others or mv_lives_span.kinds to a sweep that contains
 * everything before the entry. The first allocation in a segment shows the segment's kind. Within a
 * span, a later allocation may have shown a different kind, and the size of a large block depends
 * on the kind. */
void mv_lives_apply_other(mv_lives_sweep *r, mv_lives_entry entry);
void mv_lives_find_kind(mv_lives_sweep *r, uint32_t row, uint32_t event);

/* lives_spans.c: mv_lives_spans_for returns a useful number of spans. mv_lives_apply_spans sweeps
 * all events in r->spans spans. If this is impossible, it sets r->spans to 1 and changes nothing
 * else. */
uint32_t mv_lives_spans_for(const mv_lives_sweep *r);
bool mv_lives_apply_spans(mv_lives_sweep *r);

/* Whether a free event is the last one for the block, which means that the block is not in use
 * afterwards. */
static inline bool mv_lives_ends_use(const mv_lives_sweep *r, uint32_t rank, uint8_t action)
{
    uint32_t block = r->final_block[rank];

    return action == MV_ACTION_FREE_COMPLETED ||
           (action == MV_ACTION_FREE_REQUESTED && !r->has_completed &&
            (block == MV_NO_ROW || r->trace->blocks.state[block] != MV_BLOCK_PENDING_FREE));
}

/* Whether the file contains any segment of the device. */
static inline bool mv_lives_has_segments(const mv_lives_sweep *r)
{
    return r->lives->segments.count > 0 || r->ranks.segment_events > 0;
}

/* Returns the stack, or MV_NO_STACK for the empty stack, which the final heap contains if no stack
 * was recorded. */
static inline mv_stack_id mv_recorded_stack(mv_stack_id stack)
{
    return stack.row == MV_EMPTY_STACK.row ? MV_NO_STACK : stack;
}
