/* A set of small numbers in which the next and the previous member are found quickly. It consists
 * of a bitmap with the members, and of further bitmaps above it. Each bitmap shows which words of
 * the bitmap below it are not empty, and is 64 times smaller. Every operation takes at most six
 * steps. */
#pragma once

#include "base/arena.h"

#define MV_RANKSET_LEVELS 6 /* six levels are enough, because 64^6 is more than 2^32 */
#define MV_NO_RANK        UINT32_MAX

typedef struct {
    uint64_t *level[MV_RANKSET_LEVELS]; /* bitmaps; level[0] contains the members, and the top
                                         * level has one word */
    uint32_t words[MV_RANKSET_LEVELS];
    uint32_t levels;
    uint32_t count; /* members are from 0 to count - 1 */
} mv_rankset;

/* Creates an empty set for numbers below `count`. False when out of memory. */
bool mv_rankset_init(mv_arena *arena, uint32_t count, mv_rankset *set);

/* The slow paths of mv_rankset_add and mv_rankset_drop: the word was empty before, or is empty
 * now. */
void mv_rankset_add_word(mv_rankset *set, uint32_t word);
void mv_rankset_drop_word(mv_rankset *set, uint32_t word);

static inline void mv_rankset_add(mv_rankset *set, uint32_t rank)
{
    uint64_t *word = &set->level[0][rank >> 6], old = *word;

    *word = old | (uint64_t)1 << (rank & 63);
    if (old == 0)
        mv_rankset_add_word(set, rank >> 6);
}

static inline void mv_rankset_drop(mv_rankset *set, uint32_t rank)
{
    uint64_t *word = &set->level[0][rank >> 6];

    *word &= ~((uint64_t)1 << (rank & 63));
    if (*word == 0)
        mv_rankset_drop_word(set, rank >> 6);
}

static inline bool mv_rankset_has(const mv_rankset *set, uint32_t rank)
{
    return set->level[0][rank >> 6] >> (rank & 63) & 1;
}

/* The slow paths of mv_rankset_next and mv_rankset_prev. */
uint32_t mv_rankset_next_far(const mv_rankset *set, uint32_t rank);
uint32_t mv_rankset_prev_far(const mv_rankset *set, uint32_t rank);

/* Returns the first member at or after `rank` (which may be `count`), or MV_NO_RANK. Fast if this
 * member is near, which is the usual case. */
static inline uint32_t mv_rankset_next(const mv_rankset *set, uint32_t rank)
{
    if (rank < set->count) {
        uint64_t word = set->level[0][rank >> 6] >> (rank & 63);
        if (word)
            return rank + (uint32_t)__builtin_ctzll(word);
    }
    return mv_rankset_next_far(set, rank);
}

/* Returns the last member at or before `rank`, or MV_NO_RANK. */
static inline uint32_t mv_rankset_prev(const mv_rankset *set, uint32_t rank)
{
    if (rank < set->count) {
        uint64_t word = set->level[0][rank >> 6] << (63 - (rank & 63));
        if (word)
            return rank - (uint32_t)__builtin_clzll(word);
    }
    return mv_rankset_prev_far(set, rank);
}
