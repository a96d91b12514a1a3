/* What a replay needs to know of a trace beforehand: which releases of memory the program asked for
 * (torch.cuda.empty_cache()), and which the allocator made on its own to meet a request; which pool
 * each allocation came from; and the heap before the first event. */
#ifndef MV_REPLAY_SCRIPT_H
#define MV_REPLAY_SCRIPT_H

#include "analyze/lives/address_ranks.h"
#include "analyze/replay/replay.h"

struct mv_replay_script {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_events *ev;
    mv_alloc_conf conf;                /* recorded */
    bool calls_tell;                   /* mv_events.call says which events stem from one call */
    uint32_t empty_count;              /* groups of releases that no request caused */
    uint32_t *empty_first, *empty_end; /* [empty_count] events [first, end), ascending */
    uint32_t *release_from; /* [pools] first event from which a private pool gives memory back */
    uint64_t limit;         /* on reserved bytes, from failed requests and retries; UINT64_MAX: none
                             * seen */
    uint32_t segment_count;
    mv_driver_record *segments; /* [segment_count] of segment_alloc events, in order */
};

mv_code mv_replay_script_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_replay_script *out, mv_err *err);

static inline bool mv_is_release_action(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP;
}

/* Pool id row and stream value of an allocation; of an alloc or oom event. */
uint32_t mv_replay_pool_id(const mv_replay_script *script, uint32_t alloc_row);
uint64_t mv_replay_stream(const mv_replay_script *script, mv_stream_id stream);

/* The recorded heap before the first event, into an empty heap. `block_of` gets the block of each
 * preexisting allocation, MV_NO_ROW where contradictions leave none. */
void mv_replay_start_as_recorded(const mv_replay_script *script, mv_replay_heap *heap,
                                 uint32_t *block_of);

/* The same allocations made again in the order of their addresses. */
void mv_replay_start_anew(const mv_replay_script *script, mv_replay_heap *heap, uint32_t *block_of);

#endif
