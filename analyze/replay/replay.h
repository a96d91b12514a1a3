/* Replays a trace on a simulation of PyTorch's caching allocator (replay_heap.h).
 *
 *     verify   under the recorded settings: every event is predicted, then applied as recorded.
 *              Shows how far the simulation can be trusted on this trace.
 *     run      under other settings: only the program's requests are taken from the trace (bytes,
 *              stream, pool, time of the free, calls of empty_cache()); all else is computed.
 *
 * docs/whatif.md explains both, and where they cannot be exact. */
#ifndef MV_REPLAY_H
#define MV_REPLAY_H

#include "analyze/replay/replay_heap.h"

typedef struct {
    uint32_t segment_events; /* recorded: segment_alloc, _free, _map, _unmap */
    uint32_t segment_matched;
    uint32_t allocs;           /* recorded */
    uint32_t allocs_matched;   /* allocations whose address was predicted */
    uint32_t first_difference; /* first event that differs, or MV_NEVER */
    char why[128];             /* what differs there, or "" */
    bool gave_up;              /* too many differences or steps: later events count as different */
    bool exact;                /* everything matched, and the history is complete and consistent */
    mv_levels peak;            /* of the replay */
    mv_replay_counts counts;
    uint64_t largest; /* the largest segment */
    uint64_t work;    /* steps taken, out of mv_replay_most_work */
} mv_replay_fidelity;

typedef struct mv_replay_script mv_replay_script; /* of replay_script.h */

/* O(n log n). `arena` is only used for its budget. `script` may be NULL, as in mv_replay_opts.
 * Fails only when out of memory. */
mv_code mv_replay_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_replay_script *script, mv_replay_fidelity *out, mv_err *err);

/* How a run creates the heap from before the first event. */
typedef enum {
    MV_START_BY_SETTINGS, /* as recorded, or anew if expandable_segments changes */
    MV_START_AS_RECORDED, /* the recorded segments and blocks, regardless of settings */
    MV_START_ANEW         /* the allocations are repeated in order of their addresses */
} mv_replay_start_rule;

/* The levels of a run over time: the highest level in each `step` events. */
typedef struct {
    uint32_t step;                  /* > 0 */
    uint32_t count;                 /* before the run: columns allocated; after the run:
                                     * columns reached */
    uint64_t *reserved, *allocated; /* [count] zeros before the run */
} mv_replay_curve;

typedef struct {
    mv_alloc_conf conf;
    uint64_t limit; /* bytes that may be reserved; 0: no limit */
    uint32_t end;   /* events [0, end) are replayed; 0: all */
    mv_replay_start_rule start;
    mv_place_rule place;
    bool strange_addresses;         /* do not begin with the recorded segment addresses */
    uint64_t enough;                /* stop once this many bytes are reserved (over_enough); 0: do
                             * not stop */
    mv_replay_curve *curve;         /* receives the levels over time; NULL: not needed */
    const mv_replay_script *script; /* may be shared between runs; NULL: made for this run */
    uint64_t *left; /* steps that this and other replays may still take (mv_replay_most_work); the
                     * replay subtracts its steps. NULL: the maximum for one trace */
} mv_replay_opts;

typedef struct {
    mv_levels peak;
    mv_replay_counts counts;
    uint64_t largest;       /* bytes of the largest segment that was added or existed before */
    uint32_t first_oom;     /* alloc event that failed, or MV_NEVER */
    bool over_enough;       /* `enough` was reached: the rest of the trace is not replayed */
    bool gave_up;           /* no steps were left: the rest of the trace is not replayed */
    uint32_t recorded_ooms; /* oom events of the trace */
    uint32_t avoided_ooms;  /* recorded oom events whose request succeeds here */
    bool last_met;          /* the last recorded oom event is one of these */
    uint64_t spare; /* bytes of the limit beyond allocated and pending bytes, after the last such
                     * request; MV_NO_BYTES: no such request, or no limit */
} mv_replay_result;

/* Runs a replay. Requests that fail are skipped together with their frees, and the
 * replay continues. */
mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err);

/* mv_replay_run in pieces: one replay that stops before one event after another. `opts.end` is
 * ignored; each `end` must be at least the previous one. The result covers events [0, end). */
typedef struct mv_replay mv_replay;

mv_code mv_replay_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_replay_opts opts, mv_replay **out, mv_err *err);
mv_code mv_replay_until(mv_replay *replay, uint32_t end, mv_replay_result *out, mv_err *err);
void mv_replay_close(mv_replay *replay); /* NULL is allowed */

/* An operation that a program would have done after the events of a replay. `row` numbers
 * allocations of the trace; with `is_new`, the allocation is from another step and is repeated. */
typedef struct {
    uint32_t row;
    bool is_new;
    uint64_t bytes; /* bytes to allocate; 0: a free */
} mv_replay_next;

/* Applies the operations, and reports whether every request succeeded. Afterwards the replay
 * may only be closed. `first` is the lowest row of a new allocation, `count` the number of rows
 * from there. */
mv_code mv_replay_continue(mv_replay *replay, const mv_replay_next *next, uint32_t next_count,
                           uint32_t first, uint32_t count, bool *served, mv_err *err);

#endif
