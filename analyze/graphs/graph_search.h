/* Internal to analyze/graphs: the state that the steps of the search share. */
#pragma once

#include "analyze/graphs/graphs.h"

/* An allocation that belongs to a capture. */
typedef struct {
    uint32_t capture, alloc;
} mv_graph_member;

typedef struct {
    mv_arena *arena, *scratch;
    const mv_trace *trace;
    const mv_lives *lives;
    const uint8_t *kinds;
    mv_graphs *out;
    mv_graph_member *members; /* [member_count] sorted by capture, then by birth */
    uint32_t member_count;
} mv_graph_search;

static inline bool mv_pool_is_private(mv_pool_id pool)
{
    return pool.row != MV_NO_POOL.row && pool.row != MV_DEFAULT_POOL.row;
}

/* Finds the captures with their `name`, `pool`, `first`, `last`, `end` and graphs, and the members.
 * Returns false when out of memory. */
bool mv_graph_captures_find(mv_graph_search *s);

/* Computes the bytes of the captures and of their pools. Returns false when out of memory. */
bool mv_graph_memory_find(mv_graph_search *s);
