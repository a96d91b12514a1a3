#include "base/intern.h"

enum { FIRST_CAPACITY = 1024 };

const char mv_hash_place;

static void place(mv_intern_slot *slots, uint64_t capacity, uint64_t at, mv_intern_slot slot)
{
    at &= capacity - 1;
    while (slots[at].row != 0)
        at = (at + 1) & (capacity - 1);
    slots[at] = slot;
}

static bool grow(mv_intern *t)
{
    uint64_t capacity = t->capacity ? t->capacity * 2 : FIRST_CAPACITY;
    mv_intern_slot *slots = mv_arena_grow(t->arena, NULL, capacity * sizeof *slots);

    if (!slots)
        return false;
    for (uint64_t i = 0; i < t->capacity; i++)
        if (t->slots[i].row != 0)
            place(slots, capacity, t->slots[i].check, t->slots[i]);
    mv_arena_drop(t->arena, t->slots);
    t->slots = slots;
    t->capacity = capacity;
    return true;
}

static bool has(const mv_intern *t, uint32_t check)
{
    uint64_t at = check;

    if (!t->slots)
        return false;
    for (at &= t->capacity - 1; t->slots[at].row != 0; at = (at + 1) & (t->capacity - 1))
        if (t->slots[at].check == check)
            return true;
    return false;
}

bool mv_intern_add(mv_intern *t, uint64_t hash, uint32_t row)
{
    /* Equal rows would collide, so it is enough to keep the first of them. */
    if (t->is_blind && has(t, (uint32_t)(hash >> 32)))
        return true;
    if (t->count * 2 >= t->capacity && !grow(t))
        return false;
    place(t->slots, t->capacity, hash >> 32, (mv_intern_slot){(uint32_t)(hash >> 32), row + 1});
    t->count++;
    return true;
}
