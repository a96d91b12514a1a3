#include "base/rankset.h"

bool mv_rankset_init(mv_arena *arena, uint32_t count, mv_rankset *set)
{
    uint32_t words = count ? count : 1;

    *set = (mv_rankset){.count = count};
    do {
        uint64_t **level = &set->level[set->levels];
        words = (words >> 6) + ((words & 63) != 0);
        *level = mv_push_array(arena, uint64_t, words);
        if (!*level)
            return false;
        set->words[set->levels++] = words;
    } while (words > 1);
    return true;
}

void mv_rankset_add_word(mv_rankset *set, uint32_t rank)
{
    for (uint32_t l = 1; l < set->levels; l++) {
        uint64_t *word = &set->level[l][rank >> 6];
        bool was_empty = *word == 0;
        *word |= (uint64_t)1 << (rank & 63);
        if (!was_empty)
            return;
        rank >>= 6;
    }
}

void mv_rankset_drop_word(mv_rankset *set, uint32_t rank)
{
    for (uint32_t l = 1; l < set->levels; l++) {
        uint64_t *word = &set->level[l][rank >> 6];
        *word &= ~((uint64_t)1 << (rank & 63));
        if (*word)
            return;
        rank >>= 6;
    }
}

static uint32_t lowest(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

static uint32_t highest(uint64_t word)
{
    return 63 - (uint32_t)__builtin_clzll(word);
}

uint32_t mv_rankset_next_far(const mv_rankset *set, uint32_t rank)
{
    uint32_t at = (rank >> 6) + 1; /* the first word has no such member */

    for (uint32_t l = 1; l < set->levels; l++) {
        uint64_t word;
        if (at >> 6 >= set->words[l])
            return MV_NO_RANK;
        word = set->level[l][at >> 6] & ~(uint64_t)0 << (at & 63);
        if (word) {
            at = (at & ~63u) | lowest(word);
            while (l-- > 0)
                at = at << 6 | lowest(set->level[l][at]);
            return at;
        }
        at = (at >> 6) + 1;
    }
    return MV_NO_RANK;
}

uint32_t mv_rankset_prev_far(const mv_rankset *set, uint32_t rank)
{
    uint32_t at = rank;

    if (set->count == 0)
        return MV_NO_RANK;
    if (at >= set->count)
        at = set->count - 1;
    for (uint32_t l = 0; l < set->levels; l++) {
        uint64_t word = set->level[l][at >> 6] & ~(uint64_t)0 >> (63 - (at & 63));
        if (word) {
            at = (at & ~63u) | highest(word);
            while (l-- > 0)
                at = at << 6 | highest(set->level[l][at]);
            return at;
        }
        at >>= 6;
        if (at-- == 0)
            return MV_NO_RANK;
    }
    return MV_NO_RANK;
}
