/* Finds the purpose of each allocation: parameter, gradient, optimizer state, activation, and so
 * on.
 *
 * The category follows from the stack of the allocation and the time of its free, according to the
 * rules in docs/peak.md; if no rule is certain, it is "unknown". The stack shows the phase of an
 * allocation. The category then depends on whether the allocation outlives this phase:
 *
 *     phase      set-up      forward            backward            optimizer      forward ...
 *     freed in
 *       the same  temporary   temporary          temporary           temporary
 *       later     parameter   backward: activation  later: gradient  later: optimizer_state
 *                             later: input, activation
 *
 * JAX's profile marks the blocks that contain compiled programs; their category is "executable". A
 * block with named tensors (analyze/peak/tensors.h) has the category that the program assigned to
 * these tensors.
 *
 * The user's own rules (analyze/peak/rules.h) have priority over all others. */
#pragma once

#include "analyze/lives/lives.h"
#include "analyze/peak/rules.h"
#include "analyze/peak/tensors.h"
#include "analyze/steps/phases.h"
#include "analyze/steps/steps.h"

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

/* The categories above, followed by the categories that the user's rules add. */
typedef struct {
    uint32_t count;     /* at least MV_CATEGORY_COUNT */
    const char **name;  /* [count] */
    uint16_t *of_alloc; /* [lives.allocs.count] category of each allocation */
    mv_tensor_blocks tensors;
    mv_phases phases;
    mv_steps steps; /* set only if there are no backward passes */
} mv_categories;

/* Finds the category of every allocation. When a request fails, stack unwinding frees the memory of
 * the current phase. Such frees do not show a category, so the freed blocks are given the category
 * that blocks from the same stack have in earlier steps.
 *
 * O(frames + n log n). `kinds` comes from mv_frame_kinds; `rules` may be NULL. Fails only when out
 * of memory. */
mv_code mv_categories_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_rules *rules, mv_categories *out,
                           mv_err *err);

/* Run mv_categories_find in pieces of `allocs` allocations, for callers that do other work in
 * between. mv_category_search_begin returns NULL when out of memory. mv_category_search_some sets
 * *again if pieces remain, and must not be called after a failure. mv_category_search_end may be
 * called at any time. */
typedef struct mv_category_search mv_category_search;
mv_category_search *mv_category_search_begin(mv_arena *arena, const mv_trace *trace,
                                             const mv_lives *lives, const uint8_t *kinds,
                                             const mv_rules *rules, mv_categories *out);
mv_code mv_category_search_some(mv_category_search *search, uint32_t allocs, bool *again,
                                mv_err *err);
void mv_category_search_end(mv_category_search *search);

const char *mv_category_name(mv_category category); /* "optimizer_state" */
