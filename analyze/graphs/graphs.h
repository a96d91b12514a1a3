/* Memory of captured CUDA graphs. Graphs that share a pool also share memory: together they take
 * less than the sum.
 *
 *     addresses of the pool  ------------------------------------->
 *     capture 1              ################              own 16
 *     capture 2                ##########    ####          own 4, shared 10
 *     capture 3              ####                          shared 4
 *     reserved               |....................|        24: 20 used, 4 unused
 *
 * A graph replays at the addresses of its capture, so `memory` is everything that its blocks
 * occupied at any moment, including blocks freed within the capture. For each pool:
 *
 *     memory = own + shared of each capture,    sum of own - released = used,
 *     used + unused = reserved
 *
 * docs/cuda-graphs.md explains how captures are found. */
#ifndef MV_GRAPHS_H
#define MV_GRAPHS_H

#include "analyze/lives/lives.h"

#define MV_GRAPH_STATE_LIST(X)                                                 \
    X(UNKNOWN, "unknown") /* only recordings of `memviz run` contain graphs */ \
    X(EXISTS, "exists")                                                        \
    X(DESTROYED, "destroyed")

typedef enum {
#define MV_GRAPH_STATE_ENUM(name, text) MV_GRAPH_##name,
    MV_GRAPH_STATE_LIST(MV_GRAPH_STATE_ENUM) MV_GRAPH_STATE_COUNT
} mv_graph_state;

typedef struct {
    const char *name;     /* name of the range around it: "capture_32_FULL"; or "" */
    mv_pool_id pool;      /* MV_NO_POOL: not in the file */
    uint32_t first, last; /* first and last allocation of the capture, or those within its range */
    uint32_t end;       /* the event after the capture: `kept` is the state before it; events.count:
                         * the end */
    uint32_t blocks;    /* blocks that the capture allocated, */
    uint64_t allocated; /* and their bytes */
    uint64_t memory;    /* bytes at distinct addresses */
    uint64_t own;       /* part of `memory` where no earlier capture had a block */
    uint64_t shared;    /* the other part of `memory` */
    uint64_t released;  /* part of `own` in segments that are no longer reserved */
    int64_t grown;      /* growth of the pool's reserved bytes: added minus released, up
                         * to `last` */
    uint64_t kept;      /* bytes of its blocks still allocated after the capture */
    uint64_t alive;     /* and at the end */
    mv_graph_state graph;
    mv_stack_id stack; /* stack of its first allocation that has one */
    mv_frame_id frame; /* the innermost user frame that all its stacks share, or MV_NO_ROW */
} mv_graph_capture;

typedef struct {
    mv_pool_id pool; /* MV_NO_POOL: for captures whose pool is not in the file */
    uint32_t captures;
    uint64_t allocated; /* bytes allocated at the end */
    uint64_t memory;    /* sum over the captures */
    /* MV_NO_BYTES in files without segments. */
    uint64_t reserved;     /* bytes reserved at the end */
    uint64_t used, unused; /* its parts */
    uint64_t left;         /* part of `used` that only destroyed graphs used;
                            * MV_NO_BYTES: unknown */
} mv_graph_pool;

typedef struct {
    uint32_t count, pool_count;
    mv_graph_capture *captures; /* [count] in order of `first` */
    mv_graph_pool *pools;       /* [pool_count] in order of pool numbers, the unknown pool last */
} mv_graphs;

/* `kinds` comes from mv_frame_kinds, or is NULL. Finds nothing without private pools and capture
 * ranges. O(n log n) in the captures' blocks, linear in events. Fails only when out of memory. */
mv_code mv_graphs_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const uint8_t *kinds, mv_graphs *out, mv_err *err);

/* Whether a range of the program may be a capture. */
bool mv_graphs_have_ranges(const mv_trace *trace);

/* "at least 35 captures of CUDA graphs: 3.40 GiB one by one, 412 MiB together"; "" without
 * captures. In `arena`; NULL when out of memory. */
const char *mv_graphs_text(mv_arena *arena, const mv_trace *trace, const mv_graphs *graphs);

const char *mv_graph_state_name(mv_graph_state state); /* "destroyed" */

#endif
