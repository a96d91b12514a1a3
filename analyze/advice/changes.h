/* Changes of the program's code, as written on a command line, converted to edits of its operations
 * (analyze/replay/replay_edit.h). docs/whatif.md lists the assumptions of each change.
 *
 * F is a filter (analyze/filter/filter.h) for the allocations to change. */
#ifndef MV_CHANGES_H
#define MV_CHANGES_H

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
        MV_CODE_CHANGE_COUNT
} mv_code_change_kind;

typedef struct {
    mv_code_change_kind kind;
    const char *text; /* argument of the change, or NULL */
    uint64_t ranks;   /* ZERO */
} mv_code_change;

typedef struct {
    uint32_t count;
    mv_edit *edits;       /* [count] */
    const char **changes; /* [count] "drop make_aux: 5 allocations, 240 MiB in all" */
    const char **assumed; /* [count] assumptions of the edits, without a full stop */
} mv_code_changes;

/* Whether the argument can be read, without a trace; if not, `why` is a sentence. */
bool mv_code_change_is_fine(mv_arena *arena, const mv_code_change *change, char why[MV_FILTER_WHY]);

/* Facts used to find changes; computed once for several calls. */
typedef struct {
    mv_categories categories;
    mv_layers layers;
    mv_steps steps;
    uint32_t *gone; /* analyze/advice/variables.h */
} mv_code_facts;

mv_code mv_code_facts_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, mv_code_facts *out, mv_err *err);

/* The edits for one device, in order. O(n log n) for each. All results are in `arena`. If `facts`
 * is NULL, they are computed when needed. Fails only when out of memory. */
mv_code mv_code_changes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             const mv_code_facts *facts, const mv_code_change *changes,
                             uint32_t count, mv_code_changes *out, mv_err *err);

#endif
