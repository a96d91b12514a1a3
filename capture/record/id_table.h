/* A hash table from 128-bit keys to ids. Any number of threads read while one adds.
 *
 * Open addressing; slots are never removed. A reader sees a complete slot or none, because the low
 * half of the key is stored last. A half-full table is copied into one of twice the size. The old
 * one stays for its remaining readers, so all tables together take twice the memory of the
 * newest. */
#ifndef MV_ID_TABLE_H
#define MV_ID_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MV_NO_ID UINT32_MAX

typedef struct {
    uint64_t low, high; /* low is not 0 */
} mv_id_key;

typedef struct {
    _Atomic uint64_t low; /* 0: free */
    uint64_t high;
    uint64_t id;
} mv_id_slot;

typedef struct mv_id_slots {
    struct mv_id_slots *smaller; /* the table that this one replaced */
    uint64_t mask;               /* number of slots, a power of two, minus 1 */
    mv_id_slot slots[];
} mv_id_slots;

typedef struct {
    _Atomic(mv_id_slots *) slots; /* NULL: empty */
    uint32_t count;               /* only used by the adding thread */
} mv_id_table;

/* The key of some bytes. Keys of different kinds are never equal. The kind is hashed with the
 * input, because as a seed of XXH3 it could be cancelled out by small differences of short
 * inputs. */
mv_id_key mv_id_key_of(const void *bytes, size_t count, uint64_t kind);

/* The key of two numbers. */
mv_id_key mv_id_key_of_pair(uint64_t a, uint64_t b, uint64_t kind);

/* The id of a key, or MV_NO_ID. */
uint32_t mv_id_find(const mv_id_table *table, mv_id_key key);

/* Adds a key that is not in the table. One thread at a time. False when out of memory. */
bool mv_id_add(mv_id_table *table, mv_id_key key, uint32_t id);

/* Releases all memory: for a forked child, which has no other readers. */
void mv_id_table_clear(mv_id_table *table);

#endif
