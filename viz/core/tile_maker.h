/* One worker's tools, and the tile that the worker makes with them. The cache and the threads are
 * in viz/core/tiles.c. */
#pragma once

#include <stdatomic.h>

#include "viz/core/tiles.h"

typedef struct {
    mv_budget budget;
    mv_arena arena;        /* memory of the sums */
    mv_column_stack stack; /* stack of `subject.index`, valid while `epoch` equals that of the
                              tiles */
    mv_pyramid_reader levels;
    const mv_index *index; /* index of the last subject; NULL: no tile has been made yet */
    const mv_pyramid *pyramid;
    uint64_t epoch;
    uint64_t middle[MV_TILE_ROWS]; /* byte of the stack at the middle of each row of pixels */
} mv_tile_maker;

void mv_tile_maker_init(mv_tile_maker *maker, uint64_t scratch);
void mv_tile_maker_release(mv_tile_maker *maker);

/* Returns how many rows the tile needs to reach the top of the stack; 0 if the stack is empty
 * there. The caller must set subject, dx, dy, kx and ky of `tile` first. */
uint32_t mv_tile_rows(mv_pyramid_reader *levels, const mv_tile_subject *subject,
                      const mv_tile *tile);

/* Fills ids[MV_TILE_COLUMNS * tile->rows] and spikes[MV_TILE_COLUMNS]. Returns false when out of
 * memory, or when *stop became true. The caller must change `epoch` whenever a different index may
 * be at the same address. */
bool mv_tile_make(mv_tile_maker *maker, const mv_tile_subject *subject, const mv_tile *tile,
                  uint64_t epoch, const _Atomic bool *stop, uint32_t *ids, uint32_t *spikes);
