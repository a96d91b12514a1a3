/* Which block of a simulated heap each allocation of a trace has. Most allocations are alive for a
 * short time, and rows are in order of birth, so the numbers are kept in chunks of rows, and chunks
 * without a block are used again. A table for all rows would take as much memory as a column. */
#pragma once

#include "analyze/lives/address_ranks.h"

enum { MV_BLOCK_ROWS = 1024 };

typedef struct mv_block_chunk {
    struct mv_block_chunk *next;
    uint32_t used;                 /* number of rows with a block */
    uint32_t block[MV_BLOCK_ROWS]; /* block + 1; 0: none */
} mv_block_chunk;

typedef struct {
    mv_arena *arena;
    mv_block_chunk **chunks; /* a chunk for each MV_BLOCK_ROWS rows; NULL: these have no block */
    mv_block_chunk *spare;   /* chunks without a block, which link to each other */
} mv_block_rows;

/* Returns false when out of memory. */
static inline bool mv_block_rows_init(mv_block_rows *t, mv_arena *arena, uint32_t rows)
{
    *t = (mv_block_rows){.arena = arena};
    t->chunks = mv_push_array(arena, mv_block_chunk *, rows / MV_BLOCK_ROWS + 1);
    return t->chunks != NULL;
}

/* Returns the block of a row, or MV_NO_ROW. */
static inline uint32_t mv_block_rows_get(const mv_block_rows *t, uint32_t row)
{
    const mv_block_chunk *c = t->chunks[row / MV_BLOCK_ROWS];

    return c ? c->block[row % MV_BLOCK_ROWS] - 1 : MV_NO_ROW;
}

static inline void mv_block_rows_clear(mv_block_rows *t, uint32_t row)
{
    mv_block_chunk *c = t->chunks[row / MV_BLOCK_ROWS];

    if (!c || !c->block[row % MV_BLOCK_ROWS])
        return;
    c->block[row % MV_BLOCK_ROWS] = 0;
    if (--c->used > 0)
        return;
    t->chunks[row / MV_BLOCK_ROWS] = NULL;
    c->next = t->spare;
    t->spare = c;
}

/* Sets the block of a row; MV_NO_ROW clears it. Returns false when out of memory. */
static inline bool mv_block_rows_set(mv_block_rows *t, uint32_t row, uint32_t block)
{
    mv_block_chunk **c = &t->chunks[row / MV_BLOCK_ROWS];

    if (block == MV_NO_ROW) {
        mv_block_rows_clear(t, row);
        return true;
    }
    if (!*c && t->spare) {
        *c = t->spare;
        t->spare = (*c)->next;
    } else if (!*c && !(*c = mv_push_struct(t->arena, mv_block_chunk))) {
        return false;
    }
    (*c)->used += (*c)->block[row % MV_BLOCK_ROWS] == 0;
    (*c)->block[row % MV_BLOCK_ROWS] = block + 1;
    return true;
}
