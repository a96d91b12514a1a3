/* The drawn rows of an index, and the clock that follows from them.
 *
 * PyTorch's viewer draws the N largest allocations; ours draws all of them, or those that pass a
 * filter. Rows that are not drawn are not in the stack either: the other rows are stacked as if
 * they did not exist.
 *
 * The x axis of PyTorch's viewer counts not events but "ticks": these leave room to see the stack
 * slide.
 *
 *     a row is born            1 tick; on top of the stack at once
 *     a row ends, at the top   1 tick, then it is gone
 *     a row ends, below others 1 tick, then it is gone; 3 more in which those above slide down
 *     a row that is not drawn  1 tick when born, 1 when it ends
 *     anything else            none
 *
 *     tick(event) = events before it in which a row begins or ends
 *                 + 3 x events before it in which drawn ones slide
 *
 * Both are counts of bits in a bitmap, so no tick is stored. If several rows change in one event
 * (only in contradictory traces and when segments are cut), that is one change: it costs 1 tick, or
 * 4, and rows born in it appear when the slide is over. */
#ifndef MV_DRAWN_ROWS_H
#define MV_DRAWN_ROWS_H

#include "viz/core/index.h"

typedef struct {
    const mv_index *index;
    uint32_t count;       /* rows that are drawn */
    const uint64_t *rows; /* [(index->count + 63) / 64] one bit for each rank; NULL: all */
    mv_bitmap slides;     /* [events] drawn rows slide down; tallied */
    uint32_t levels;
    uint32_t length[MV_INDEX_LEVELS];
    uint32_t *lowest[MV_INDEX_LEVELS]; /* [length] the lowest drawn rank that ends in a sliding
                                        * event, of the 16^(level + 1) events below a node;
                                        * MV_NO_ROW: none */
} mv_drawn;

/* All rows; the rows with a bit in `rows`, which is borrowed. O(n), and 0.6 bytes an event. Rows
 * that are never alive are not drawn. Fail only when out of memory. */
mv_code mv_drawn_all(mv_arena *arena, const mv_index *index, mv_drawn *out, mv_err *err);
mv_code mv_drawn_some(mv_arena *arena, const mv_index *index, const uint64_t *rows, mv_drawn *out,
                      mv_err *err);

static inline bool mv_drawn_has(const mv_drawn *drawn, uint32_t rank)
{
    return !drawn->rows || (drawn->rows[rank >> 6] >> (rank & 63) & 1);
}

/* Bytes of the drawn rows below `rank` that are alive: its offset. O(living rows below it). */
uint64_t mv_drawn_offset(const mv_drawn *drawn, uint32_t rank, uint32_t event);

/* The first event in [from, to) at which drawn rows below `rank` end while others slide; `to` when
 * there is none. At that event `rank`, if it is drawn and alive on both sides, moves down by
 * mv_drawn_slide(). O(log n). */
uint32_t mv_drawn_next_slide(const mv_drawn *drawn, uint32_t from, uint32_t to, uint32_t rank);
uint64_t mv_drawn_slide(const mv_drawn *drawn, uint32_t event, uint32_t rank);

#endif
