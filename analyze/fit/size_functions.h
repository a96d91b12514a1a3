/* The bytes of each allocation of a recording as a function of the input's size. */
#ifndef MV_SIZE_FUNCTIONS_H
#define MV_SIZE_FUNCTIONS_H

#include "analyze/fit/size_steps.h"

#define MV_MOST_FIT_RUNS 16

typedef enum {
    MV_SIZE_CONSTANT,
    MV_SIZE_CEILING, /* a workspace, constant at all recorded sizes; may be smaller below them */
    MV_SIZE_POWER,   /* in proportion to a power of the size: 1 or 2; or to a product of powers of
                      * batch and length */
    MV_SIZE_LINE,    /* a + b * size, with integers, confirmed by three recordings or by being a
                      * tensor; with two numbers, times a power of the other number */
    MV_SIZE_UNCONFIRMED, /* like an exact kind in two recordings, but it may be a workspace with
                          * a limit */
    MV_SIZE_ODD,         /* none of these kinds */
    MV_SIZE_ALONE        /* in one recording only, or not in those that show what it depends on */
} mv_size_kind;

static inline bool mv_size_is_exact(mv_size_kind kind)
{
    return kind <= MV_SIZE_LINE;
}

/* How exact bytes depend on the size: (a + b * axis) * (other axis)^power for a LINE, in proportion
 * to batch^power[0] * length^power[1] for a POWER. */
typedef struct {
    uint8_t axis; /* for a LINE: 0 the batch, 1 the length */
    uint8_t power[2];
} mv_size_form;

typedef struct {
    uint32_t count; /* number of recordings, in the order of their sizes */
    const mv_sized_run *runs;
    uint32_t base;      /* recording that contains the allocations */
    uint8_t *own;       /* [allocs.count] number of the size of the allocation's step, if steps have
                         * several sizes; else NULL: base */
    uint32_t **partner; /* [count][allocs.count] matching row, or MV_NO_ROW */
    uint32_t end;       /* from this row on, rows have no partner in some recording */
    uint8_t *kind;      /* [allocs.count] mv_size_kind */
    mv_size_form *form; /* [allocs.count] */
    bool has_choices;   /* some workspace shrinks, or grows faster than the size: a library chose
                         * the algorithm */
} mv_size_functions;

/* O(n log n) for each recording. Fails only when out of memory. */
mv_code mv_size_functions_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                               uint32_t base, mv_size_functions *out, mv_err *err);

/* mv_size_functions_find from the steps of one recording (size_steps.h). Allocations outside of all
 * steps, and those without a counterpart that live through a step of another size, are constant. */
mv_code mv_size_functions_find_in_steps(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                                        const mv_size_steps *steps, mv_size_functions *out,
                                        mv_err *err);

typedef struct {
    uint64_t least, most;
} mv_size_bounds;

/* The bytes of an allocation at another size. */
mv_size_bounds mv_size_at(const mv_size_functions *functions, uint32_t row, mv_input size);

/* The bytes of an allocation at the recorded sizes: fills [count] of each array and returns the
 * number filled. */
uint32_t mv_size_known(const mv_size_functions *functions, uint32_t row, mv_input *size,
                       uint64_t *bytes);

#endif
