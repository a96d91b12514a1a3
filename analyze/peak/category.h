/* What an allocation is for: parameter, gradient, optimizer state, activation...
 *
 * Judged from its stack and from when it was freed, by rules that docs/peak.md explains; where no
 * rule is sure the answer is "unknown". The stacks tell the phase of each allocation; what
 * outlives its phase is told from what does not:
 *
 *     phase      set-up      forward            backward            optimizer      forward ...
 *     freed in
 *       the same  temporary   temporary          temporary           temporary
 *       later     parameter   backward: activation  later: gradient  later: optimizer_state
 *                             later: input, activation
 *
 * Categories of the user's own (analyze/peak/rules.h) come first. */
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
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_CATEGORY_ENUM(name, text) MV_CATEGORY_##name,
    MV_CATEGORY_LIST(MV_CATEGORY_ENUM)
#undef MV_CATEGORY_ENUM
        MV_CATEGORY_COUNT
} mv_category;

/* The categories above, then those of the rules that are none of them. */
typedef struct {
    uint32_t count;     /* at least MV_CATEGORY_COUNT */
    const char **name;  /* [count] */
    uint16_t *of_alloc; /* [lives.allocs.count] */
} mv_categories;

/* O(frames + n log n). `kinds` from mv_frame_kinds; `rules` may be NULL. Fails only for want of
 * memory. */
mv_code mv_categories_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_rules *rules, mv_categories *out,
                           mv_err *err);

const char *mv_category_name(mv_category category); /* "optimizer_state" */

#endif
