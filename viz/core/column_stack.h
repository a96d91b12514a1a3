/* The stack at one instant, kept by one worker and moved from column to column.
 *
 *     rank     0 ... 15  16 ... 31  32 ... 47            birth and end tell what is alive
 *     sum[0]   └─ 4 MiB ┘└── 0 ───┘└─ 9 MiB ┘            living drawn bytes of 16 ranks
 *     sum[1]   └──────────── 13 MiB ────────────┘        of 256, and so on
 *
 * Moving by a few events, forward or back, adds and takes away what begins and ends; a far move
 * starts again from the living rows that the index finds. So it costs the events between or the
 * rows alive, whichever are fewer, times the height of the tree. Reading a column walks the tree
 * from the bottom of the stack to its top and skips subtrees that are too low to be visible: it
 * costs pixels, not rows. Half a byte for each rank. */
#ifndef MV_COLUMN_STACK_H
#define MV_COLUMN_STACK_H

#include "viz/core/timescale.h"

typedef struct {
    const mv_index *index;
    const uint64_t *drawn; /* a bit a rank; NULL: all rows */
    mv_instant now;
    bool is_empty;           /* nothing was asked yet: there are no sums */
    uint32_t born;           /* ranks [0, born) are born */
    uint32_t alive;          /* rows, drawn or not */
    uint32_t far, far_alive; /* the instant that mv_column_stack_fill_at looked at without moving,
                                and at how many rows; 0: it moved */
    uint64_t *sum[MV_INDEX_LEVELS]; /* [index->length[level]] */
} mv_column_stack;

/* A part of the stack. */
typedef struct {
    uint64_t offset; /* bytes below it */
    uint64_t bytes;  /* above 0 */
    uint32_t rank;   /* MV_NO_ROW: several rows, too small to show separately */
    bool is_open;    /* the row has ended: others slide down through its bytes */
} mv_run;

/* Borrows `index` and `drawn`. Fails only when memory runs out. */
mv_code mv_column_stack_init(mv_arena *arena, const mv_index *index, const uint64_t *drawn,
                             mv_column_stack *out, mv_err *err);

/* Switches to other drawn rows of the same index. */
void mv_column_stack_show(mv_column_stack *stack, const uint64_t *drawn);

void mv_column_stack_move(mv_column_stack *stack, mv_instant instant);

/* Bytes of the whole stack, including what slides hold open. */
uint64_t mv_column_stack_height(const mv_column_stack *stack);

/* The stack from the bottom to the top: a run for each row of at least `least` bytes, and one run
 * for all rows between two of these, so that nothing moves when `least` changes. At most `capacity`
 * runs are written; returns how many there are. */
uint32_t mv_column_stack_runs(const mv_column_stack *stack, uint64_t least, mv_run *out,
                              uint32_t capacity);

/* ids[i] = the rank whose bytes cover byte `middle[i]` of the stack; MV_NO_ROW above the stack and
 * where a slide holds bytes open. `middle` ascends. Returns the number of ids up to the top of the
 * stack: later ones are not written. */
uint32_t mv_column_stack_fill(const mv_column_stack *stack, const uint64_t *middle, uint32_t count,
                              uint32_t *ids);

/* mv_column_stack_move and mv_column_stack_fill; or the same without moving, if the instant is so
 * far away that looking at the living rows is less work. Then the stack stays where it was. */
uint32_t mv_column_stack_fill_at(mv_column_stack *stack, mv_instant instant, const uint64_t *middle,
                                 uint32_t count, uint32_t *ids);

/* The row that covers a byte of the stack; false when the stack is lower. O(log n). */
bool mv_column_stack_find(const mv_column_stack *stack, uint64_t byte, mv_run *out);

/* From one row to the next one above it; false when there is none. */
bool mv_column_stack_next(const mv_column_stack *stack, mv_run *run);

#endif
