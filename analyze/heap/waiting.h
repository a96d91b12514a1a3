/* Finds the code that freed the blocks which are waiting for a stream at a given moment. The
 * program has freed these blocks, but another stream may still use them (tensor.record_stream()),
 * so they are active and cannot be reused.
 *
 * A row stands for a line of code (a group of mv_sites). This is the line that freed the blocks if
 * the file contains the stack of the free, otherwise the line that allocated them. PyTorch records
 * the stack of a free only with context='all'; otherwise it repeats the stack of the allocation. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/lives/lives.h"

typedef struct {
    uint64_t bytes; /* bytes of the row's blocks */
    uint32_t blocks;
    bool is_free;      /* `stack` belongs to the free, not to the allocation */
    mv_stack_id stack; /* stack of the row's largest block */
    uint64_t largest;  /* size of the row's largest block */
    uint32_t group;    /* group of mv_sites */
} mv_waiting_line;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t count;
    mv_waiting_line *lines; /* [count] rows sorted by bytes, largest first */
} mv_waiting;

/* Finds the blocks that are waiting after `event`, which may be MV_BEFORE. O(rows). Fails only when
 * out of memory. */
mv_code mv_waiting_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                        uint32_t event, mv_waiting *out, mv_err *err);
