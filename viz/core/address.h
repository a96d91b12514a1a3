/* What was ever allocated at an address: every allocation whose block covered a byte, over the
 * whole trace.
 *
 *     address     │  ranks by address, then by end of the block
 *       0x5000    │        ┌───┐
 *       0x4000    │  ┌─────┴───┤    ┌────┐         asked for 0x4800: of the rows that start at or
 *       0x3000    │  │         └────┤    ├──       below it, those whose block ends above it
 *                 └──────────────────────────► time
 *
 * Rows sorted by address, with a tree of the highest end above them, 16 to a node: subtrees that
 * end at or below the byte are skipped. A viewer makes it on first use; 4.6 bytes a row. */
#ifndef MV_ADDRESS_H
#define MV_ADDRESS_H

#include "analyze/lives/alive.h"

#define MV_ADDRESS_LEVELS 7 /* 16^8 rows: any row number */

typedef struct {
    const mv_alloc_lives *allocs;
    uint32_t count;
    uint32_t *row; /* [count] of allocs, by address, then row */
    uint32_t levels;
    uint32_t length[MV_ADDRESS_LEVELS];
    uint64_t
        *highest[MV_ADDRESS_LEVELS]; /* [length] highest end address of the blocks below a node */
} mv_addresses;

/* O(n); `lives` must outlive it. Fails only when memory runs out. */
mv_code mv_addresses_make(mv_arena *arena, const mv_lives *lives, mv_addresses *out, mv_err *err);

/* The rows whose blocks, addr to addr + block, cover `addr`, in order of birth. A block of 0 bytes
 * covers none. O(log n + k log n). `arena` keeps the list. Fails only when memory runs out. */
mv_code mv_addresses_at(mv_arena *arena, const mv_addresses *addresses, uint64_t addr,
                        mv_alive *out, mv_err *err);

#endif
