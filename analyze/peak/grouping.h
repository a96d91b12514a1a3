/* Allocations by what a file says of them besides their stack (--by): the user's metadata, the
 * annotation around them, the line of the forward pass that a backward block belongs to, the
 * compiled region, the node of torch.fx. Every allocation is in exactly one group, so that bytes
 * add up in any grouping; those of which nothing is said are a group, too. */
#ifndef MV_GROUPING_H
#define MV_GROUPING_H

#include "analyze/lives/lives.h"

typedef enum {
    MV_BY_STACK,      /* as reports have it without --by */
    MV_BY_METADATA,   /* _annotate_tensor()'s name, else _set_memory_metadata()'s */
    MV_BY_ANNOTATION, /* the record_function range, else the metadata (analyze/code/open_range.h) */
    MV_BY_FORWARD,    /* the line to blame of forward_frames; without these, of the stack */
    MV_BY_COMPILE,    /* compile_context; "N/A" is none */
    MV_BY_FX,         /* the innermost frame's node and target */
    MV_BY_COUNT
} mv_group_by;

typedef struct {
    mv_group_by by;
    uint32_t count;
    const char **name;  /* [count] of the groups; [0]: of which nothing is said: "(no metadata)" */
    mv_stack_id *stack; /* [count] of the group's first allocation */
    uint32_t *of_alloc; /* [allocs.count] */
} mv_grouping;

/* O(n log n). `kinds` from mv_frame_kinds. Everything returned lives in `arena`. Fails only for
 * want of memory. */
mv_code mv_grouping_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const uint8_t *kinds, mv_group_by by, mv_grouping *out, mv_err *err);

typedef struct {
    uint32_t group;
    uint32_t blocks;
    uint64_t bytes;
    mv_stack_id stack; /* of one of its blocks there */
} mv_group_row;

typedef struct {
    uint32_t count;
    mv_group_row *rows; /* [count] most bytes first; the sum is what is allocated */
} mv_group_rows;

/* What each group holds after `event`. */
mv_code mv_grouping_sum(mv_arena *arena, const mv_lives *lives, const mv_grouping *grouping,
                        uint32_t event, mv_group_rows *out, mv_err *err);

const char *mv_group_by_name(mv_group_by by); /* "metadata" */

#endif
