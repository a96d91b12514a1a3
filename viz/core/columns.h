/* The stack at one instant, kept by one worker and moved from column to column.
 *
 *     rank     0 ... 15  16 ... 31  32 ... 47            who is alive follows from birth and end
 *     sum[0]   └─ 4 MiB ┘└── 0 ───┘└─ 9 MiB ┘            living drawn bytes of 16 ranks
 *     sum[1]   └──────────── 13 MiB ────────────┘        of 256, and so on
 *
 * Moving by a few events adds and takes away what begins and ends; a far move starts anew from the
 * living rows that the index finds. So it costs the events between or the rows alive, whichever
 * are fewer, times the height of the tree. Reading a column walks the tree from the bottom of the
 * stack to its top and passes over what is too low to be seen as a whole: it costs pixels, not
 * rows. Half a byte for each rank. */
#ifndef MV_COLUMNS_H
#define MV_COLUMNS_H

#include "viz/core/timescale.h"

typedef struct {
    const mv_index *index;
    const uint64_t *drawn; /* a bit a rank; NULL: all rows */
    mv_instant now;
    bool is_empty;                  /* nothing was asked for yet: no sums */
    uint32_t alive;                 /* rows that count in the sums */
    uint64_t *sum[MV_INDEX_LEVELS]; /* [index->length[level]] */
} mv_columns;

/* A part of a column, from the bottom to the top of the stack. */
typedef struct {
    uint64_t offset; /* bytes below it */
    uint64_t bytes;
    uint32_t rank; /* MV_NO_ROW: several rows, each lower than what was asked for, or what a freed
                    * one holds open while others slide down */
} mv_run;

/* Borrows `index` and `drawn`. Fails only for want of memory. */
mv_code mv_columns_init(mv_arena *arena, const mv_index *index, const uint64_t *drawn,
                        mv_columns *out, mv_err *err);

/* Other rows of the same index. */
void mv_columns_show(mv_columns *columns, const uint64_t *drawn);

void mv_columns_move(mv_columns *columns, mv_instant instant);

/* Bytes of the whole stack, with what slides hold open. */
uint64_t mv_columns_height(const mv_columns *columns);

/* The stack from the bottom to the top: rows of at least `least` bytes each for itself, what lies
 * between put together, so that nothing moves when `least` changes. At most `capacity` runs are
 * written; returns how many there are. */
uint32_t mv_columns_runs(const mv_columns *columns, uint64_t least, mv_run *out, uint32_t capacity);

/* ids[i] = the rank whose bytes cover byte `middle[i]` of the stack, MV_NO_ROW above it and where
 * a slide holds open; `middle` ascends. Returns how many ids there are up to the top of the stack:
 * those behind are not written. */
uint32_t mv_columns_fill(const mv_columns *columns, const uint64_t *middle, uint32_t count,
                         uint32_t *ids);

/* The rank that covers a byte of the stack and where its bytes begin; MV_NO_ROW: nobody. */
uint32_t mv_columns_find(const mv_columns *columns, uint64_t byte, uint64_t *offset);

/* Where the bytes of a rank begin: what is below it. Whether it is alive is the caller's business.
 */
uint64_t mv_columns_offset(const mv_columns *columns, uint32_t rank);

#endif
