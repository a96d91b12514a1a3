#define XXH_INLINE_ALL
#include "capture/record/id_table.h"

#include <xxhash.h>

#include "capture/record/pages.h"

enum { FIRST_SLOTS = 1024 };

mv_id_key mv_id_key_of_pair(uint64_t a, uint64_t b, uint64_t kind)
{
    const uint64_t numbers[] = {a, b, kind};
    XXH128_hash_t hash = XXH3_128bits(numbers, sizeof numbers);

    return (mv_id_key){hash.low64 ? hash.low64 : 1, hash.high64};
}

mv_id_key mv_id_key_of(const void *bytes, size_t count, uint64_t kind)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, count);
    return mv_id_key_of_pair(hash.low64, hash.high64, kind);
}

uint32_t mv_id_find(const mv_id_table *table, mv_id_key key)
{
    const mv_id_slots *all = atomic_load_explicit(&table->slots, memory_order_acquire);

    if (!all)
        return MV_NO_ID;
    for (uint64_t i = key.low & all->mask;; i = (i + 1) & all->mask) {
        const mv_id_slot *slot = &all->slots[i];
        uint64_t low = atomic_load_explicit(&slot->low, memory_order_acquire);
        if (low == key.low && slot->high == key.high)
            return (uint32_t)slot->id;
        if (low == 0)
            return MV_NO_ID;
    }
}

static void put(mv_id_slots *all, mv_id_key key, uint64_t id)
{
    uint64_t i = key.low & all->mask;

    while (atomic_load_explicit(&all->slots[i].low, memory_order_relaxed))
        i = (i + 1) & all->mask;
    all->slots[i].high = key.high;
    all->slots[i].id = id;
    atomic_store_explicit(&all->slots[i].low, key.low, memory_order_release);
}

static size_t bytes_of(uint64_t slots)
{
    return sizeof(mv_id_slots) + slots * sizeof(mv_id_slot);
}

static mv_id_slots *grown(mv_id_slots *old)
{
    uint64_t slots = old ? 2 * (old->mask + 1) : FIRST_SLOTS;
    mv_id_slots *all = mv_pages_get(bytes_of(slots));

    if (!all)
        return NULL;
    all->smaller = old;
    all->mask = slots - 1;
    for (uint64_t i = 0; old && i <= old->mask; i++) {
        const mv_id_slot *slot = &old->slots[i];
        uint64_t low = atomic_load_explicit(&slot->low, memory_order_relaxed);
        if (low)
            put(all, (mv_id_key){low, slot->high}, slot->id);
    }
    return all;
}

bool mv_id_add(mv_id_table *table, mv_id_key key, uint32_t id)
{
    mv_id_slots *all = atomic_load_explicit(&table->slots, memory_order_relaxed);

    if (!all || table->count > all->mask / 2) {
        all = grown(all);
        if (!all)
            return false;
        atomic_store_explicit(&table->slots, all, memory_order_release);
    }
    put(all, key, id);
    table->count++;
    return true;
}

void mv_id_table_clear(mv_id_table *table)
{
    mv_id_slots *all = atomic_load(&table->slots);

    while (all) {
        mv_id_slots *smaller = all->smaller;
        mv_pages_give(all, bytes_of(all->mask + 1));
        all = smaller;
    }
    atomic_store(&table->slots, NULL);
    table->count = 0;
}
