/* The bytes of each allocation of a recording as a function of the input's size. */
#ifndef MV_SIZE_FUNCTIONS_H
#define MV_SIZE_FUNCTIONS_H

#include "analyze/fit/size_match.h"

#define MV_MOST_FIT_RUNS 16

typedef enum {
    MV_SIZE_CONSTANT,
    MV_SIZE_CEILING, /* a workspace, constant at all recorded sizes: below them it may be less */
    MV_SIZE_POWER,   /* in proportion to the size, or to its square */
    MV_SIZE_LINE,    /* a + b * size, with integers; three recordings agree, or it is a tensor */
    MV_SIZE_UNCONFIRMED, /* the same in two recordings, but it may be a workspace with a limit */
    MV_SIZE_ODD,         /* none of these */
    MV_SIZE_ALONE        /* in one recording only */
} mv_size_kind;

static inline bool mv_size_is_exact(mv_size_kind kind)
{
    return kind <= MV_SIZE_LINE;
}

typedef struct {
    uint32_t count; /* of recordings, in the order of their sizes */
    const mv_sized_run *runs;
    uint32_t base;      /* the one whose allocations these are */
    uint32_t **partner; /* [count][allocs.count] MV_NO_ROW: none; NULL for the base */
    uint32_t end;       /* rows from here on have no partner in some recording */
    uint8_t *kind;      /* [allocs.count] mv_size_kind */
    uint8_t *is_square; /* [allocs.count] POWER: of the size's square */
    bool has_choices;   /* some workspace shrinks, or outgrows the size: a library chose */
} mv_size_functions;

/* O(n log n) for each recording. Fails only when memory is out. */
mv_code mv_size_functions_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                               uint32_t base, mv_size_functions *out, mv_err *err);

typedef struct {
    uint64_t least, most;
} mv_size_bounds;

/* Bytes of an allocation at another size. */
mv_size_bounds mv_size_at(const mv_size_functions *functions, uint32_t row, uint64_t size);

/* The bytes of an allocation at the recorded sizes: fills [count] of each; returns how many. */
uint32_t mv_size_known(const mv_size_functions *functions, uint32_t row, uint64_t *size,
                       uint64_t *bytes);

#endif
