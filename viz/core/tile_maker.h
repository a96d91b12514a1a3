/* The tools of one worker, and the tile that it makes with them; the cache and the threads are in
 * viz/core/tiles.c. */
#ifndef MV_TILE_MAKER_H
#define MV_TILE_MAKER_H

#include <stdatomic.h>

#include "viz/core/tiles.h"

typedef struct {
    mv_budget budget;
    mv_arena arena;        /* of the sums */
    mv_column_stack stack; /* of `subject.index`, while `epoch` is the tiles' own */
    mv_pyramid_reader levels;
    const mv_index *index; /* NULL: none yet */
    const mv_pyramid *pyramid;
    uint64_t epoch;
    uint64_t middle[MV_TILE_ROWS]; /* bytes at the middle of each row of pixels */
} mv_tile_maker;

void mv_tile_maker_init(mv_tile_maker *maker, uint64_t scratch);
void mv_tile_maker_release(mv_tile_maker *maker);

/* How many rows the tile needs to reach the top of the stack; 0 where the stack is empty. Set
 * subject, dx, dy, kx and ky of `tile` first. */
uint32_t mv_tile_rows(mv_pyramid_reader *levels, const mv_tile_subject *subject,
                      const mv_tile *tile);

/* Fills ids[MV_TILE_COLUMNS * tile->rows] and spikes[MV_TILE_COLUMNS]. False when out of memory, or
 * when *stop became true. Change `epoch` when there may be another index at the same address. */
bool mv_tile_make(mv_tile_maker *maker, const mv_tile_subject *subject, const mv_tile *tile,
                  uint64_t epoch, const _Atomic bool *stop, uint32_t *ids, uint32_t *spikes);

#endif
