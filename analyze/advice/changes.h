/* Converts changes to the program's code, as written on a command line, to edits of the program's
 * operations (analyze/replay/replay_edit.h). docs/whatif.md lists the assumptions of each change.
 *
 * F stands for a filter (analyze/filter/filter.h) that selects the allocations to change. */
#pragma once

#include "analyze/filter/filter.h"
#include "analyze/peak/layers.h"
#include "analyze/replay/replay_edit.h"
#include "analyze/steps/steps.h"

#define MV_CODE_CHANGE_LIST(X)                         \
    X(DROP, "drop")                                    \
    X(SCALE, "scale") /* F=X */                        \
    X(HALF, "half")                                    \
    X(PREALLOC, "prealloc") /* F|BYTES */              \
    X(ONE_STREAM, "one-stream")                        \
    X(EMPTY_CACHE, "empty-cache-each") /* STEP|NAME */ \
    X(OFFLOAD, "cpu")                                  \
    X(FREE_EARLY, "free-early")                        \
    X(RECOMPUTE, "recompute")                          \
    X(ZERO, "zero") /* 1, 2 or 3 */

typedef enum {
#define MV_CODE_CHANGE_ENUM(name, text) MV_CODE_CHANGE_##name,
    MV_CODE_CHANGE_LIST(MV_CODE_CHANGE_ENUM)
#undef MV_CODE_CHANGE_ENUM
} mv_code_change_kind;

typedef struct {
    mv_code_change_kind kind;
    const char *text; /* argument of the change, or NULL */
    uint64_t ranks;   /* ZERO: number of ranks among which the memory is divided */
} mv_code_change;

typedef struct {
    uint32_t count;
    mv_edit *edits;       /* [count] */
    const char **changes; /* [count] description of each change: "drop make_aux: 5 allocations,
                           * 240 MiB in all" */
    const char **assumed; /* [count] assumptions that each edit makes, without a full stop */
} mv_code_changes;

/* Returns whether the argument of the change is valid, without looking at a trace. If it is not,
 * `why` receives the reason as a sentence. */
bool mv_code_change_is_fine(mv_arena *arena, const mv_code_change *change, char why[MV_FILTER_WHY]);

/* Facts about a trace that mv_code_changes_find needs, computed once and shared by several
 * calls. */
typedef struct {
    mv_categories categories;
    mv_layers layers;
    mv_steps steps;
    uint32_t *gone; /* from mv_variables_end (analyze/advice/variables.h) */
} mv_code_facts;

mv_code mv_code_facts_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, mv_code_facts *out, mv_err *err);

/* Finds the edits for one device, in the order of `changes`. O(n log n) for each change. All
 * results are in `arena`. If `facts` is NULL, the facts are computed when a change needs them.
 * Fails only when out of memory. */
mv_code mv_code_changes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             const mv_code_facts *facts, const mv_code_change *changes,
                             uint32_t count, mv_code_changes *out, mv_err *err);
