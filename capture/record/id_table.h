/* From a 128-bit key to an id, read by any number of threads while one adds.
 *
 * Open addressing over slots that are never removed. A reader sees a slot whole or not at all: its
 * key's low half is stored last. A table that gets half full is copied into one of twice the size;
 * the old one stays where it is for readers that are still in it, so all of them together take
 * twice the newest's memory. */
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
    struct mv_id_slots *smaller; /* the one ahead of it */
    uint64_t mask;               /* slots - 1; their number is a power of two */
    mv_id_slot slots[];
} mv_id_slots;

typedef struct {
    _Atomic(mv_id_slots *) slots; /* NULL: nothing was added */
    uint32_t count;               /* the adder's own */
} mv_id_table;

/* Of any bytes. Two kinds never share a key. The kind is hashed like any other number: as a seed of
 * XXH3 it would be cancelled out by small differences of short inputs. */
mv_id_key mv_id_key_of(const void *bytes, size_t count, uint64_t kind);

/* The same for two numbers. */
mv_id_key mv_id_key_of_pair(uint64_t a, uint64_t b, uint64_t kind);

/* MV_NO_ID when it is not there. */
uint32_t mv_id_find(const mv_id_table *table, mv_id_key key);

/* Adds a key that is not there. One thread at a time. False: no memory. */
bool mv_id_add(mv_id_table *table, mv_id_key key, uint32_t id);

/* Gives all memory back: in a forked child, where nobody else reads. */
void mv_id_table_clear(mv_id_table *table);

#endif
