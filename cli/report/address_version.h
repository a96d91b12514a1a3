/* How often each address was allocated: 0x7f00#3 is the third allocation there. */
#ifndef MV_ADDRESS_VERSION_H
#define MV_ADDRESS_VERSION_H

#include "base/arena.h"

typedef struct {
    uint64_t addr;
    uint32_t version; /* 0: an empty slot */
} mv_reuse_slot;

typedef struct {
    mv_arena *arena;
    mv_reuse_slot *slots; /* [capacity], a power of two */
    uint64_t capacity;
    uint64_t count;
} mv_reuse;

void mv_reuse_init(mv_reuse *reuse, mv_arena *arena);

/* Counts an allocation at `addr`. False when memory runs out. */
bool mv_reuse_add(mv_reuse *reuse, uint64_t addr);

/* The number of allocations at `addr` so far; 0: none within the trace. */
uint32_t mv_reuse_version(const mv_reuse *reuse, uint64_t addr);

#endif
