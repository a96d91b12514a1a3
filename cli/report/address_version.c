#include "cli/report/address_version.h"

#include "base/intern.h"

void mv_reuse_init(mv_reuse *reuse, mv_arena *arena)
{
    *reuse = (mv_reuse){.arena = arena};
}

/* The slot of `addr`, or the empty slot where it would go. */
static mv_reuse_slot *slot_of(mv_reuse_slot *slots, uint64_t capacity, uint64_t addr)
{
    uint64_t at = mv_mix(addr, 0) & (capacity - 1);

    while (slots[at].version && slots[at].addr != addr)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(mv_reuse *reuse)
{
    uint64_t capacity = reuse->capacity ? reuse->capacity * 2 : 4096;
    mv_reuse_slot *slots = mv_arena_grow(reuse->arena, NULL, capacity * sizeof *slots);

    if (!slots)
        return false;
    for (uint64_t i = 0; i < reuse->capacity; i++)
        if (reuse->slots[i].version)
            *slot_of(slots, capacity, reuse->slots[i].addr) = reuse->slots[i];
    mv_arena_drop(reuse->arena, reuse->slots);
    reuse->slots = slots;
    reuse->capacity = capacity;
    return true;
}

bool mv_reuse_add(mv_reuse *reuse, uint64_t addr)
{
    mv_reuse_slot *slot;

    if (reuse->count >= reuse->capacity / 2 && !grow(reuse))
        return false;
    slot = slot_of(reuse->slots, reuse->capacity, addr);
    if (slot->version == 0)
        reuse->count++;
    slot->addr = addr;
    slot->version++;
    return true;
}

uint32_t mv_reuse_version(const mv_reuse *reuse, uint64_t addr)
{
    return reuse->capacity ? slot_of(reuse->slots, reuse->capacity, addr)->version : 0;
}
