/* Groups of allocations by other information than their stack (--by): the user's metadata, the
 * annotation around them, the line of the forward pass that a backward block belongs to, the
 * compiled region, the node of torch.fx, the layer, the module. Every allocation is in exactly one
 * group, so bytes add up in any grouping; allocations without the information are a group too. */
#ifndef MV_GROUPING_H
#define MV_GROUPING_H

#include "analyze/lives/lives.h"

typedef enum {
    MV_BY_STACK,      /* the default of reports */
    MV_BY_METADATA,   /* _annotate_tensor()'s name, else _set_memory_metadata()'s */
    MV_BY_ANNOTATION, /* the record_function range, else the metadata (analyze/code/open_range.h) */
    MV_BY_FORWARD,    /* the line to blame of forward_frames; without these, of the stack */
    MV_BY_COMPILE,    /* compile_context; "N/A" counts as none */
    MV_BY_FX,         /* the innermost frame's node and target */
    MV_BY_LAYER,      /* the call of a module, where one line calls several (layers.h) */
    MV_BY_LIBRARY,    /* who called CUDA, on levels of its calls; a block of an allocator: none */
    MV_BY_MODULE, /* the module of the block's largest named tensor; a name of the program's own */
    MV_BY_COUNT
} mv_group_by;

typedef struct {
    mv_group_by by;
    uint32_t count;
    const char **name;  /* [count] of the groups; [0]: without the information, "(no metadata)" */
    mv_stack_id *stack; /* [count] of the group's first allocation */
    uint32_t *of_alloc; /* [allocs.count] */
} mv_grouping;

/* O(n log n). `kinds` from mv_frame_kinds. Everything returned lives in `arena`. Fails only when
 * out of memory. */
mv_code mv_grouping_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const uint8_t *kinds, mv_group_by by, mv_grouping *out, mv_err *err);

typedef struct {
    uint32_t group;
    uint32_t blocks;
    uint64_t bytes;
    mv_stack_id stack; /* of one of its blocks at the moment */
} mv_group_row;

typedef struct {
    uint32_t count;
    mv_group_row *rows; /* [count] most bytes first; they add up to the allocated bytes */
} mv_group_rows;

/* The bytes of each group after `event`. */
mv_code mv_grouping_sum(mv_arena *arena, const mv_lives *lives, const mv_grouping *grouping,
                        uint32_t event, mv_group_rows *out, mv_err *err);

const char *mv_group_by_name(mv_group_by by); /* "metadata" */

#endif
