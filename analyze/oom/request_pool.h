/* Finds the pool of a failed request whose event does not name it, as before PyTorch 2.12.
 *
 * A line that allocates within torch.cuda.use_mem_pool() does so each time:
 *
 *     stage.py:60    alloc in (0, 1)   alloc in (0, 1)   ...   failed request   -> (0, 1)
 *
 * The pools of earlier allocations are those of their segments in the final heap. Pools of CUDA
 * graphs do not count, because the same line captures each graph in a new one. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    mv_pool_id *of_stack; /* [stacks] user's pool of all allocations with this stack, or MV_NO_POOL;
                           * NULL: there are no such pools */
    uint32_t stacks;
} mv_request_pools;

/* Finds the pools. O(n). Returns false when out of memory. */
bool mv_request_pools_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           mv_request_pools *out);

/* Returns the pool of the request of an event: the pool that the event names or, failing that, the
 * pool of its stack; otherwise MV_NO_POOL. */
mv_pool_id mv_request_pool(const mv_request_pools *pools, const mv_trace *trace,
                           const mv_lives *lives, uint32_t event);
