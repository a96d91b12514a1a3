/* The stack at one instant, kept by one worker and moved from column to column.
 *
 *     rank     0 ... 15  16 ... 31  32 ... 47            birth and end tell what is alive
 *     sum[0]   └─ 4 MiB ┘└── 0 ───┘└─ 9 MiB ┘            living drawn bytes of 16 ranks
 *     sum[1]   └──────────── 13 MiB ────────────┘        of 256, and so on
 *
 * Moving by a few events, forward or back, adds rows that begin and subtracts rows that end; a far
 * move starts again from the living rows that the index finds. The cost is the number of events in
 * between or of rows alive, whichever is less, times the height of the tree. Reading a column walks
 * the tree from the bottom of the stack to its top and skips subtrees that are too low to be
 * visible: the cost depends on pixels, not on rows. Memory: half a byte for each rank. */
#ifndef MV_COLUMN_STACK_H
#define MV_COLUMN_STACK_H

#include "viz/core/timescale.h"

typedef struct {
    const mv_index *index;
    const uint64_t *drawn; /* one bit for each rank; NULL: all rows */
    mv_instant now;
    bool is_empty;           /* no query yet: the sums are not filled */
    uint32_t born;           /* ranks [0, born) are born */
    uint32_t alive;          /* rows, drawn or not */
    uint32_t far, far_alive; /* the instant that mv_column_stack_fill_at read without moving, and
                                how many rows it visited; 0: it moved */
    uint64_t *sum[MV_INDEX_LEVELS]; /* [index->length[level]] */
} mv_column_stack;

/* A part of the stack. */
typedef struct {
    uint64_t offset; /* bytes below it */
    uint64_t bytes;  /* above 0 */
    uint32_t rank;   /* MV_NO_ROW: several rows, too small to show separately */
    bool is_open;    /* the row has ended: the rows above slide down through its bytes */
} mv_run;

/* Borrows `index` and `drawn`. Fails only when out of memory. */
mv_code mv_column_stack_init(mv_arena *arena, const mv_index *index, const uint64_t *drawn,
                             mv_column_stack *out, mv_err *err);

/* Switches to another selection of drawn rows of the same index. */
void mv_column_stack_show(mv_column_stack *stack, const uint64_t *drawn);

void mv_column_stack_move(mv_column_stack *stack, mv_instant instant);

/* Bytes of the whole stack, including bytes that slides hold open. */
uint64_t mv_column_stack_height(const mv_column_stack *stack);

/* ids[i] = the rank whose bytes cover byte `middle[i]` of the stack; MV_NO_ROW above the stack and
 * where a slide holds bytes open. `middle` ascends. Returns the number of ids up to the top of the
 * stack: later ids are not written. */
uint32_t mv_column_stack_fill(const mv_column_stack *stack, const uint64_t *middle, uint32_t count,
                              uint32_t *ids);

/* mv_column_stack_move and mv_column_stack_fill in one; or, if the instant is so far away that
 * visiting the living rows is less work, the same result without moving the stack. */
uint32_t mv_column_stack_fill_at(mv_column_stack *stack, mv_instant instant, const uint64_t *middle,
                                 uint32_t count, uint32_t *ids);

/* The row that covers a byte of the stack; false when the stack is lower. O(log n). */
bool mv_column_stack_find(const mv_column_stack *stack, uint64_t byte, mv_run *out);

/* From one row to the next one above it; false when there is none. */
bool mv_column_stack_next(const mv_column_stack *stack, mv_run *run);

#endif
