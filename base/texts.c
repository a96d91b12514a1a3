#include "base/texts.h"

#include <xxhash.h>

#include "base/grow.h"

static uint32_t find(const mv_texts *texts, mv_span text, uint64_t hash)
{
    for (mv_probe p = mv_intern_start(&texts->rows, hash); mv_intern_next(&texts->rows, &p);) {
        mv_span old = texts->text[p.row];
        if (old.length == text.length && memcmp(old.data, text.data, text.length) == 0)
            return p.row;
    }
    return MV_NO_TEXT;
}

uint32_t mv_texts_add(mv_texts *texts, mv_span text)
{
    uint64_t hash = XXH3_64bits_withSeed(text.data, text.length, mv_hash_key());
    uint32_t row = find(texts, text, hash);
    const char *copy;

    if (row != MV_NO_TEXT)
        return row;
    texts->rows.arena = texts->arena;
    copy = mv_arena_text(texts->arena, (const char *)text.data, text.length);
    if (!copy || !mv_room(texts->arena, texts->text, texts->count, texts->capacity) ||
        !mv_intern_add(&texts->rows, hash, texts->count))
        return MV_NO_TEXT;
    texts->text[texts->count] = (mv_span){(const uint8_t *)copy, text.length};
    return texts->count++;
}
