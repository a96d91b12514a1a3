/* The stack at one instant. A worker keeps it, and moves it from column to column.
 *
 *     rank     0 ... 15  16 ... 31  32 ... 47            birth and end determine what is alive
 *     sum[0]   └─ 4 MiB ┘└── 0 ───┘└─ 9 MiB ┘            drawn bytes that are alive, of 16 ranks
 *     sum[1]   └──────────── 13 MiB ────────────┘        of 256, and so on
 *
 * Moving the stack by a few events, forward or back, adds the rows that begin and subtracts the
 * rows that end. Moving it far starts again from the living rows that the index finds. The cost of
 * a move is the number of events in between or the number of rows alive, whichever is less, times
 * the height of the tree. Reading a column walks the tree from the bottom of the stack to its top,
 * but skips subtrees that are too low to be visible. Its cost therefore depends on the number of
 * pixels and not on the number of rows. The stack takes half a byte of memory for each rank. */
#pragma once

#include "viz/core/timescale.h"

typedef struct {
    const mv_index *index;
    const uint64_t *drawn; /* one bit for each rank; NULL: all rows */
    mv_instant now;
    bool is_empty;           /* the sums are not filled yet, because there was no query */
    uint32_t born;           /* the ranks [0, born) have been born */
    uint32_t alive;          /* number of rows alive, drawn or not */
    uint32_t far, far_alive; /* the instant that mv_column_stack_fill_at read without moving the
                                stack, and how many rows it visited; 0: it moved the stack */
    uint64_t *sum[MV_INDEX_LEVELS]; /* [index->length[level]] */
} mv_column_stack;

/* A part of the stack. */
typedef struct {
    uint64_t offset; /* number of bytes below this part */
    uint64_t bytes;  /* number of bytes in this part, at least 1 */
    uint32_t rank;   /* the row; MV_NO_ROW: several rows, too small to show separately */
    bool is_open;    /* the row has ended, and the rows above it are sliding down through its
                        bytes */
} mv_run;

/* Initialises a stack, which borrows `index` and `drawn`. Fails only when out of memory. */
mv_code mv_column_stack_init(mv_arena *arena, const mv_index *index, const uint64_t *drawn,
                             mv_column_stack *out, mv_err *err);

/* Selects other rows of the same index to draw. */
void mv_column_stack_show(mv_column_stack *stack, const uint64_t *drawn);

void mv_column_stack_move(mv_column_stack *stack, mv_instant instant);

/* Returns the height of the whole stack in bytes, including bytes that slides hold open. */
uint64_t mv_column_stack_height(const mv_column_stack *stack);

/* Sets ids[i] to the rank whose bytes cover byte `middle[i]` of the stack; MV_NO_ROW above the
 * stack and where a slide holds bytes open. `middle` must be ascending. Returns how many ids were
 * written, which ends at the top of the stack. */
uint32_t mv_column_stack_fill(const mv_column_stack *stack, const uint64_t *middle, uint32_t count,
                              uint32_t *ids);

/* Does mv_column_stack_move and mv_column_stack_fill in one call. If the instant is so far away
 * that visiting the living rows is less work, it gives the same result without moving the stack. */
uint32_t mv_column_stack_fill_at(mv_column_stack *stack, mv_instant instant, const uint64_t *middle,
                                 uint32_t count, uint32_t *ids);

/* Finds the row that covers a byte of the stack. Returns false if the stack is lower. O(log n). */
bool mv_column_stack_find(const mv_column_stack *stack, uint64_t byte, mv_run *out);

/* Moves from one row to the next row above it. Returns false if there is none. */
bool mv_column_stack_next(const mv_column_stack *stack, mv_run *run);
