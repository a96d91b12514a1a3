#include "base/grow.h"

#include <string.h>

/* The first rows fill about a page, because the block takes a whole page anyway. */
enum { FIRST_BYTES = 4000 };

/* Returns the next capacity, which is at least `wanted`. The arena refuses sizes that are too
 * large. */
static uint64_t next_capacity(uint64_t capacity, uint64_t wanted, uint64_t size)
{
    uint64_t next = capacity + capacity / 2 + FIRST_BYTES / (size ? size : 1);

    return next > wanted ? next : wanted;
}

static bool grow(mv_arena *arena, void *rows, uint64_t capacity, uint64_t size)
{
    void *old, *grown;
    uint64_t bytes;

    if (__builtin_mul_overflow(capacity, size, &bytes) || bytes > UINT64_MAX / 2)
        return false;
    memcpy(&old, rows, sizeof old);
    grown = mv_arena_grow(arena, old, bytes);
    if (!grown)
        return false;
    memcpy(rows, &grown, sizeof grown);
    return true;
}

bool mv_grow_u64(mv_arena *arena, void *rows, uint64_t *capacity, uint64_t wanted, uint64_t size)
{
    uint64_t next = next_capacity(*capacity, wanted, size);

    if (!grow(arena, rows, next, size))
        return false;
    *capacity = next;
    return true;
}

bool mv_grow_u32(mv_arena *arena, void *rows, uint32_t *capacity, uint64_t wanted, uint64_t size)
{
    uint64_t next = next_capacity(*capacity, wanted, size);

    if (next > UINT32_MAX)
        next = UINT32_MAX;
    if (wanted > next || !grow(arena, rows, next, size))
        return false;
    *capacity = (uint32_t)next;
    return true;
}
