#include "analyze/ledger/addrmap.h"

enum { FIRST_BUCKETS = 256 };

static uint32_t bucket_of(const mv_addrmap *map, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(h ^ h >> 32) & (map->buckets - 1);
}

/* There are always as many nodes as buckets. */
static bool grow(mv_addrmap *map)
{
    uint32_t buckets = map->buckets ? map->buckets * 2 : FIRST_BUCKETS;
    mv_addrmap_node *nodes;
    uint32_t *heads;

    if (buckets == 0)
        return false;
    nodes = mv_arena_grow(map->arena, map->nodes, (uint64_t)buckets * sizeof *nodes);
    if (!nodes)
        return false;
    map->nodes = nodes;
    heads = mv_arena_grow(map->arena, NULL, (uint64_t)buckets * sizeof *heads);
    if (!heads)
        return false;
    mv_arena_drop(map->arena, map->heads);
    map->heads = heads;
    map->buckets = buckets;
    for (uint32_t i = 0; i < buckets; i++)
        heads[i] = MV_NOT_MAPPED;
    /* Only a map without removed nodes is full. */
    for (uint32_t i = 0; i < map->used; i++) {
        uint32_t *head = &heads[bucket_of(map, nodes[i].key)];
        nodes[i].next = *head;
        *head = i;
    }
    return true;
}

static mv_addrmap_node *find(const mv_addrmap *map, uint64_t key)
{
    uint32_t at = map->buckets ? map->heads[bucket_of(map, key)] : MV_NOT_MAPPED;

    while (at != MV_NOT_MAPPED && map->nodes[at].key != key)
        at = map->nodes[at].next;
    return at == MV_NOT_MAPPED ? NULL : &map->nodes[at];
}

uint32_t mv_addrmap_get(const mv_addrmap *map, uint64_t key)
{
    const mv_addrmap_node *node = find(map, key);

    return node ? node->value : MV_NOT_MAPPED;
}

bool mv_addrmap_put(mv_addrmap *map, uint64_t key, uint32_t value)
{
    mv_addrmap_node *node = find(map, key);
    uint32_t at, *head;

    if (node) {
        node->value = value;
        return true;
    }
    if (!map->recycled && map->used == map->buckets && !grow(map))
        return false;
    if (map->recycled) {
        at = map->recycled - 1;
        map->recycled = map->nodes[at].next + 1;
    } else {
        at = map->used++;
    }
    head = &map->heads[bucket_of(map, key)];
    map->nodes[at] = (mv_addrmap_node){key, value, *head};
    *head = at;
    return true;
}

uint32_t mv_addrmap_take(mv_addrmap *map, uint64_t key)
{
    uint32_t *link = map->buckets ? &map->heads[bucket_of(map, key)] : NULL;

    while (link && *link != MV_NOT_MAPPED) {
        uint32_t at = *link;
        mv_addrmap_node *node = &map->nodes[at];
        if (node->key == key) {
            *link = node->next;
            /* MV_NOT_MAPPED + 1 is 0: the end of the removed ones. */
            node->next = map->recycled - 1;
            map->recycled = at + 1;
            return node->value;
        }
        link = &node->next;
    }
    return MV_NOT_MAPPED;
}
