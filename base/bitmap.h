/* A bitmap that can also count the set bits below any bit. For this purpose it has a directory with
 * one count for every 512 bits. The directory makes the bitmap one sixteenth larger. */
#pragma once

#include "base/arena.h"

#define MV_BITMAP_SPAN 512 /* number of bits per directory entry, which is one cache line */

typedef struct {
    uint32_t count;  /* the bitmap has bits 0 to count - 1 */
    uint64_t *word;  /* [count / 64, rounded up] bit i is in word[i / 64] */
    uint32_t *below; /* [count / 512 + 1] number of bits set below 512 * i; valid after
                      * mv_bitmap_tally */
} mv_bitmap;

/* Creates a bitmap in which all bits are clear. False when out of memory. */
bool mv_bitmap_init(mv_arena *arena, uint32_t count, mv_bitmap *out);

/* Builds the directory. Must be called after all bits are set. */
void mv_bitmap_tally(mv_bitmap *map);

static inline void mv_bitmap_set(mv_bitmap *map, uint32_t at)
{
    map->word[at >> 6] |= (uint64_t)1 << (at & 63);
}

static inline bool mv_bitmap_has(const mv_bitmap *map, uint32_t at)
{
    return map->word[at >> 6] >> (at & 63) & 1;
}

/* Returns the number of set bits below `at`, which must be at most `count`. Reads at most eight
 * words. */
uint32_t mv_bitmap_below(const mv_bitmap *map, uint32_t at);

/* Returns the first set bit in [from, end); `end` if there is none. */
uint32_t mv_bitmap_next(const mv_bitmap *map, uint32_t from, uint32_t end);
