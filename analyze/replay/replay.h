/* Replays a trace on a simulation of PyTorch's caching allocator (replay_heap.h).
 *
 *     verify   under the recorded settings: every event is predicted, then applied as recorded.
 *              Shows how far the simulation can be trusted on this trace.
 *     run      under other settings: only the program's requests are taken from the trace (bytes, stream, pool, time of the free, calls of empty_cache());
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
    bool gave_up;              /* too many differences, or steps: later events count as differing */
    bool exact;                /* everything matched, and the history is complete and consistent */
    mv_levels peak;            /* of the replay */
    mv_replay_counts counts;
    uint64_t largest; /* the largest segment */
    uint64_t work;    /* steps that it took, of mv_replay_most_work */
} mv_replay_fidelity;

typedef struct mv_replay_script mv_replay_script; /* of replay_script.h */

/* O(n log n). `arena` only lends its budget. `script` may be NULL, as in mv_replay_opts. Fails only
 * when out of memory. */
mv_code mv_replay_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_replay_script *script, mv_replay_fidelity *out, mv_err *err);

/* How a run gets the heap from before the first event. */
typedef enum {
    MV_START_BY_SETTINGS, /* as recorded, but anew if expandable_segments changes */
    MV_START_AS_RECORDED, /* the recorded segments and blocks, whatever the settings */
    MV_START_ANEW         /* its allocations are made again, in order of their addresses */
} mv_replay_start_rule;

/* The levels of a run over time: the highest of each `step` events. */
typedef struct {
    uint32_t step;                  /* > 0 */
    uint32_t count;                 /* columns that were reached; before the run: there is room */
    uint64_t *reserved, *allocated; /* [count] zeros before the run */
} mv_replay_curve;

typedef struct {
    mv_alloc_conf conf;
    uint64_t limit; /* bytes that may be reserved; 0: no limit */
    uint32_t end;   /* events [0, end) are replayed; 0: all */
    mv_replay_start_rule start;
    mv_place_rule place;
    bool strange_addresses; /* do not start with the recorded addresses of segments */
    uint64_t enough;        /* stop once this many bytes are reserved (over_enough); 0: never */
    mv_replay_curve *curve; /* gets the levels over time; NULL: not needed */
    const mv_replay_script *script; /* to share it between runs; NULL: made for this run */
    uint64_t *left; /* steps that this replay and others may still take (mv_replay_most_work): it
                     * takes its own off; NULL: as many as one trace may take */
} mv_replay_opts;

typedef struct {
    mv_levels peak;
    mv_replay_counts counts;
    uint64_t largest;       /* bytes of the largest segment that was added or was there */
    uint32_t first_oom;     /* alloc event that failed; MV_NEVER */
    bool over_enough;       /* `enough` was reserved: the end of the trace is not replayed */
    bool gave_up;           /* no steps were left: the end of the trace is not replayed */
    uint32_t recorded_ooms; /* oom events of the trace */
    uint32_t avoided_ooms;  /* those among them whose request is met */
    bool last_met;          /* the last of them is */
    uint64_t spare; /* the rest of the limit beyond allocated and pending bytes after the last of
                     * these was met; MV_NO_BYTES: none was met, or there is no limit */
} mv_replay_result;

/* As above. Requests that fail are skipped, together with their frees, and the replay continues. */
mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err);

/* The same in pieces: one replay that stops before one event after another. `opts.end` means
 * nothing here; each end is at least the last one. The result covers the events [0, end). */
typedef struct mv_replay mv_replay;

mv_code mv_replay_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_replay_opts opts, mv_replay **out, mv_err *err);
mv_code mv_replay_until(mv_replay *replay, uint32_t end, mv_replay_result *out, mv_err *err);
void mv_replay_close(mv_replay *replay); /* NULL is fine */

/* An operation that a program would have done after the events of a replay. `row` numbers
 * allocations of the trace; `is_new` ones were made in another step and are made again. */
typedef struct {
    uint32_t row;
    bool is_new;
    uint64_t bytes; /* to allocate; 0: it is freed */
} mv_replay_next;

/* Applies them, and reports whether every request was served. The replay is of no use afterwards
 * but for mv_replay_close. `first` is the least row of a new allocation, `count` the number of rows
 * from there. */
mv_code mv_replay_continue(mv_replay *replay, const mv_replay_next *next, uint32_t next_count,
                           uint32_t first, uint32_t count, bool *served, mv_err *err);

#endif
