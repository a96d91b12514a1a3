/* Which rows of an index are drawn, and the clock that follows from these rows.
 *
 * PyTorch's viewer draws the N largest allocations; ours draws all of them, or those that pass a
 * filter. Rows that are not drawn are not in the stack either. The drawn rows are stacked as if no
 * other rows existed.
 *
 * The x axis of PyTorch's viewer does not count events but "ticks", which leave room to show how
 * the stack slides.
 *
 *     a row is born            1 tick; it appears on top of the stack at once
 *     a row ends, at the top   1 tick, then it is gone
 *     a row ends, below others 1 tick, then it is gone; 3 more while the rows above slide down
 *     a row that is not drawn  1 tick when born, 1 when it ends
 *     anything else            none
 *
 *     tick(event) = events before it in which a row begins or ends
 *                 + 3 x events before it in which drawn rows slide
 *
 * Both terms count bits in a bitmap, so no ticks are stored. Several rows change in the same event
 * only in contradictory traces and when segments are cut. They count as one change, which takes 1
 * or 4 ticks. Rows born in such an event appear when the slide is over. */
#pragma once

#include "viz/core/index.h"

typedef struct {
    const mv_index *index;
    uint32_t count;       /* number of rows that are drawn */
    const uint64_t *rows; /* [(index->count + 63) / 64] one bit for each rank, set if it is drawn;
                             NULL: all are */
    mv_bitmap slides;     /* [events] set if drawn rows slide down; tallied */
    uint32_t levels;
    uint32_t length[MV_INDEX_LEVELS];
    uint32_t *lowest[MV_INDEX_LEVELS]; /* [length] the lowest drawn rank that ends in a sliding
                                        * event, among the 16^(level + 1) events below each node;
                                        * MV_NO_ROW: none */
} mv_drawn;

/* Draw all rows, or the rows with a bit in `rows`, which is borrowed. O(n), and 0.6 bytes of memory
 * per event. Rows that are never alive are not drawn. Fail only when out of memory. */
mv_code mv_drawn_all(mv_arena *arena, const mv_index *index, mv_drawn *out, mv_err *err);
mv_code mv_drawn_some(mv_arena *arena, const mv_index *index, const uint64_t *rows, mv_drawn *out,
                      mv_err *err);

static inline bool mv_drawn_has(const mv_drawn *drawn, uint32_t rank)
{
    return !drawn->rows || (drawn->rows[rank >> 6] >> (rank & 63) & 1);
}

/* Returns the offset of `rank`: the bytes of the drawn rows below it that are alive. O(living rows
 * below it). */
uint64_t mv_drawn_offset(const mv_drawn *drawn, uint32_t rank, uint32_t event);

/* mv_drawn_next_slide returns the first event in [from, to) at which drawn rows below `rank` end
 * while other rows slide; `to` if there is no such event. At that event, `rank` moves down by
 * mv_drawn_slide() bytes if it is drawn, and alive before and after the event. O(log n). */
uint32_t mv_drawn_next_slide(const mv_drawn *drawn, uint32_t from, uint32_t to, uint32_t rank);
uint64_t mv_drawn_slide(const mv_drawn *drawn, uint32_t event, uint32_t rank);
