/* Changes of the program, as changes of its operations (replay_script.h): the operations that it
 * would have made with other code. docs/whatif.md lists the assumptions of each.
 *
 *     mv_edit_apply(arena, &script, edits, 2, &changed, err);
 *     opts.script = &changed;   mv_replay_run(...)
 *
 * Edits see what those before them have left. */
#ifndef MV_REPLAY_EDIT_H
#define MV_REPLAY_EDIT_H

#include "analyze/replay/replay_script.h"

typedef enum {
    MV_EDIT_SCALE,      /* `rows` have numerator/denominator of their bytes, rounded up; 0: none */
    MV_EDIT_APART,      /* `rows` come from a pool of their own */
    MV_EDIT_PREALLOC,   /* `rows` are parts of one buffer, as large as the most that they request at
                         * once, which is allocated before the first of them and kept */
    MV_EDIT_RESERVE,    /* `bytes` are allocated first of all, and freed at once */
    MV_EDIT_ONE_STREAM, /* all is on one stream, so no free waits for another */
    MV_EDIT_EMPTY,      /* empty_cache() is called before each event of `at` */
    MV_EDIT_FREE_EARLY, /* frees of `rows` do not wait for streams */
    MV_EDIT_OFFLOAD,    /* `rows` are away from the allocation after the next one, or from `gone`,
                         * until before the allocations that precede their frees; to the end, if a
                         * failed request ended their use */
    MV_EDIT_RESIZE,     /* every row has the requested bytes of `sizes` */
    MV_EDIT_RECOMPUTE   /* `instance`: what a call keeps is freed when it ends, but for its last
                         * allocation, and made again before the first of its frees */
} mv_edit_kind;

typedef struct {
    mv_edit_kind kind;
    const uint8_t *rows; /* [allocs.count] 1: it is about this allocation */
    uint64_t numerator, denominator;
    uint64_t bytes;
    const uint64_t *sizes; /* [allocs.count] > 0 */
    uint32_t at_count;
    const uint32_t *at;       /* [at_count] events, ascending */
    const uint32_t *instance; /* [allocs.count] the call that made it; MV_NO_ROW: none */
    const uint32_t *gone; /* [allocs.count] OFFLOAD, RECOMPUTE: the row before whose allocation the
                           * program lets go of it, if that is later; MV_NO_ROW: it never does.
                           * NULL: not known */
    const uint8_t *cut;   /* [allocs.count] 1: never freed because a failed request ended the run;
                         * NULL: none */
} mv_edit;

/* O(operations) for each edit, and what edits add. `from` stays as it is; everything returned lives
 * in `arena`. Fails only when out of memory. */
mv_code mv_edit_apply(mv_arena *arena, const mv_replay_script *from, const mv_edit *edits,
                      uint32_t count, mv_replay_script *out, mv_err *err);

#endif
