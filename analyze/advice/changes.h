/* Changes of the program's code, as people write them on a command line, turned into edits of its
 * operations (analyze/replay/replay_edit.h). docs/whatif.md lists what each assumes.
 *
 * F is a filter (analyze/filter/filter.h): the allocations that a change is about. */
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
    const char *text; /* its argument; NULL: none */
    uint64_t ranks;   /* ZERO */
} mv_code_change;

typedef struct {
    uint32_t count;
    mv_edit *edits;       /* [count] */
    const char **changes; /* [count] "drop make_aux: 5 allocations, 240 MiB in all" */
    const char **assumed; /* [count] what the edit takes for granted, without a full stop */
} mv_code_changes;

/* Whether the argument can be read, without any trace; else a sentence in `why`. */
bool mv_code_change_is_fine(mv_arena *arena, const mv_code_change *change, char why[MV_FILTER_WHY]);

/* Facts used to find changes: found once for several calls. */
typedef struct {
    mv_categories categories;
    mv_layers layers;
    mv_steps steps;
    uint32_t *gone; /* analyze/advice/variables.h */
} mv_code_facts;

mv_code mv_code_facts_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, mv_code_facts *out, mv_err *err);

/* The edits of one device, in order. O(n log n) for each. All of it lives in `arena`. `facts` NULL:
 * they are found when a change needs them. Fails only when out of memory. */
mv_code mv_code_changes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             const mv_code_facts *facts, const mv_code_change *changes,
                             uint32_t count, mv_code_changes *out, mv_err *err);

#endif
