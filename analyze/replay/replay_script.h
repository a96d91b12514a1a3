/* Converts a trace to a script of operations on the allocator. Replays run these operations, and
 * changes to the program edit them (replay_edit.h). A script also contains facts that a replay
 * needs in advance. One is the heap before the first event. The other is which releases of memory
 * the program requested (torch.cuda.empty_cache()), as opposed to releases with which the allocator
 * itself served a request. */
#pragma once

#include "analyze/lives/alive.h"
#include "analyze/replay/block_rows.h"
#include "analyze/replay/replay.h"

typedef enum {
    MV_OP_ALLOC,
    MV_OP_FREE,     /* a free was requested, but a stream may still use the block */
    MV_OP_COMPLETE, /* the block can be reused; this also requests the free if there was no FREE
                     * before */
    MV_OP_TRY,      /* a request that failed in the recorded run; if it succeeds in the replay,
                     * its block is freed immediately */
    MV_OP_EMPTY     /* torch.cuda.empty_cache() */
} mv_replay_op_kind;

/* An operation takes 24 bytes. */
typedef struct {
    uint64_t bytes : 61;     /* ALLOC, TRY: requested bytes, > 0 */
    uint64_t kind : 3;       /* mv_replay_op_kind */
    uint32_t id;             /* ALLOC, FREE, COMPLETE: row of lives->allocs; ids at or above
                              * allocs.count are allocations that an edit added */
    uint32_t event;          /* event that the operation was made from, or before which an edit
                              * inserted the operation; never decreases */
    mv_stream_id stream;     /* ALLOC, TRY: stream of the request */
    uint32_t pool : 30;      /* ALLOC: row of the pool id */
    uint32_t capturing : 1;  /* ALLOC: no cached blocks are released for this request */
    uint32_t is_request : 1; /* COMPLETE: also requests the free, which is the event just before.
                              * Thus nearly every free is one operation */
} mv_replay_op;

struct mv_replay_script {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_events *ev;
    mv_alloc_conf conf; /* recorded settings */
    bool has_call_ids;  /* mv_events.call shows which events belong to the same call */
    bool is_joined;     /* everything is on one stream and in the default pool */
    bool is_one_stream; /* everything is on one stream, whose value is taken as 0 */
    bool is_listed;     /* the operations are in `ops`. Otherwise they are those of the events, and
                         * are made when they are read, because a list of them is large */
    uint32_t op_count;
    mv_replay_op *ops; /* [op_count] */
    uint32_t ids;      /* all ids of the operations are lower than this */
    uint64_t owed;     /* bytes that edits removed before a failed request and did not add again */
    uint64_t *start_bytes; /* [allocs.preexisting] requested bytes of blocks from before the
                            * first event, which are then allocated again; 0: the block is
                            * skipped. NULL: the blocks are left as recorded */
    uint32_t empty_count;  /* number of groups of releases that no request caused */
    uint32_t *empty_first, *empty_end; /* [empty_count] events [first, end) of each group,
                                        * ascending */
    uint32_t *release_from; /* [pools] first event after which each private pool may release
                             * memory */
    uint64_t limit;         /* maximum of reserved bytes, concluded from failed requests and
                             * retries; UINT64_MAX: unknown */
    uint32_t rare_count;
    uint32_t *rare; /* [rare_count] segment events and failed requests, in order. Nearly all other
                     * events are allocs and frees */
    uint32_t segment_count;
    mv_driver_record *segments; /* [segment_count] segments of the segment_alloc events, in order */
};

/* Does not list the operations. mv_replay_script_list does, for callers that go through them several
 * times or change them; returns false when out of memory. */
mv_code mv_replay_script_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_replay_script *out, mv_err *err);
bool mv_replay_script_list(mv_arena *arena, mv_replay_script *script);

static inline bool mv_is_growth_action(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP;
}

static inline bool mv_is_release_action(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP;
}

/* Whether the event after a request to free a block completes the free. */
static inline bool mv_replay_is_completed_next(const mv_replay_script *script, uint32_t event)
{
    const uint32_t *row = script->lives->alloc_of + event;
    const uint8_t *action = script->ev->action + event;

    return event + 1 < script->ev->count && row[0] != MV_NO_ROW && row[1] == row[0] &&
           action[0] == MV_ACTION_FREE_REQUESTED && action[1] == MV_ACTION_FREE_COMPLETED;
}

/* Return the row of an allocation's or a segment's pool id, and the value of a stream in an alloc
 * or oom event. */
static inline uint32_t mv_replay_segment_pool_id(const mv_replay_script *script,
                                                 uint32_t segment_row)
{
    const mv_segment_lives *s = &script->lives->segments;
    uint32_t pool = segment_row < s->count && !script->is_joined ? s->pool[segment_row].row : 0;

    return pool < script->trace->pools.count ? pool : 0;
}

static inline uint32_t mv_replay_pool_id(const mv_replay_script *script, uint32_t alloc_row)
{
    return alloc_row == MV_NO_ROW || script->trace->pools.count <= 1
               ? 0
               : mv_replay_segment_pool_id(script, script->lives->allocs.segment[alloc_row]);
}

static inline uint64_t mv_replay_stream(const mv_replay_script *script, mv_stream_id stream)
{
    if (script->is_joined || script->is_one_stream)
        return 0;
    return stream.row < script->trace->streams.count ? script->trace->streams.value[stream.row] : 0;
}

/* Returns the stream of an alloc or oom event; any stream if everything is on one. */
static inline mv_stream_id mv_replay_stream_id(const mv_replay_script *script, uint32_t event)
{
    return script->is_one_stream ? (mv_stream_id){0} : script->ev->stream[event];
}

/* Position of the next operation. Begins as zeros. */
typedef struct {
    uint32_t at;    /* row of `ops` or, if the operations are not listed, an event */
    uint32_t empty; /* next group of releases that no request caused */
} mv_replay_reader;

/* Converts one event to an operation. Returns false if the event does not concern the allocator. */
static inline bool mv_replay_op_of(const mv_replay_script *s, mv_replay_reader *reader,
                                   uint32_t event, mv_replay_op *op)
{
    const mv_events *ev = s->ev;
    uint32_t row = s->lives->alloc_of[event], pool;
    uint64_t bytes;
    bool is_pair;

    switch (ev->action[event]) {
    case MV_ACTION_ALLOC:
    case MV_ACTION_OOM:
        if (ev->action[event] == MV_ACTION_ALLOC && row == MV_NO_ROW)
            return false;
        bytes =
            ev->action[event] == MV_ACTION_OOM ? ev->size[event] : s->lives->allocs.requested[row];
        pool = mv_replay_pool_id(s, row);
        *op = (mv_replay_op){.bytes = bytes > MV_MOST_REQUEST ? MV_MOST_REQUEST + 1 : bytes,
                             .kind = ev->action[event] == MV_ACTION_OOM ? MV_OP_TRY : MV_OP_ALLOC,
                             .id = row,
                             .event = event,
                             .stream = mv_replay_stream_id(s, event),
                             .pool = pool,
                             .capturing = pool != MV_DEFAULT_POOL.row};
        return op->kind == MV_OP_TRY || (bytes != 0 && bytes != MV_NO_BYTES);
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        is_pair = mv_replay_is_completed_next(s, event);
        *op = (mv_replay_op){.kind = is_pair || ev->action[event] == MV_ACTION_FREE_COMPLETED
                                         ? MV_OP_COMPLETE
                                         : MV_OP_FREE,
                             .id = row,
                             .event = event,
                             .is_request = is_pair};
        return row != MV_NO_ROW;
    default:
        if (reader->empty == s->empty_count || s->empty_first[reader->empty] != event)
            return false;
        reader->empty++;
        *op = (mv_replay_op){.kind = MV_OP_EMPTY, .event = event};
        return true;
    }
}

/* Reads the next operation. Returns false at the end. */
static inline bool mv_replay_read(const mv_replay_script *s, mv_replay_reader *reader,
                                  mv_replay_op *op)
{
    if (s->is_listed) {
        if (reader->at == s->op_count)
            return false;
        *op = s->ops[reader->at++];
        return true;
    }
    while (reader->at < s->ev->count)
        if (mv_replay_op_of(s, reader, reader->at++, op)) {
            reader->at += op->is_request;
            return true;
        }
    return false;
}

/* Builds the heap before the first event, as recorded, in an empty heap. `block_of` receives the
 * block of each allocation from before the first event, unless contradictions leave no block for
 * it. */
void mv_replay_start_as_recorded(const mv_replay_script *script, mv_replay_heap *heap,
                                 mv_block_rows *block_of);

/* Repeats the allocations from before the first event, in order of their addresses. */
void mv_replay_start_anew(const mv_replay_script *script, mv_replay_heap *heap,
                          mv_block_rows *block_of);
