#include "base/bitmap.h"

enum { SPAN_WORDS = MV_BITMAP_SPAN / 64 };

bool mv_bitmap_init(mv_arena *arena, uint32_t count, mv_bitmap *out)
{
    *out = (mv_bitmap){.count = count};
    out->word = mv_push_array(arena, uint64_t, (uint64_t)count / 64 + 1);
    out->below = mv_push_array(arena, uint32_t, (uint64_t)count / MV_BITMAP_SPAN + 1);
    return out->word && out->below;
}

void mv_bitmap_tally(mv_bitmap *map)
{
    uint32_t words = map->count / 64 + 1, sum = 0;

    for (uint32_t w = 0; w < words; w++) {
        if (w % SPAN_WORDS == 0)
            map->below[w / SPAN_WORDS] = sum;
        sum += (uint32_t)__builtin_popcountll(map->word[w]);
    }
}

uint32_t mv_bitmap_below(const mv_bitmap *map, uint32_t at)
{
    uint32_t last = at / 64, sum = map->below[at / MV_BITMAP_SPAN];

    for (uint32_t w = last / SPAN_WORDS * SPAN_WORDS; w < last; w++)
        sum += (uint32_t)__builtin_popcountll(map->word[w]);
    return sum + (uint32_t)__builtin_popcountll(map->word[last] & (((uint64_t)1 << (at & 63)) - 1));
}

uint32_t mv_bitmap_next(const mv_bitmap *map, uint32_t from, uint32_t end)
{
    uint32_t w = from / 64;
    uint64_t word;

    if (from >= end)
        return end;
    word = map->word[w] & ~(uint64_t)0 << (from & 63);
    while (!word) {
        if (++w > (end - 1) / 64)
            return end;
        word = map->word[w];
    }
    from = w * 64 + (uint32_t)__builtin_ctzll(word);
    return from < end ? from : end;
}
