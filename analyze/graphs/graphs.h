/* Finds the memory of captured CUDA graphs. Graphs that share a pool also share memory, so together
 * they take less than the sum of their separate needs.
 *
 *     addresses of the pool  ------------------------------------->
 *     capture 1              ################              own 16
 *     capture 2                ##########    ####          own 4, shared 10
 *     capture 3              ####                          shared 4
 *     reserved               |....................|        24: 20 used, 4 unused
 *
 * A graph replays at the addresses of its capture, so `memory` is everything that its blocks
 * occupied at any moment, including blocks that were freed during the capture. For each pool:
 *
 *     memory = own + shared of each capture,    sum of own - released = used,
 *     used + unused = reserved
 *
 * docs/cuda-graphs.md explains how captures are found. */
#pragma once

#include "analyze/lives/lives.h"

#define MV_GRAPH_STATE_LIST(X)                                              \
    X(UNKNOWN, "unknown") /* only recordings of `memviz run` show graphs */ \
    X(EXISTS, "exists")                                                     \
    X(DESTROYED, "destroyed")

typedef enum {
#define MV_GRAPH_STATE_ENUM(name, text) MV_GRAPH_##name,
    MV_GRAPH_STATE_LIST(MV_GRAPH_STATE_ENUM)
} mv_graph_state;

typedef struct {
    const char *name;     /* name of the range around the capture, such as "capture_32_FULL"; or
                           * "" */
    mv_pool_id pool;      /* private pool of the capture; MV_NO_POOL: not in the file */
    uint32_t first, last; /* events of the first and last allocation of the capture or, if there
                           * is a range, within the range */
    uint32_t end;         /* first event after the capture; `kept` is the state before this event;
                           * events.count: the end of the trace */
    uint32_t blocks;      /* number of blocks that the capture allocated */
    uint64_t allocated;   /* total size of these blocks in bytes */
    uint64_t memory;      /* number of distinct bytes that these blocks occupied */
    uint64_t own;         /* part of `memory` at addresses where no earlier capture had a block */
    uint64_t shared;      /* the remaining part of `memory` */
    uint64_t released;    /* part of `own` in segments that are no longer reserved */
    int64_t grown;        /* growth of the pool's reserved memory up to `last`: bytes added minus
                           * bytes released */
    uint64_t kept;        /* bytes of the capture's blocks that are still allocated after the
                           * capture */
    uint64_t alive;       /* bytes of the capture's blocks that are still allocated at the end of
                           * the trace */
    mv_graph_state graph;
    mv_stack_id stack; /* stack of the capture's first allocation that has a stack */
    mv_frame_id frame; /* innermost user frame that all stacks of the capture share, or MV_NO_ROW */
} mv_graph_capture;

typedef struct {
    mv_pool_id pool; /* number of the pool; MV_NO_POOL: the row is for captures whose pool is not
                      * in the file */
    uint32_t captures;
    uint64_t allocated; /* number of bytes allocated at the end of the trace */
    uint64_t memory;    /* sum of `memory` of the captures */
    /* The following fields are MV_NO_BYTES in files without segments. */
    uint64_t reserved;     /* number of bytes reserved at the end of the trace */
    uint64_t used, unused; /* the two parts of `reserved` */
    uint64_t left;         /* part of `used` that only destroyed graphs had used; MV_NO_BYTES:
                            * unknown */
} mv_graph_pool;

typedef struct {
    uint32_t count, pool_count;
    mv_graph_capture *captures; /* [count] captures sorted by `first` */
    mv_graph_pool *pools;       /* [pool_count] pools sorted by pool number; the unknown pool is
                                 * last */
} mv_graphs;

/* Finds the captures. `kinds` comes from mv_frame_kinds, or is NULL. A trace without private pools
 * and without capture ranges has no captures. O(n log n) in the captures' blocks, linear in the
 * number of events. Fails only when out of memory. */
mv_code mv_graphs_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const uint8_t *kinds, mv_graphs *out, mv_err *err);

/* Whether a range of the program may be a capture. */
bool mv_graphs_have_ranges(const mv_trace *trace);

/* Returns "at least 35 captures of CUDA graphs: 3.40 GiB one by one, 412 MiB together"; "" if there
 * are no captures. Allocated in `arena`; NULL when out of memory. */
const char *mv_graphs_text(mv_arena *arena, const mv_trace *trace, const mv_graphs *graphs);

const char *mv_graph_state_name(mv_graph_state state); /* "destroyed" */
