/* Applies changes to the program, expressed as changes to its operations (replay_script.h). An edit
 * produces the operations that the program would have made with different code. docs/whatif.md
 * lists the assumptions of each edit.
 *
 *     mv_edit_apply(arena, &script, edits, 2, &changed, err);
 *     opts.script = &changed;   mv_replay_run(...)
 *
 * Edits apply in order, each to the result of the previous one. */
#pragma once

#include "analyze/replay/replay_script.h"

typedef enum {
    MV_EDIT_SCALE,      /* the bytes of `rows` are multiplied by numerator/denominator and
                         * rounded up; 0: the rows are removed */
    MV_EDIT_APART,      /* `rows` are allocated from a separate pool */
    MV_EDIT_PREALLOC,   /* `rows` share one buffer, which is as large as the most that they
                         * request at once, is allocated before the first row, and is never freed */
    MV_EDIT_RESERVE,    /* `bytes` are allocated before everything else, and freed immediately */
    MV_EDIT_ONE_STREAM, /* everything is on one stream, so that no free waits for another stream */
    MV_EDIT_EMPTY,      /* empty_cache() is called before each event of `at` */
    MV_EDIT_FREE_EARLY, /* frees of `rows` do not wait for streams */
    MV_EDIT_OFFLOAD,    /* `rows` are moved to the host at the second allocation after them, or
                         * at `gone`, and come back before the allocations that precede their
                         * frees. If a failed request ended their use, they do not come back */
    MV_EDIT_RESIZE,     /* every row requests the bytes given in `sizes` */
    MV_EDIT_RECOMPUTE   /* what a call (`instance`) keeps, except its last allocation, is freed
                         * when the call ends, and is allocated again before the first free of
                         * these blocks */
} mv_edit_kind;

typedef struct {
    mv_edit_kind kind;
    const uint8_t *rows; /* [allocs.count] 1: the edit applies to this allocation */
    uint64_t numerator, denominator;
    uint64_t bytes;
    const uint64_t *sizes; /* [allocs.count] requested bytes, > 0 */
    uint32_t at_count;
    const uint32_t *at;       /* [at_count] events, ascending */
    const uint32_t *instance; /* [allocs.count] call that made each allocation, or MV_NO_ROW */
    const uint32_t *gone;     /* [allocs.count] for OFFLOAD and RECOMPUTE: the row of an
                               * allocation before which the program drops this allocation, if
                               * the edit would end it earlier; MV_NO_ROW: never dropped. NULL:
                               * unknown */
    const uint8_t *cut;       /* [allocs.count] 1: the allocation was never freed because a failed
                               * request ended the run; NULL: none */
} mv_edit;

/* Applies the edits. O(operations) for each edit, including added operations. `from` is unchanged.
 * All results are in `arena`. Fails only when out of memory. */
mv_code mv_edit_apply(mv_arena *arena, const mv_replay_script *from, const mv_edit *edits,
                      uint32_t count, mv_replay_script *out, mv_err *err);
