/* The sweep of one device's events over its heap, block by block; private to mv_lives_find.
 *
 *     mv_lives_init      the final heap by rank, once the ranks of all addresses are known
 *     mv_lives_undo      backwards from the final heap to the heap before the first event
 *     mv_lives_apply     forwards: the rows of lives.h, with block sizes from the layout; in
 *                        several spans of events at a time if there are many (lives_spans.c)
 *     mv_lives_settle    compares the result of the forward sweep with the final heap
 *     mv_lives_history   the kind of history
 *
 * Events are not trusted: contradictions with the layout are counted in the doubts of `lives` and
 * resolved in favour of the newest event. */
#ifndef MV_LIVES_SWEEP_H
#define MV_LIVES_SWEEP_H

#include "analyze/lives/address_ranks.h"
#include "analyze/lives/block_size.h"
#include "analyze/lives/lives.h"
#include "analyze/lives/ranges.h"
#include "parse/model/digest.h"

#include <stdatomic.h>

/* An address as the sweep knows it. */
typedef struct {
    uint32_t alloc;   /* row of the allocation, if the address is in `used` */
    uint32_t as_of;   /* value of mv_lives_sweep.layout for which the two fields below are valid */
    uint32_t segment; /* row that holds the address, or MV_NO_ROW */
    uint32_t edge;    /* next of `edges` above it, or MV_NO_RANK */
} mv_lives_place;

typedef struct {
    uint32_t row; /* of an allocation */
    uint32_t event;
} mv_lives_entry;

typedef struct {
    mv_arena *arena;
    mv_lives_entry *rows;
    uint32_t count, capacity;
} mv_lives_log;

/* A span of the events, swept in parallel with others. The blocks in use at its start are known,
 * but not their sizes, nor the segment kinds that earlier allocations show. */
typedef struct {
    /* Events about rows of other spans: frees, and allocs above their blocks. */
    mv_lives_log others;
    mv_lives_log kinds;         /* the span's first alloc in each segment of unknown kind */
    _Atomic bool *has_conflict; /* shared by all spans; true: their results cannot be joined */
} mv_lives_span;

typedef struct {
    mv_arena *arena;   /* for the rows */
    mv_arena *scratch; /* for everything else */
    bool keeps_ranks;  /* the address ranks are kept in `arena` */
    const mv_trace *trace;
    mv_lives *lives;
    mv_events ev;
    mv_block_rules rules;
    mv_address_ranks ranks;
    bool has_requested; /* there are free_requested events */
    bool has_completed; /* there are free_completed events */
    bool is_captured;   /* mv_trace_is_captured, or another tool's file: sizes are known */
    bool fills;         /* each block fills a segment of its own (mv_trace_allocator, and pinned
                         * memory in a snapshot) */
    bool is_thinned;    /* blocks were dropped (analyze/thin/thin.h): gaps do not show
                         * block sizes */
    uint64_t recorded;  /* number of events before thinning */
    uint32_t alloc_events;
    bool adds_segments; /* there are segment_alloc or segment_map events */

    mv_ranges final;       /* segments of the final heap; `row` is of trace->segments */
    uint32_t *final_block; /* [ranks] active final block that starts there, or MV_NO_ROW */

    mv_rankset before;     /* allocations before the first event */
    uint32_t *first_free;  /* [ranks] their first free event, or MV_NEVER */
    mv_ranges before_held; /* segments before the first event; `row` is the event of their end */

    mv_ranges held;         /* segments now; `row` is of lives->segments */
    mv_rankset edges;       /* ends of segments and runs, which no free block crosses */
    mv_rankset used;        /* starts of blocks that are in use now */
    uint32_t layout;        /* changes with every change of segments; never 0 */
    mv_lives_place *places; /* [ranks] */
    uint32_t *kin; /* [rows of segments] an earlier row of the same reservation, or the row itself.
                    * Pieces that ever touched share a reservation */
    uint64_t segment_capacity; /* in segment rows */
    uint32_t applied;          /* events applied so far by mv_lives_apply_some */
    uint32_t spans;            /* number of spans swept in parallel; at least 1 */
    mv_lives_span *span;       /* the span of this sweep; NULL: it covers all events */
    uint32_t first_row;        /* lower rows belong to other spans */
} mv_lives_sweep;

/* All of these return false when out of memory. mv_lives_begin_apply and mv_lives_apply_some are
 * the forward sweep: several spans are one piece, otherwise a piece has `events` events; *again is
 * set if pieces remain. */
bool mv_lives_init(mv_lives_sweep *r);
bool mv_lives_undo(mv_lives_sweep *r);
bool mv_lives_begin_apply(mv_lives_sweep *r);
bool mv_lives_apply_some(mv_lives_sweep *r, uint32_t events, bool *again);
bool mv_lives_settle(mv_lives_sweep *r);
bool mv_lives_history(mv_lives_sweep *r);

/* lives_part.c: adds to a part (parse/model/living.h) the blocks and sizes that its events alone do
 * not show. MV_CORRUPT if the events contradict them. */
mv_code mv_lives_of_part(mv_lives_sweep *r, mv_err *err);

/* ---- shared by the files of the sweep ----------------------------------------------------- */

/* lives_segments.c: segments before the first event, and segment events. */
bool mv_lives_hold_before(mv_lives_sweep *r);
void mv_lives_segment_event(mv_lives_sweep *r, uint32_t event);
void mv_lives_settle_segments(mv_lives_sweep *r);

/* lives_apply.c: ends the allocations that start in [low, high): they must have been freed by
 * `event` without a recorded free. */
void mv_lives_lose(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t event);

/* Applies the events from `first` to `end`. */
void mv_lives_apply_events(mv_lives_sweep *r, uint32_t first, uint32_t end);

/* Applies an entry of mv_lives_span.others or .kinds to a sweep that knows everything before the
 * entry. The first allocation in a segment shows its kind; within a span, a later allocation may
 * have shown another kind, and the size of a large block depends on it. */
void mv_lives_apply_other(mv_lives_sweep *r, mv_lives_entry entry);
void mv_lives_find_kind(mv_lives_sweep *r, uint32_t row, uint32_t event);

/* lives_spans.c: a useful number of spans; and the sweep of all events in r->spans spans. If that
 * is impossible, r->spans becomes 1 and nothing else has changed. */
uint32_t mv_lives_spans_for(const mv_lives_sweep *r);
bool mv_lives_apply_spans(mv_lives_sweep *r);

/* Whether a free event is the last of its kind for the block, which is not in use afterwards. */
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

/* The stack, or MV_NO_STACK for the empty stack, which the final heap contains if none
 * was recorded. */
static inline mv_stack_id mv_recorded_stack(mv_stack_id stack)
{
    return stack.row == MV_EMPTY_STACK.row ? MV_NO_STACK : stack;
}

#endif
