#include "base/map.h"

#include <string.h>

enum { FIRST_SLOTS = 256 };

static bool resize(mv_map *map, uint64_t slots)
{
    mv_map grown = {.arena = map->arena, .mask = slots - 1, .count = map->count};

    if (slots > UINT64_MAX / sizeof *grown.slots)
        return false;
    grown.slots = mv_arena_grow(map->arena, NULL, slots * sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].is_used)
            *mv_map_slot_of(&grown, map->slots[i].key) = map->slots[i];
    mv_arena_drop(map->arena, map->slots);
    *map = grown;
    return true;
}

/* At most two thirds of the slots are used, so a search always ends at an empty slot. */
bool mv_map_reserve(mv_map *map, uint64_t keys)
{
    uint64_t slots = map->slots ? map->mask + 1 : FIRST_SLOTS;

    while (keys > slots / 3 * 2) {
        if (slots > UINT64_MAX / 2)
            return false;
        slots *= 2;
    }
    return (map->slots && slots == map->mask + 1) || resize(map, slots);
}

uint32_t *mv_map_value(mv_map *map, uint64_t key)
{
    uint32_t *known = mv_map_known(map, key);
    mv_map_slot *slot;

    if (known)
        return known;
    if (!mv_map_reserve(map, map->count + 1))
        return NULL;
    slot = mv_map_slot_of(map, key);
    *slot = (mv_map_slot){.key = key, .is_used = 1};
    map->count++;
    return &slot->value;
}

void mv_map_clear(mv_map *map)
{
    if (map->slots)
        memset(map->slots, 0, (map->mask + 1) * sizeof *map->slots);
    map->count = 0;
}

bool mv_map_put(mv_map *map, uint64_t key, uint32_t value)
{
    uint32_t *at = mv_map_value(map, key);

    if (at)
        *at = value;
    return at != NULL;
}

/* The keys after an emptied slot move up, unless a key would move to a position before the slot at
 * which the search for it begins. */
uint32_t mv_map_take(mv_map *map, uint64_t key)
{
    mv_map_slot *slot = map->slots ? mv_map_slot_of(map, key) : NULL;
    uint64_t hole, next;
    uint32_t value;

    if (!slot || !slot->is_used)
        return MV_NOT_IN_MAP;
    value = slot->value;
    hole = next = (uint64_t)(slot - map->slots);
    for (;;) {
        uint64_t home;
        next = (next + 1) & map->mask;
        if (!map->slots[next].is_used)
            break;
        home = mv_map_home(map, map->slots[next].key);
        if (((next - home) & map->mask) < ((next - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[next];
        hole = next;
    }
    map->slots[hole].is_used = 0;
    map->count--;
    return value;
}
