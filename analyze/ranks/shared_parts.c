#include "analyze/ranks/shared_parts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/grow.h"

void mv_shared_parts_init(mv_shared_parts *shared, mv_budget *budget)
{
    *shared = (mv_shared_parts){.rows = {0}};
    mv_arena_init(&shared->arena, budget);
    shared->rows.arena = &shared->arena;
    pthread_mutex_init(&shared->lock, NULL);
}

void mv_shared_parts_release(mv_shared_parts *shared)
{
    mv_arena_release(&shared->arena);
    pthread_mutex_destroy(&shared->lock);
}

mv_part_key mv_part_key_of(mv_part_kind kind, uint64_t context, mv_span bytes)
{
    uint64_t seed = mv_mix(context, (uint32_t)kind) ^ mv_hash_key();
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data, bytes.length, seed);

    return (mv_part_key){hash.low64, hash.high64};
}

static const mv_shared_part *part_of(const mv_shared_parts *shared, mv_part_key key)
{
    uint32_t row = mv_map_find(&shared->rows, key.low);

    return row != MV_NOT_IN_MAP && shared->parts[row - 1].key.high == key.high
               ? &shared->parts[row - 1]
               : NULL;
}

static void copy_part(mv_part_kind kind, const mv_summary *of, mv_summary *out)
{
    if (kind == MV_PART_CODE) {
        out->code = of->code;
    } else if (kind == MV_PART_SITES) {
        out->sites = of->sites;
        out->site = of->site;
    } else {
        out->stride = of->stride;
        out->points = of->points;
        out->point = of->point;
        out->end = of->end;
    }
}

bool mv_shared_parts_find(mv_shared_parts *shared, mv_part_kind kind, mv_part_key key,
                          mv_summary *out)
{
    const mv_shared_part *part;

    pthread_mutex_lock(&shared->lock);
    part = part_of(shared, key);
    if (part)
        copy_part(kind, &part->of, out);
    pthread_mutex_unlock(&shared->lock);
    return part != NULL;
}

void mv_shared_parts_add(mv_shared_parts *shared, mv_part_key key, const mv_summary *of)
{
    pthread_mutex_lock(&shared->lock);
    if (mv_map_find(&shared->rows, key.low) == MV_NOT_IN_MAP &&
        mv_append(&shared->arena, shared->parts, shared->count, shared->capacity,
                  (mv_shared_part){key, *of}))
        mv_map_put(&shared->rows, key.low, shared->count);
    pthread_mutex_unlock(&shared->lock);
}
