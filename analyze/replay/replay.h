/* Replays a trace on a simulation of PyTorch's caching allocator (replay_heap.h).
 *
 *     verify   under the recorded settings: every event is predicted, then applied as recorded.
 *              Says how far the simulation can be trusted on this trace.
 *     run      under other settings: only what the program asked for is taken from the trace (which
 *              bytes, on which stream and pool, when freed, when empty_cache() was called);
 *              everything else is computed.
 *
 * docs/whatif.md explains both, and where they cannot be exact. */
#ifndef MV_REPLAY_H
#define MV_REPLAY_H

#include "analyze/replay/replay_heap.h"

typedef struct {
    uint32_t segment_events; /* recorded: segment_alloc, _free, _map, _unmap */
    uint32_t segment_matched;
    uint32_t allocs;           /* recorded */
    uint32_t allocs_matched;   /* whose address was predicted */
    uint32_t first_difference; /* event; MV_NEVER: none */
    char why[128];             /* what differs there; "" when nothing does */
    bool gave_up;   /* too many differences: events after the last one count as differing */
    bool exact;     /* everything matched, and the history is complete and consistent */
    mv_levels peak; /* of the replay */
    mv_replay_counts counts;
    uint64_t largest; /* the largest segment */
} mv_replay_fidelity;

/* O(n log n). `arena` only lends its budget. Fails only when memory is out. */
mv_code mv_replay_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         mv_replay_fidelity *out, mv_err *err);

/* How a run gets the heap from before the first event. */
typedef enum {
    MV_START_BY_SETTINGS, /* as recorded, but anew if expandable_segments changes */
    MV_START_AS_RECORDED, /* the recorded segments and blocks, whatever the settings */
    MV_START_ANEW         /* its allocations are made again, in order of their addresses */
} mv_replay_start_rule;

typedef struct mv_replay_script mv_replay_script;

typedef struct {
    mv_alloc_conf conf;
    uint64_t limit; /* bytes that may be reserved; 0: no limit */
    uint32_t end;   /* events [0, end) are replayed; 0: all */
    mv_replay_start_rule start;
    mv_place_rule place;
    bool strange_addresses; /* do not start with the recorded addresses of segments */
    const uint8_t *apart;   /* [allocs.count] 1: allocate it from a pool of its own; NULL: none */
    const mv_replay_script
        *script; /* of replay_script.h, to share it between runs; NULL: made for this run */
} mv_replay_opts;

typedef struct {
    mv_levels peak;
    mv_replay_counts counts;
    uint64_t largest;       /* bytes of the largest segment that was added or was there */
    uint32_t first_oom;     /* alloc event that failed; MV_NEVER */
    bool gave_up;           /* after MV_REPLAY_MOST_WORK: the end of the trace is not replayed */
    uint32_t recorded_ooms; /* oom events of the trace */
    uint32_t avoided_ooms;  /* those among them whose request is met */
    uint64_t spare; /* what is neither allocated nor pending of the limit, after the last of these
                     * was met; MV_NO_BYTES: none was met, or there is no limit */
} mv_replay_result;

/* As above. Requests that fail are left out, together with their frees, and the replay continues.
 * */
mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err);

#endif
