/* A set of small numbers: one bit for each number below a limit that is fixed at the start.
 *
 *     mv_bits seen;
 *     if (!mv_bits_init(arena, trace->stacks.count, &seen)) return out_of_memory;
 *     mv_bits_add(&seen, stack.row);
 *     for (uint64_t i = mv_bits_next(&seen, 0); i < seen.count; i = mv_bits_next(&seen, i + 1))
 *         ...
 *
 * A walk costs one step for 64 numbers and one for each member. To find the next or the previous
 * member again and again in a set that changes, use rankset.h; to count the members below a number,
 * bitmap.h. */
#ifndef MV_BASE_BITS_H
#define MV_BASE_BITS_H

#include "base/arena.h"

typedef struct {
    uint64_t *word; /* [count / 64 + 1] number i is bit i % 64 of word[i / 64] */
    uint64_t count; /* members are 0 to count - 1 */
} mv_bits;

/* An empty set of numbers below `count`. False when memory is out. */
static inline bool mv_bits_init(mv_arena *arena, uint64_t count, mv_bits *out)
{
    *out = (mv_bits){mv_push_array(arena, uint64_t, count / 64 + 1), count};
    return out->word != NULL;
}

static inline void mv_bits_add(mv_bits *bits, uint64_t number)
{
    bits->word[number / 64] |= (uint64_t)1 << (number % 64);
}

static inline void mv_bits_drop(mv_bits *bits, uint64_t number)
{
    bits->word[number / 64] &= ~((uint64_t)1 << (number % 64));
}

static inline bool mv_bits_has(const mv_bits *bits, uint64_t number)
{
    return bits->word[number / 64] >> (number % 64) & 1;
}

/* The first member at or after `from`; `count` when there is none. */
static inline uint64_t mv_bits_next(const mv_bits *bits, uint64_t from)
{
    uint64_t word;

    if (from >= bits->count)
        return bits->count;
    word = bits->word[from / 64] & ~(uint64_t)0 << (from % 64);
    for (uint64_t w = from / 64; !word; word = bits->word[w])
        if (++w > bits->count / 64)
            return bits->count;
        else
            from = w * 64;
    return from / 64 * 64 + (uint64_t)__builtin_ctzll(word);
}

/* How many members there are. */
static inline uint64_t mv_bits_size(const mv_bits *bits)
{
    uint64_t size = 0;

    for (uint64_t w = 0; w <= bits->count / 64; w++)
        size += (uint64_t)__builtin_popcountll(bits->word[w]);
    return size;
}

#endif
