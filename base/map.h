/* A map from 64-bit keys (addresses, handles, pointers) to numbers: a hash table with open
 * addressing, at most two thirds full.
 *
 *     mv_map map = {.arena = arena};
 *     mv_map_put(&map, addr, row);
 *     row = mv_map_find(&map, addr);       MV_NOT_IN_MAP if the key is missing
 *     ++*mv_map_value(&map, addr);         the value itself, 0 if the key is new
 *
 * For other keys (strings, structs, lists of frames) see intern.h and texts.h.
 *
 * All operations take O(1) expected time, and a key takes 24 to 48 bytes. A removed key costs
 * nothing afterwards, because the keys after it move up. Keys have no order, and a map cannot be
 * iterated. */
#pragma once

#include "base/intern.h"

#define MV_NOT_IN_MAP UINT32_MAX

typedef struct {
    uint64_t key;
    uint32_t value;
    uint32_t is_used;
} mv_map_slot;

/* An empty map is all zeros except for its arena. */
typedef struct {
    mv_arena *arena;
    mv_map_slot *slots; /* [mask + 1]; NULL before the first key */
    uint64_t mask;
    uint64_t count; /* number of keys */
} mv_map;

static inline uint64_t mv_map_home(const mv_map *map, uint64_t key)
{
    return mv_mix(key, 0) & map->mask;
}

/* Returns the slot of a key, or the empty slot where the key belongs. The map must have slots. */
static inline mv_map_slot *mv_map_slot_of(const mv_map *map, uint64_t key)
{
    uint64_t at = mv_map_home(map, key);

    while (map->slots[at].is_used && map->slots[at].key != key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

/* Returns the address of a key's value, which is valid until the map changes; NULL if the key is
 * missing. */
static inline uint32_t *mv_map_known(const mv_map *map, uint64_t key)
{
    mv_map_slot *slot = map->slots ? mv_map_slot_of(map, key) : NULL;

    return slot && slot->is_used ? &slot->value : NULL;
}

/* Returns the value of a key; MV_NOT_IN_MAP if the key is missing. */
static inline uint32_t mv_map_find(const mv_map *map, uint64_t key)
{
    const uint32_t *known = mv_map_known(map, key);

    return known ? *known : MV_NOT_IN_MAP;
}

/* Prefetches the slot of a key that will be looked up soon. */
static inline void mv_map_prefetch(const mv_map *map, uint64_t key)
{
    if (map->slots)
        __builtin_prefetch(&map->slots[mv_map_home(map, key)]);
}

/* Makes room for `keys` keys in total, so that adding them cannot fail and moves nothing. False
 * when out of memory. */
bool mv_map_reserve(mv_map *map, uint64_t keys);

/* Does the same as mv_map_known, but adds a missing key with the value 0. Returns NULL when out of
 * memory; the map is then unchanged. */
uint32_t *mv_map_value(mv_map *map, uint64_t key);

/* Adds a key or replaces its value. False when out of memory. */
bool mv_map_put(mv_map *map, uint64_t key, uint32_t value);

/* Removes all keys, and keeps the memory. */
void mv_map_clear(mv_map *map);

/* Removes a key. Returns its value, or MV_NOT_IN_MAP if the key was missing. */
uint32_t mv_map_take(mv_map *map, uint64_t key);
