/* The lives table contains every allocation on one device, from its alloc event to its free events,
 * with the bytes that it really occupied. It also contains every segment, from the event that added
 * it to its end. All reports and pictures start from this table.
 *
 * Rows are in order of birth: first the allocations from before the first event ("preexisting"
 * allocations, found by undoing the events backwards from the final heap), then one row for each
 * alloc event. An address may be allocated many times; each row is one of these allocations.
 *
 *     requested bytes live from birth to completed   (PyTorch's requested_bytes)
 *     allocated bytes live from birth to freed       (PyTorch's allocated_bytes: block sizes)
 *     active    bytes live from birth to completed   (PyTorch's active_bytes: block sizes)
 *
 * The trace does not contain block sizes, but they follow from the heap's layout at the time of the
 * alloc event. The allocator takes the low end of a free block, which extends to the next used
 * block or to the end of the segment, and splits off the remainder unless that is too small
 * (should_split, PyTorch CUDACachingAllocator.cpp). docs/internals/lives.md explains this in
 * detail. */
#pragma once

#include "analyze/lives/address_ranks.h"

#define MV_BEFORE UINT32_MAX /* birth or peak before the first event */
#define MV_NEVER  UINT32_MAX /* end after the last event of the trace */

/* Which events a trace covers. docs/internals/lives.md contains the rules. */
#define MV_HISTORY_LIST(X)                                                    \
    X(COMPLETE, "complete")   /* the trace begins with an empty heap */       \
    X(LATE, "late")           /* recording began on a heap in use */          \
    X(TRUNCATED, "truncated") /* earlier events were recorded but are lost */ \
    X(NONE, "none")           /* no events */

typedef enum {
#define MV_HISTORY_ENUM(name, text) MV_HISTORY_##name,
    MV_HISTORY_LIST(MV_HISTORY_ENUM) MV_HISTORY_COUNT
} mv_history_kind;

/* One row for each allocation. `freed` and `completed` are the two events that end it. They are
 * neighbours (freed + 1 == completed) unless the free was deferred. If the file contains only one
 * of the two events, both fields name this event. If the free was requested before the first event,
 * `freed` is 0, which is correct for every moment after event 0; in a trace without events, `freed`
 * is 0 as well (analyze/lives/alive.h distinguishes these cases). `freed` is never greater than
 * `completed`. */
typedef struct {
    uint32_t count;
    uint32_t preexisting; /* rows [0, preexisting) were alive before the first event, sorted by
                           * address */
    uint64_t *addr;       /* [count]; NULL: left out (lives_join.h) */
    uint64_t *requested;  /* [count] requested bytes */
    uint64_t *block;      /* [count] bytes occupied */
    mv_stack_id *stack;   /* [count] stack of the allocation; MV_NO_STACK: not recorded */
    uint32_t *birth;      /* [count] alloc event, or MV_BEFORE */
    uint32_t *freed;      /* [count] free_requested event, or MV_NEVER */
    uint32_t *completed;  /* [count] free_completed event, or MV_NEVER */
    uint32_t *segment;    /* [count] row of mv_segment_lives that contains addr, or MV_NO_ROW */
    uint8_t *inexact;     /* [count] 1: `block` is a lower bound */
} mv_alloc_lives;

/* A segment_map or segment_unmap event for part of a range cuts the range's row, so that each row
 * is mapped and unmapped as a whole. The sizes of the rows alive at a moment add up to the reserved
 * memory. Rows are not in order of birth, because the pieces of cut rows come last. */
typedef struct {
    uint32_t count;
    uint64_t *addr;       /* [count] */
    uint64_t *size;       /* [count] */
    mv_stack_id *stack;   /* [count] stack that created the segment; MV_NO_STACK: not recorded */
    mv_stream_id *stream; /* [count] */
    mv_pool_id *pool; /* [count] pool, from the event or from the final heap; MV_NO_POOL: unknown */
    uint32_t *birth;  /* [count] segment_alloc or segment_map event, or MV_BEFORE */
    uint32_t *death;  /* [count] segment_free or segment_unmap event, or MV_NEVER */
    uint8_t *kind;    /* [count] mv_segment_kind, from the final heap or, failing that, from
                             * the sizes */
    uint8_t *is_expandable; /* [count] */
} mv_segment_lives;

typedef struct mv_lives {
    uint32_t device;
    mv_history_kind history;
    const char *history_why; /* one sentence with the reason for `history`; never NULL */
    uint32_t ring;    /* size of the event buffer if the buffer was full; 0: it is not known to have
                       * been full. A full buffer dropped older events, which a larger max_entries
                       * would have kept */
    mv_events events; /* the device's events, as columns of the trace */
    bool has_later_events;          /* the trace has later events that are not in the table
                                     * (lives_window.h) */
    bool has_no_heap;               /* the file has no final heap to compare the table with */
    bool is_missing_segment_events; /* segment events were apparently not recorded, or were dropped,
                                     * so the reserved memory is always that of the final heap */
    bool is_missing_memory_events;  /* there are events, but no event on any device is about
                                     * memory */
    bool is_missing_allocs; /* there are no alloc events, but frees, added segments or the final
                             * heap show that some are missing */
    bool ends_are_own;      /* all ends of allocations are their own frees; false: not known */
    mv_alloc_lives allocs;
    mv_segment_lives segments;
    uint32_t *alloc_of; /* [events.count] row of the allocation that an alloc, free or annotate
                         * event is about; for segment events, the (first) row of `segments`; for
                         * other events, MV_NO_ROW */
    uint32_t *freed_by; /* [allocs.count] 1 + mv_alloc_freeing_stack of each allocation, if the
                         * stacks of the events were left out; else NULL */
    const mv_address_ranks *ranks; /* ranks of all addresses; NULL unless mv_lives_find_ranked made
                                    * the table */
    /* Doubts about the table. If all of them are zero, the table explains the final heap to the
     * byte, and every block size is known. */
    struct {
        uint64_t lone_frees;    /* frees of addresses that hold no allocation */
        uint64_t lost_frees;    /* allocations without a recorded free, which end when their bytes
                                 * are used again; in a file without any free events, they end at
                                 * the last event if they are missing from the final heap */
        uint64_t unrequested;   /* allocations without a free_requested event, which may have been
                                 * freed before `freed` */
        uint64_t ended_last;    /* allocations counted in the previous two fields that end at the
                                 * last event, because only the final heap shows that they ended;
                                 * the real end may be later */
        uint64_t unproven;      /* allocations from before the first event that are known only from
                                 * their free_requested event, in a file without any alloc event.
                                 * They may have been allocated later, and not all at once */
        uint64_t unproven_ends; /* allocations like those in `unproven`, but known from their last
                                 * free event */
        uint64_t unproven_segments; /* segments that may have been added after the first event,
                                     * because the file records when such segments end, but not when
                                     * they are added */
        uint64_t uncompleted;       /* allocations whose free may have waited for a stream after
                                     * `completed`, because the file has no free_completed events */
        uint64_t lone_segments;     /* segment events that contradict which bytes are held */
        uint64_t misplaced;         /* allocs that do not start at the start of a free block */
        uint64_t outside;           /* allocs that lie outside all known segments */
        uint64_t inexact_blocks;    /* allocations whose block size is only a lower bound */
        uint64_t resized_blocks;    /* block sizes that were corrected because of later events or
                                     * the final heap */
        uint64_t final_mismatches;  /* blocks of the final heap that contradict the events, or the
                                     * reverse */
        uint64_t final_over;        /* number of final_mismatches where the final heap does not
                                     * contain the block, or not as allocated */
        int64_t residual;           /* the final heap's allocated bytes minus the table's */
        int64_t residual_reserved;  /* the final heap's reserved bytes minus the table's */
    } doubts;
} mv_lives;

/* Builds the table in O(n log n). The table is allocated in `arena`; temporary memory is taken from
 * the arena's budget. Contradictions in a trace are resolved and counted in `doubts`. Fails only
 * when memory (MV_NOMEM) or row numbers (MV_LIMIT) run out. For a device without events, the blocks
 * of the final heap become preexisting rows. */
typedef mv_code mv_find_lives_fn(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                 mv_lives *out, mv_err *err);
mv_find_lives_fn mv_lives_find;

/* Does the same as mv_lives_find, but also keeps the address ranks in the arena. This is for
 * callers that follow the heap (analyze/heap/heap.h) and would otherwise have to compute the ranks
 * again. */
mv_find_lives_fn mv_lives_find_ranked;

/* Run mv_lives_find_ranked in pieces of about `events` events, for callers that do other work in
 * between. mv_lives_search_begin returns NULL when out of memory. mv_lives_search_some sets *again
 * if pieces remain, and must not be called after a failure. mv_lives_search_end may be called at
 * any time. */
typedef struct mv_lives_search mv_lives_search;
mv_lives_search *mv_lives_search_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                       mv_lives *out);
mv_code mv_lives_search_some(mv_lives_search *search, uint32_t events, bool *again, mv_err *err);
void mv_lives_search_end(mv_lives_search *search);

/* Allocates columns for `rows` rows, for tables that are derived from another table; does not set
 * `count`. The columns of allocations are unset (mv_arena_push_unset), those of segments are zero.
 * Returns false when out of memory. */
bool mv_alloc_lives_push(mv_arena *arena, uint64_t rows, mv_alloc_lives *out);
bool mv_alloc_lives_push_rest(mv_arena *arena, uint64_t rows, mv_alloc_lives *out); /* not addr */
bool mv_segment_lives_push(mv_arena *arena, uint64_t rows, mv_segment_lives *out);

/* Copies all columns of a row. */
void mv_alloc_lives_copy(const mv_alloc_lives *from, uint32_t row, mv_alloc_lives *to, uint32_t as);
void mv_segment_lives_copy(const mv_segment_lives *from, uint32_t row, mv_segment_lives *to,
                           uint32_t as);

/* Whether there may have been more allocations before the first event than the table contains. */
static inline bool mv_lives_are_missing_past(const mv_lives *lives)
{
    return lives->history != MV_HISTORY_COMPLETE || lives->has_no_heap;
}

const char *mv_history_name(mv_history_kind kind); /* "complete" */

/* Returns "the final heap holds 2.00 MiB less than the events account for", and a note on missing
 * frees; "" if the heap and the events agree and no free is missing. Allocated in `arena`; NULL
 * when out of memory. */
const char *mv_residual_text(mv_arena *arena, const mv_lives *lives);

/* Whether a block of the final heap is in use, that is, allocated, or freed but still waiting for a
 * stream. */
static inline bool mv_block_is_active(const mv_trace *trace, uint32_t block)
{
    uint8_t state = trace->blocks.state[block];
    return state == MV_BLOCK_ALLOCATED || state == MV_BLOCK_PENDING_FREE;
}

/* Returns the entry in an active block's history for the allocation that now occupies the block, or
 * MV_NO_ROW. PyTorch 1.13 and 2.0 write histories, newest entry first. An entry with a different
 * start belongs to an earlier user of the bytes. */
static inline uint32_t mv_block_newest(const mv_trace *trace, uint32_t block)
{
    const mv_blocks *b = &trace->blocks;
    uint32_t row = b->first_history[block];

    if (b->histories[block] == 0)
        return MV_NO_ROW;
    if (trace->history.addr[row] != MV_NO_BYTES && b->address[block] != MV_NO_BYTES &&
        trace->history.addr[row] != b->address[block])
        return MV_NO_ROW;
    return row;
}

/* Returns the requested bytes of an active block of the final heap, or the block's size if the file
 * does not contain them. PyTorch 1.13 writes the requested bytes only in the block's history. */
static inline uint64_t mv_block_requested(const mv_trace *trace, uint32_t block)
{
    const mv_blocks *b = &trace->blocks;
    uint32_t newest = mv_block_newest(trace, block);

    if (b->requested[block] != MV_NO_BYTES)
        return b->requested[block];
    return newest == MV_NO_ROW ? b->size[block] : trace->history.real_size[newest];
}

/* Returns the stack of an active block of the final heap; MV_NO_STACK: not recorded. PyTorch 1.13
 * and 2.0 write the stack only in the block's history; later versions write an empty stack if none
 * was recorded. */
static inline mv_stack_id mv_block_stack(const mv_trace *trace, uint32_t block)
{
    mv_stack_id stack = trace->blocks.stack[block];
    uint32_t newest = mv_block_newest(trace, block);

    if (stack.row == MV_NO_ROW && newest != MV_NO_ROW)
        stack = trace->history.stack[newest];
    return stack.row == MV_EMPTY_STACK.row ? MV_NO_STACK : stack;
}

/* Returns the stream of an allocation's event or, if there is no event, of the allocation's
 * segment; MV_NO_ROW if the file contains neither. */
static inline mv_stream_id mv_alloc_stream(const mv_lives *lives, uint32_t alloc)
{
    uint32_t segment = lives->allocs.segment[alloc], birth = lives->allocs.birth[alloc];

    if (birth != MV_BEFORE)
        return lives->events.stream[birth];
    return segment < lives->segments.count ? lives->segments.stream[segment]
                                           : (mv_stream_id){MV_NO_ROW};
}

/* Returns the tag of the allocation's event, or the plain tag for an allocation from before the
 * first event. */
static inline mv_tag_id mv_alloc_tag(const mv_lives *lives, uint32_t alloc)
{
    uint32_t birth = lives->allocs.birth[alloc];

    return birth < lives->events.count ? lives->events.tag[birth] : MV_PLAIN_TAG;
}

/* Returns the pool of the allocation's segment; MV_NO_POOL if the file does not contain it. */
static inline mv_pool_id mv_alloc_pool(const mv_lives *lives, uint32_t alloc)
{
    uint32_t segment = lives->allocs.segment[alloc];

    return segment < lives->segments.count ? lives->segments.pool[segment] : MV_NO_POOL;
}
