/* Which rows of an index are drawn, and the clock that follows from it.
 *
 * PyTorch's viewer draws the N largest allocations; ours draws all of them, or those that a filter
 * leaves. Rows that are not drawn are not in the stack: the others are stacked as if those did not
 * exist.
 *
 * Its x axis is not the event but the "tick": it leaves room to see the stack slide.
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
 * Both are counts of bits in a bitmap, so no tick is stored. Where several rows change in one
 * event (only contradictory traces and segments that are cut have that), it is one change: it costs
 * 1 tick, or 4, and what is born in it appears when the slide is over. */
#ifndef MV_DRAWN_ROWS_H
#define MV_DRAWN_ROWS_H

#include "viz/core/index.h"

#define MV_SLIDE_TICKS 3
#define MV_DRAWN_SPAN  1024 /* events for each entry of `level` */

typedef struct {
    const mv_index *index;
    uint32_t count;       /* rows that are drawn */
    const uint64_t *rows; /* [(index->count + 63) / 64] a bit for each rank; NULL: all are drawn */
    mv_bitmap slides;     /* [events] drawn rows slide down; tallied */
    uint64_t *level;      /* [events / 1024 + 1] drawn bytes alive before event 1024 x i */
    uint32_t levels;
    uint32_t length[MV_INDEX_LEVELS];
    uint32_t *lowest[MV_INDEX_LEVELS]; /* [length] of the 16^(level + 1) events below a node: the
                                        * lowest drawn rank that ends in an event that slides;
                                        * MV_NO_ROW: none does */
} mv_drawn;

/* All rows; the `most` largest of them (among equals those that events name first, as in PyTorch's
 * viewer); those with a bit in `rows`, which is borrowed. O(n), and 0.6 bytes an event. Rows that
 * are never alive are not drawn. Fail only when memory runs out. */
mv_code mv_drawn_all(mv_arena *arena, const mv_index *index, mv_drawn *out, mv_err *err);
mv_code mv_drawn_largest(mv_arena *arena, const mv_index *index, uint32_t most, mv_drawn *out,
                         mv_err *err);
mv_code mv_drawn_some(mv_arena *arena, const mv_index *index, const uint64_t *rows, mv_drawn *out,
                      mv_err *err);

static inline bool mv_drawn_has(const mv_drawn *drawn, uint32_t rank)
{
    return !drawn->rows || (drawn->rows[rank >> 6] >> (rank & 63) & 1);
}

/* Where an event, or `events`, begins. O(1). */
uint64_t mv_drawn_tick(const mv_drawn *drawn, uint32_t event);

/* The length of the axis: where `events` begins, but 1 when nothing changes and something is alive.
 */
uint64_t mv_drawn_ticks(const mv_drawn *drawn);

/* Bytes of all drawn rows that are alive after an event. At most 1,024 events are walked. */
uint64_t mv_drawn_bytes(const mv_drawn *drawn, uint32_t event);

/* Bytes of the drawn rows below `rank` that are alive: its offset. O(what is alive below it). */
uint64_t mv_drawn_offset(const mv_drawn *drawn, uint32_t rank, uint32_t event);

/* The first event in [from, to) at which drawn rows below `rank` end while others slide; `to` when
 * there is none. Then `rank`, if it is drawn and alive on both sides of it, moves down by
 * mv_drawn_slide(). O(log n). */
uint32_t mv_drawn_next_slide(const mv_drawn *drawn, uint32_t from, uint32_t to, uint32_t rank);
uint64_t mv_drawn_slide(const mv_drawn *drawn, uint32_t event, uint32_t rank);

#endif
