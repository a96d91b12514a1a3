/* Groups allocations by information other than the stack (--by): the user's metadata, the
 * annotation around the allocation, the line of the forward pass to which a backward block belongs,
 * the compiled region, the torch.fx node, the layer, the module. Every allocation is in exactly one
 * group, so the bytes add up in any grouping. The allocations without the information form a group,
 * too. */
#pragma once

#include "analyze/lives/lives.h"

typedef enum {
    MV_BY_STACK,    /* the default of reports */
    MV_BY_METADATA, /* name from _annotate_tensor() or, without one, from _set_memory_metadata() */
    MV_BY_ANNOTATION, /* record_function range or, without one, metadata
                       * (analyze/code/open_range.h) */
    MV_BY_FORWARD,    /* culprit of forward_frames or, without these, of the stack */
    MV_BY_COMPILE,    /* compile_context; "N/A" counts as missing information */
    MV_BY_FX,         /* node and target of the innermost frame */
    MV_BY_LAYER,      /* module call, if one line calls several modules (layers.h) */
    MV_BY_LIBRARY,    /* library that called CUDA, on levels of CUDA calls; missing for the blocks
                       * of an allocator */
    MV_BY_MODULE, /* module of the block's largest named tensor, or a name that the program chose */
    MV_BY_COUNT
} mv_group_by;

typedef struct {
    mv_group_by by;
    uint32_t count;
    const char **name;  /* [count] group names; [0] is the group without the information, such as
                         * "(no metadata)" */
    mv_stack_id *stack; /* [count] stack of the group's first allocation */
    uint32_t *of_alloc; /* [allocs.count] group of each allocation */
} mv_grouping;

/* Groups the allocations. `kinds` comes from mv_frame_kinds. All results are allocated in `arena`.
 * O(n log n). Fails only when out of memory. */
mv_code mv_grouping_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const uint8_t *kinds, mv_group_by by, mv_grouping *out, mv_err *err);

typedef struct {
    uint32_t group;
    uint32_t blocks;
    uint64_t bytes;
    mv_stack_id stack; /* stack of one of the group's blocks that are allocated then */
} mv_group_row;

typedef struct {
    uint32_t count;
    mv_group_row *rows; /* [count] rows sorted by bytes, largest first; the bytes add up to the
                         * allocated bytes */
} mv_group_rows;

/* Adds up the bytes that each group holds after `event`. */
mv_code mv_grouping_sum(mv_arena *arena, const mv_lives *lives, const mv_grouping *grouping,
                        uint32_t event, mv_group_rows *out, mv_err *err);

const char *mv_group_by_name(mv_group_by by); /* "metadata" */
