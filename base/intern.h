/* Finds rows of a table by their content. This is a hash table that maps 64-bit hashes to rows of
 * the table. It stores no keys, so the caller compares the content of each candidate row.
 *
 *     for (mv_probe p = mv_intern_start(&t, hash); mv_intern_next(&t, &p);)
 *         if (row p.row has our content) return p.row;
 *     mv_intern_add(&t, hash, row); */
#pragma once

#include "base/arena.h"

typedef struct {
    uint32_t check; /* upper half of the hash, which selects the slot and is compared first */
    uint32_t row;   /* row + 1; 0: the slot is empty */
} mv_intern_slot;

typedef struct {
    mv_arena *arena;
    mv_intern_slot *slots; /* [capacity], a power of two; NULL before the first add */
    uint64_t capacity;
    uint64_t count;
    bool is_blind; /* lookups find nothing, and only the first of several rows with equal hashes
                    * is kept */
} mv_intern;

typedef struct {
    uint64_t slot;
    uint32_t check;
    uint32_t row; /* candidate row; valid after mv_intern_next returned true */
} mv_probe;

static inline mv_probe mv_intern_start(const mv_intern *t, uint64_t hash)
{
    uint32_t check = (uint32_t)(hash >> 32);

    return (mv_probe){.slot = t->capacity ? check & (t->capacity - 1) : 0, .check = check};
}

/* Moves to the next row with the same hash. False if there is no such row. */
static inline bool mv_intern_next(const mv_intern *t, mv_probe *p)
{
    if (!t->slots || t->is_blind)
        return false;
    for (;;) {
        mv_intern_slot s = t->slots[p->slot];
        if (s.row == 0)
            return false;
        p->slot = (p->slot + 1) & (t->capacity - 1);
        if (s.check == p->check) {
            p->row = s.row - 1;
            return true;
        }
    }
}

/* Adds a row that was not found. Returns false when out of memory; the table is then unchanged. */
bool mv_intern_add(mv_intern *t, uint64_t hash, uint32_t row);

/* The seed of all hashes, including XXH3 hashes of strings and lists. It is different in each
 * process, so the author of a file cannot know it and cannot choose rows that collide and take
 * quadratic time to find. The seed is the address at which the system loaded the program (ASLR); in
 * WebAssembly it is a constant. It is never written to a file. */
extern const char mv_hash_place;

static inline uint64_t mv_hash_key(void)
{
    return (uint64_t)(uintptr_t)&mv_hash_place * UINT64_C(0x9e3779b97f4a7c15);
}

/* Mixes two words into 64 bits, for rows that consist of a few numbers. */
static inline uint64_t mv_mix(uint64_t a, uint64_t b)
{
    uint64_t key = mv_hash_key();
    __uint128_t product = (__uint128_t)(a ^ key) * (b ^ ~key ^ UINT64_C(0xd6e8feb86659fd93));

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
