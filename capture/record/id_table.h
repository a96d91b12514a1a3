/* A hash table that maps 128-bit keys to ids. Any number of threads may read it while one thread
 * adds keys.
 *
 * The table uses open addressing, and slots are never removed. A reader finds either a complete
 * slot or none, because the low half of the key is stored last. When the table is half full, it is
 * copied into a table of twice the size. The old table is kept for its remaining readers, so all
 * tables together take twice the memory of the newest one. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MV_NO_ID UINT32_MAX

typedef struct {
    uint64_t low, high; /* halves of the key; `low` is never 0 */
} mv_id_key;

typedef struct {
    _Atomic uint64_t low; /* low half of the key; 0: the slot is free */
    uint64_t high;
    uint64_t id;
} mv_id_slot;

typedef struct mv_id_slots {
    struct mv_id_slots *smaller; /* the table that this table replaced */
    uint64_t mask;               /* number of slots, a power of two, minus 1 */
    mv_id_slot slots[];
} mv_id_slots;

typedef struct {
    _Atomic(mv_id_slots *) slots; /* the newest table; NULL: the table is empty */
    uint32_t count;               /* number of keys; used only by the thread that adds keys */
} mv_id_table;

/* Returns the key for some bytes. Keys of different kinds are never equal. The kind is hashed
 * together with the input, because if it were XXH3's seed, small differences between short inputs
 * could cancel it out. */
mv_id_key mv_id_key_of(const void *bytes, size_t count, uint64_t kind);

/* Returns the key for two numbers. */
mv_id_key mv_id_key_of_pair(uint64_t a, uint64_t b, uint64_t kind);

/* Returns the id of a key, or MV_NO_ID. */
uint32_t mv_id_find(const mv_id_table *table, mv_id_key key);

/* Adds a key that is not in the table yet. Only one thread at a time may call this. Returns false
 * when out of memory. */
bool mv_id_add(mv_id_table *table, mv_id_key key, uint32_t id);

/* Releases all memory. Only for a forked child, in which no other thread reads the table. */
void mv_id_table_clear(mv_id_table *table);
