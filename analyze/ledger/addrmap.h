/* A hash map with removal, from addresses or handles to numbers. Chains of nodes in one table; a
 * removed node is reused. */
#ifndef MV_ADDRMAP_H
#define MV_ADDRMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define MV_NOT_MAPPED UINT32_MAX

typedef struct {
    uint64_t key;
    uint32_t value;
    uint32_t next; /* node, or MV_NOT_MAPPED */
} mv_addrmap_node;

/* All zero except the arena is an empty map. */
typedef struct {
    mv_arena *arena;
    mv_addrmap_node *nodes;
    uint32_t *heads;   /* [buckets] */
    uint32_t buckets;  /* a power of two, or 0 */
    uint32_t used;     /* nodes that were ever used */
    uint32_t recycled; /* the first of the removed nodes + 1; 0: none */
} mv_addrmap;

/* MV_NOT_MAPPED when the key is not there. */
uint32_t mv_addrmap_get(const mv_addrmap *map, uint64_t key);

/* Adds a key or changes its value. False when memory is out. */
bool mv_addrmap_put(mv_addrmap *map, uint64_t key, uint32_t value);

/* Removes a key; its value, or MV_NOT_MAPPED. */
uint32_t mv_addrmap_take(mv_addrmap *map, uint64_t key);

#endif
