/* A trace compiled into operations on the allocator. Replays run these operations; changes of the
 * program edit them (replay_edit.h). A script also has the facts that a replay needs in advance:
 * which releases of memory the program requested (torch.cuda.empty_cache()) and which the allocator
 * made by itself to serve a request; and the heap before the first event. */
#ifndef MV_REPLAY_SCRIPT_H
#define MV_REPLAY_SCRIPT_H

#include "analyze/lives/address_ranks.h"
#include "analyze/replay/replay.h"

typedef enum {
    MV_OP_ALLOC,
    MV_OP_FREE,     /* the request: a stream may still use the block */
    MV_OP_COMPLETE, /* the block can be reused; this also requests the free if no FREE
                     * came before */
    MV_OP_TRY,      /* a request that failed in the recorded run; if it succeeds, its block is
                     * freed immediately */
    MV_OP_EMPTY     /* torch.cuda.empty_cache() */
} mv_replay_op_kind;

/* 24 bytes. */
typedef struct {
    uint64_t bytes : 61;     /* ALLOC, TRY: requested, > 0 */
    uint64_t kind : 3;       /* mv_replay_op_kind */
    uint32_t id;             /* ALLOC, FREE, COMPLETE: row of lives->allocs; from allocs.count on,
                              * allocations that an edit made */
    uint32_t event;          /* source event, or the event before which an edit inserted it;
                              * never decreases */
    mv_stream_id stream;     /* ALLOC, TRY */
    uint32_t pool : 30;      /* ALLOC: pool id row */
    uint32_t capturing : 1;  /* ALLOC: cached blocks are not released for it */
    uint32_t is_request : 1; /* COMPLETE: also the request, which is the event just before. Thus
                              * nearly all frees are one operation */
} mv_replay_op;

struct mv_replay_script {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_events *ev;
    mv_alloc_conf conf; /* recorded */
    bool has_call_ids;  /* mv_events.call shows which events belong to the same call */
    bool is_joined;     /* everything is on one stream and in the default pool */
    bool is_one_stream; /* everything is on one stream */
    uint32_t op_count;
    mv_replay_op *ops; /* [op_count] */
    uint32_t ids;      /* all ids of the operations are lower than this */
    uint64_t owed;     /* bytes that edits removed before a failed request and did not bring back */
    uint64_t *start_bytes; /* [allocs.preexisting] requested bytes of blocks from before the first
                            * event, which are then allocated again; 0: skipped. NULL: the blocks
                            * stay as recorded */
    uint32_t empty_count;  /* groups of releases not caused by a request */
    uint32_t *empty_first, *empty_end; /* [empty_count] events [first, end), ascending */
    uint32_t *release_from; /* [pools] first event at which a private pool may give memory back */
    uint64_t limit;         /* limit on reserved bytes, known from failed requests and retries;
                     * UINT64_MAX: unknown */
    uint32_t segment_count;
    mv_driver_record *segments; /* [segment_count] segments of the segment_alloc events, in order */
};

mv_code mv_replay_script_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_replay_script *out, mv_err *err);

static inline bool mv_is_release_action(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP;
}

/* The pool id row of an allocation and of a segment; the stream value of an alloc or oom event. */
uint32_t mv_replay_pool_id(const mv_replay_script *script, uint32_t alloc_row);
uint32_t mv_replay_segment_pool_id(const mv_replay_script *script, uint32_t segment_row);
uint64_t mv_replay_stream(const mv_replay_script *script, mv_stream_id stream);

/* Builds the recorded heap before the first event in an empty heap. `block_of` receives the block
 * of each preexisting allocation, or MV_NO_ROW if contradictions leave none. */
void mv_replay_start_as_recorded(const mv_replay_script *script, mv_replay_heap *heap,
                                 uint32_t *block_of);

/* Repeats the preexisting allocations in order of their addresses. */
void mv_replay_start_anew(const mv_replay_script *script, mv_replay_heap *heap, uint32_t *block_of);

#endif
