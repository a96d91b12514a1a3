/* Stores equal parts of many ranks' summaries only once, because the ranks of a stage have the same
 * code, mostly the same sites, and often the same sequence. Several threads may use one
 * mv_shared_parts. */
#pragma once

#include "analyze/ranks/summary.h"
#include "base/map.h"

typedef enum { MV_PART_CODE, MV_PART_SITES, MV_PART_POINTS } mv_part_kind;

/* Identifies the bytes of a part by a 128-bit hash, whose key the author of a file cannot know
 * (base/intern.h). */
typedef struct {
    uint64_t low, high;
} mv_part_key;

typedef struct {
    mv_part_key key;
    mv_summary of; /* summary in which only the members of the part are set */
} mv_shared_part;

typedef struct {
    mv_arena arena;
    pthread_mutex_t lock;
    mv_map rows; /* row of `parts` + 1, by key.low */
    uint32_t count, capacity;
    mv_shared_part *parts;
} mv_shared_parts;

void mv_shared_parts_init(mv_shared_parts *shared, mv_budget *budget);
void mv_shared_parts_release(mv_shared_parts *shared);

/* Computes the key of a part. `context` contains further values that determine what the bytes
 * mean. */
mv_part_key mv_part_key_of(mv_part_kind kind, uint64_t context, mv_span bytes);

/* Finds a part that was added before, and copies its members to `out`. Returns false if there is no
 * such part. */
bool mv_shared_parts_find(mv_shared_parts *shared, mv_part_kind kind, mv_part_key key,
                          mv_summary *out);

/* Adds a part. Pointers into the memory of `of` are kept, so this memory must outlive `shared`.
 * When out of memory, the part is not shared. */
void mv_shared_parts_add(mv_shared_parts *shared, mv_part_key key, const mv_summary *of);
