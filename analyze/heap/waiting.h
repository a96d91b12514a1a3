/* The code that freed the blocks waiting for a stream at a moment. The program freed them, but
 * another stream may still use them (tensor.record_stream()), so they are active and cannot be
 * reused.
 *
 * A row is a line of code (a group of mv_sites): the line of the free if the file has its stack,
 * else the line of the allocation. PyTorch records the stack of a free only with context='all', and
 * otherwise repeats the allocation's. */
#ifndef MV_WAITING_H
#define MV_WAITING_H

#include "analyze/code/sites.h"
#include "analyze/lives/lives.h"

typedef struct {
    uint64_t bytes; /* bytes of the row's blocks */
    uint32_t blocks;
    bool is_free;      /* `stack` is from the free, not from the allocation */
    mv_stack_id stack; /* stack of the largest block */
    uint64_t largest;  /* size of the largest block */
    uint32_t group;    /* of mv_sites */
} mv_waiting_line;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t streams;    /* number of streams on which the blocks were allocated */
    mv_stream_id stream; /* stream of the largest block */
    uint32_t count;
    mv_waiting_line *lines; /* [count] most bytes first */
} mv_waiting;

/* The lines after `event`, which may be MV_BEFORE. O(rows). Fails only when out of memory. */
mv_code mv_waiting_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                        uint32_t event, mv_waiting *out, mv_err *err);

#endif
