/* Replays a trace on a simulation of PyTorch's caching allocator (replay_heap.h).
 *
 *     verify   under the recorded settings, every event is predicted, then applied as recorded.
 *              Shows how far the simulation can be trusted on this trace.
 *     run      under other settings, only the program's requests are taken from the trace (bytes,
 *              stream, pool, time of the free, calls of empty_cache()). All other data is computed.
 *
 * docs/whatif.md explains both kinds of replay and when they cannot be exact. */
#pragma once

#include "analyze/replay/replay_heap.h"

typedef struct {
    uint32_t segment_events; /* number of recorded segment events: segment_alloc, _free, _map,
                              * _unmap */
    uint32_t segment_matched;
    uint32_t allocs;           /* number of recorded alloc events */
    uint32_t allocs_matched;   /* number of alloc events whose address was predicted */
    uint32_t first_difference; /* first event that differs from its prediction, or MV_NEVER */
    char why[128];             /* how this event differs from its prediction, or "" */
    bool gave_up;              /* there were too many differences or steps, so all later events
                                * count as different */
    bool exact;                /* everything matched, and the history is complete and consistent */
    mv_levels peak;            /* peak of the replay */
    mv_replay_counts counts;
    uint64_t largest; /* size of the largest segment */
    uint64_t work;    /* number of steps taken, out of mv_replay_most_work */
} mv_replay_fidelity;

typedef struct mv_replay_script mv_replay_script; /* of replay_script.h */

/* Replays a trace under the recorded settings, and compares every event. O(n log n). `arena` is
 * used only for its budget. `script` may be NULL, as in mv_replay_opts. Fails only when out of
 * memory. */
mv_code mv_replay_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_replay_script *script, mv_replay_fidelity *out, mv_err *err);

/* How a run creates the heap that existed before the first event. */
typedef enum {
    MV_START_BY_SETTINGS, /* as recorded, or anew if expandable_segments differs from the
                           * recording */
    MV_START_AS_RECORDED, /* with the recorded segments and blocks, regardless of the settings */
    MV_START_ANEW         /* by repeating the allocations in order of their addresses */
} mv_replay_start_rule;

/* The levels of a run over time. Each entry is the highest level during `step` events. */
typedef struct {
    uint32_t step;                  /* number of events per entry, > 0 */
    uint32_t count;                 /* number of entries: before the run, entries allocated;
                                     * after the run, entries reached */
    uint64_t *reserved, *allocated; /* [count] all zeros before the run */
} mv_replay_curve;

typedef struct {
    mv_alloc_conf conf;
    uint64_t limit; /* maximum of reserved bytes; 0: no limit */
    uint32_t end;   /* events [0, end) are replayed; 0: all */
    mv_replay_start_rule start;
    mv_place_rule place;
    bool strange_addresses;         /* do not give the first segments their recorded addresses */
    uint64_t enough;                /* stop when this many bytes are reserved (over_enough); 0:
                                     * do not stop */
    mv_replay_curve *curve;         /* the levels over time are stored here; NULL: not needed */
    const mv_replay_script *script; /* script to run, which runs may share; NULL: a script is
                                     * made for this run */
    uint64_t *left;                 /* number of steps that this and other replays may still take
                                     * (mv_replay_most_work); NULL: the maximum for one trace. The
                                     * replay subtracts the steps that it takes */
} mv_replay_opts;

typedef struct {
    mv_levels peak;
    mv_replay_counts counts;
    uint64_t largest;       /* size of the largest segment, whether it was added or existed
                             * before */
    uint32_t first_oom;     /* first alloc event that failed, or MV_NEVER */
    bool over_enough;       /* `enough` was reached, so the rest of the trace was not replayed */
    bool gave_up;           /* no steps were left, so the rest of the trace was not replayed */
    uint32_t recorded_ooms; /* number of oom events in the trace */
    uint32_t avoided_ooms;  /* number of these oom events whose request succeeds in the replay */
    bool last_met;          /* whether the request of the last recorded oom event succeeds */
    uint64_t spare; /* bytes of the limit beyond allocated and pending bytes after the last such
                     * request; MV_NO_BYTES: there is no such request, or no limit */
} mv_replay_result;

/* Replays a trace. A request that fails is skipped together with its free, and the replay
 * continues. */
mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err);

/* Does the same as mv_replay_run, but step by step: one replay that stops before one event after
 * another. `opts.end` is ignored. Each `end` must be at least as large as the previous one. The
 * result covers events [0, end). */
typedef struct mv_replay mv_replay;

mv_code mv_replay_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_replay_opts opts, mv_replay **out, mv_err *err);
mv_code mv_replay_until(mv_replay *replay, uint32_t end, mv_replay_result *out, mv_err *err);
void mv_replay_close(mv_replay *replay); /* `replay` may be NULL */

/* An operation that a program would have done after the events of a replay. `row` is the number of
 * an allocation of the trace. With `is_new`, the allocation belongs to another step and is
 * repeated. */
typedef struct {
    uint32_t row;
    bool is_new;
    uint64_t bytes; /* number of bytes to allocate; 0: the operation is a free */
} mv_replay_next;

/* Applies the operations. *served is set to whether every request succeeded. Afterwards the replay
 * can only be closed. `first` is the lowest row of a new allocation, and new allocations are in
 * rows [first, first + count). */
mv_code mv_replay_continue(mv_replay *replay, const mv_replay_next *next, uint32_t next_count,
                           uint32_t first, uint32_t count, bool *served, mv_err *err);
