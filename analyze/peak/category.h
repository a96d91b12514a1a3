/* The purpose of an allocation: parameter, gradient, optimizer state, activation...
 *
 * The category follows from the stack and the time of the free, by the rules in docs/peak.md; if no
 * rule is certain, it is "unknown". The stack gives the phase of an allocation; the next question
 * is whether the allocation outlives its phase:
 *
 *     phase      set-up      forward            backward            optimizer      forward ...
 *     freed in
 *       the same  temporary   temporary          temporary           temporary
 *       later     parameter   backward: activation  later: gradient  later: optimizer_state
 *                             later: input, activation
 *
 * JAX's profile marks blocks that contain compiled programs: executable. A block with named tensors
 * (analyze/peak/tensors.h) has the category that the program gave to them.
 *
 * The user's own rules (analyze/peak/rules.h) come first. */
#ifndef MV_CATEGORY_H
#define MV_CATEGORY_H

#include "analyze/lives/lives.h"
#include "analyze/peak/rules.h"
#include "analyze/peak/tensors.h"

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

/* The categories above, then further categories from the user's rules. */
typedef struct {
    uint32_t count;     /* at least MV_CATEGORY_COUNT */
    const char **name;  /* [count] */
    uint16_t *of_alloc; /* [lives.allocs.count] */
    mv_tensor_blocks tensors;
} mv_categories;

/* When a request fails, unwinding frees the memory of its phase. Such frees show nothing, so the
 * freed blocks get the category that their stack has in earlier steps.
 *
 * O(frames + n log n). `kinds` comes from mv_frame_kinds; `rules` may be NULL. Fails only when out
 * of memory. */
mv_code mv_categories_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_rules *rules, mv_categories *out,
                           mv_err *err);

/* mv_categories_find in pieces of `allocs` allocations, for callers with other work in between.
 * begin: NULL when out of memory. some: sets *again if pieces remain; must not be called after a
 * failure. end: may be called at any time. */
typedef struct mv_category_search mv_category_search;
mv_category_search *mv_category_search_begin(mv_arena *arena, const mv_trace *trace,
                                             const mv_lives *lives, const uint8_t *kinds,
                                             const mv_rules *rules, mv_categories *out);
mv_code mv_category_search_some(mv_category_search *search, uint32_t allocs, bool *again,
                                mv_err *err);
void mv_category_search_end(mv_category_search *search);

const char *mv_category_name(mv_category category); /* "optimizer_state" */

#endif
