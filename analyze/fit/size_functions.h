/* Finds the bytes of each allocation in a recording as a function of the input's size. */
#pragma once

#include "analyze/fit/size_steps.h"

#define MV_MOST_FIT_RUNS 16

typedef enum {
    MV_SIZE_CONSTANT,
    MV_SIZE_CEILING,     /* a workspace that is constant at all recorded sizes, but may be smaller
                          * below these sizes */
    MV_SIZE_POWER,       /* in proportion to the size or its square, or to a product of powers of
                          * batch and length */
    MV_SIZE_LINE,        /* a + b * size, where a and b are integers. Three recordings confirm this,
                          * or the block is a tensor. If both numbers vary, the bytes are also
                          * multiplied by a power of the other number */
    MV_SIZE_UNCONFIRMED, /* like one of the exact kinds in two recordings, but may be a workspace
                          * with an upper limit */
    MV_SIZE_ODD,         /* none of these kinds */
    MV_SIZE_ALONE        /* in only one recording, or missing from the recordings that show what
                          * it depends on */
} mv_size_kind;

static inline bool mv_size_is_exact(mv_size_kind kind)
{
    return kind <= MV_SIZE_LINE;
}

/* How exact bytes depend on the size. For a LINE, they are (a + b * axis) * (other axis)^power. For
 * a POWER, they are in proportion to batch^power[0] * length^power[1]. */
typedef struct {
    uint8_t axis; /* for a LINE: 0 is the batch, 1 is the length */
    uint8_t power[2];
} mv_size_form;

typedef struct {
    uint32_t count; /* number of recordings, which are sorted by size */
    const mv_sized_run *runs;
    uint32_t base;      /* index of the recording whose allocations are described */
    uint8_t *own;       /* [allocs.count] number of the size of the allocation's step if steps
                         * have several sizes; otherwise NULL: all allocations have the size
                         * `base` */
    uint32_t **partner; /* [count][allocs.count] matching row in each recording, or MV_NO_ROW */
    uint32_t end;       /* first row after which rows have no partner in some recording */
    uint8_t *kind;      /* [allocs.count] mv_size_kind */
    mv_size_form *form; /* [allocs.count] */
    bool has_choices;   /* a workspace shrinks, or grows faster than the size, because a library
                         * chose another algorithm */
} mv_size_functions;

/* Finds the functions from several recordings. O(n log n) for each recording. Fails only when out
 * of memory. */
mv_code mv_size_functions_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                               uint32_t base, mv_size_functions *out, mv_err *err);

/* Finds the functions from the steps of one recording (size_steps.h). Allocations outside all steps
 * are constant, and so are allocations without a counterpart that are alive during a step of a
 * different size. */
mv_code mv_size_functions_find_in_steps(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                                        const mv_size_steps *steps, mv_size_functions *out,
                                        mv_err *err);

typedef struct {
    uint64_t least, most;
} mv_size_bounds;

/* Returns bounds for the bytes of an allocation at a different size. */
mv_size_bounds mv_size_at(const mv_size_functions *functions, uint32_t row, mv_input size);

/* Reports the bytes of an allocation at the recorded sizes. Fills both arrays, which have room for
 * [count] entries, and returns the number of entries filled. */
uint32_t mv_size_known(const mv_size_functions *functions, uint32_t row, mv_input *size,
                       uint64_t *bytes);
