/* The data of the viewer's flame graph, for one of these sources:
 *
 *     cursor      allocated after the cursor's event
 *     peak        allocated at the highest point that the timeline shows
 *     held        allocated in the interval and still alive at its end
 *     temporary   allocated in the interval and freed within it; these bytes are a sum over time,
 *                 not a level
 *     segments    reserved at the cursor: each segment, how much of it is free, and which code
 *                 uses the other bytes
 *     change      the difference from the compared device's peak to this device's peak
 *                 (analyze/flame/flame_change.h), as in `memviz diff`
 *
 * The data is a tree (analyze/flame/flame_tree.h) whose root is the exact sum. */
#pragma once

#include "analyze/filter/filter.h"
#include "analyze/flame/flame_change.h"
#include "analyze/heap/heap.h"
#include "viz/core/index.h"

#define MV_FLAMES_LIST(X)               \
    X(CURSOR, "at the cursor")          \
    X(PEAK, "at the peak in view")      \
    X(HELD, "held over the interval")   \
    X(TEMPORARY, "temporary within it") \
    X(SEGMENTS, "by segment")           \
    X(CHANGE, "difference")

typedef enum {
#define MV_FLAMES_ENUM(name, text) MV_FLAMES_##name,
    MV_FLAMES_LIST(MV_FLAMES_ENUM) MV_FLAMES_COUNT
} mv_flames_source;

typedef struct {
    mv_flames_source source;
    bool by_blocks, is_inverted;
    bool has_all_frames; /* includes native and interpreter frames */
    uint32_t event;      /* CURSOR, PEAK, SEGMENTS: the graph shows the heap after this event, or at
                            MV_BEFORE */
    uint32_t a, b;       /* HELD, TEMPORARY: the events [a, b) of the interval */
    const mv_filter_bits *only; /* one bit for each row: CURSOR, PEAK, HELD and TEMPORARY count only
                                   these rows; NULL: all rows */
} mv_flames_query;

typedef struct {
    mv_flame_tree tree;     /* with by_blocks, the `bytes` of a node is a number of blocks (see
                               mv_flame_tree_opts) */
    uint64_t bytes, blocks; /* sums over the whole tree */
    uint64_t *path; /* [tree.count] a number for the path of labels from the root to each node, so
                       nodes with equal paths have equal numbers in different trees; 0: the root */
} mv_flames;

/* Builds the flame graph, which is allocated in `arena`. O(k + frames of their stacks, sorted) for
 * k allocations. Fails only when out of memory or out of row numbers. */
mv_code mv_flames_find(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                       const mv_index *index, mv_flames_query ask, mv_flames *out, mv_err *err);

/* Builds MV_FLAMES_SEGMENTS, which is never inverted, for the heap in `map`. */
mv_code mv_flames_of_segments(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                              const mv_lives *lives, const mv_heap_map *map, mv_flames_query ask,
                              mv_flames *out, mv_err *err);

/* Builds MV_FLAMES_CHANGE. Of the options, only is_inverted and has_all_frames apply. */
mv_code mv_flames_of_change(mv_arena *arena, const mv_diff_code *code, const mv_diff *found,
                            mv_flames_query ask, mv_flames *out, mv_err *err);

/* Returns the node with this path; 0, the root, if there is none. */
uint32_t mv_flames_node(const mv_flames *flames, uint64_t path);

/* Finds the rows of the index that the query selects, in ascending order. The tree contains the
 * sums of these rows. */
mv_code mv_flames_rows(mv_arena *arena, const mv_index *index, mv_flames_query ask, mv_alive *out,
                       mv_err *err);

/* Returns the largest selected allocation whose stack goes through a node of the tree; MV_NO_ROW if
 * there is none. O(k x frames). */
uint32_t mv_flames_largest(mv_arena *scratch, const mv_trace *trace, const mv_sites *sites,
                           const mv_index *index, mv_flames_query ask, const mv_flames *flames,
                           uint32_t node);

const char *mv_flames_source_name(uint32_t source); /* returns a name such as "at the cursor" */
