/* The stack of a timeline, literally: every row looked at, one on top of the other; and what
 * columns and tiles must show, from that alone. */
#ifndef MV_FIXTURE_STACK_H
#define MV_FIXTURE_STACK_H

#include "viz/core/tiles.h"

/* Bytes that a row holds at an instant; *is_open: it has ended, and what it held is being closed.
 */
uint64_t mvt_held(const mv_index *index, const uint64_t *drawn, uint32_t rank, mv_instant instant,
                  bool *is_open);

/* The row that covers a byte, or MV_NO_ROW; and where it begins. */
uint32_t mvt_row_at(const mv_index *index, const uint64_t *drawn, mv_instant instant, uint64_t byte,
                    uint64_t *offset);

/* The instant of a column, found by looking at every event. `heights` are the bytes after each
 * event, `before` ahead of the first. */
mv_instant mvt_instant(const mv_timescale *scale, const uint64_t *heights, uint64_t before,
                       double x0, double x1);

/* Fails the test unless every pixel and every spike of a tile is as every row says. */
void mvt_check_tile(const mv_tile_subject *subject, const mv_tile *tile, const uint64_t *heights,
                    uint64_t before);

/* Some bits, about half of them set; `arena` keeps them. */
uint64_t *mvt_random_bits(mv_arena *arena, uint32_t count, uint64_t *random);

#endif
