/* What an allocation is for: parameter, gradient, optimizer state, activation...
 *
 * Judged from its stack and from when it was freed, by rules that docs/peak.md explains; if no rule
 * is certain the answer is "unknown". The stack gives the phase of an allocation, and it matters
 * whether the allocation outlives its phase:
 *
 *     phase      set-up      forward            backward            optimizer      forward ...
 *     freed in
 *       the same  temporary   temporary          temporary           temporary
 *       later     parameter   backward: activation  later: gradient  later: optimizer_state
 *                             later: input, activation
 *
 * JAX's profile says itself which blocks are programs that it compiled: executable.
 *
 * The user's own rules (analyze/peak/rules.h) come first. */
#ifndef MV_CATEGORY_H
#define MV_CATEGORY_H

#include "analyze/lives/lives.h"
#include "analyze/peak/rules.h"

#define MV_CATEGORY_LIST(X)               \
    X(PARAMETER, "parameter")             \
    X(GRADIENT, "gradient")               \
    X(OPTIMIZER_STATE, "optimizer_state") \
    X(ACTIVATION, "activation")           \
    X(TEMPORARY, "temporary")             \
    X(INPUT, "input")                     \
    X(WORKSPACE, "workspace")             \
    X(COMMUNICATION, "communication")     \
    X(EXECUTABLE, "executable")           \
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_CATEGORY_ENUM(name, text) MV_CATEGORY_##name,
    MV_CATEGORY_LIST(MV_CATEGORY_ENUM) MV_CATEGORY_COUNT
} mv_category;

/* The categories above, then the other categories in the user's rules. */
typedef struct {
    uint32_t count;     /* at least MV_CATEGORY_COUNT */
    const char **name;  /* [count] */
    uint16_t *of_alloc; /* [lives.allocs.count] */
} mv_categories;

/* Where a request fails, what its phase held is freed on the error's way out: such a free says
 * nothing, so these blocks have the category that their stack has in earlier steps.
 *
 * O(frames + n log n). `kinds` from mv_frame_kinds; `rules` may be NULL. Fails only when memory is
 * out. */
mv_code mv_categories_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_rules *rules, mv_categories *out,
                           mv_err *err);

const char *mv_category_name(mv_category category); /* "optimizer_state" */

#endif
