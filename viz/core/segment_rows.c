#include "viz/core/segment_rows.h"

#include "base/sort.h"

/* Compares segments by birth. Rows from before the first event come first, sorted by address, as
 * for allocations. */
static int by_birth(const void *left, const void *right, const void *lives)
{
    const mv_segment_lives *s = &((const mv_lives *)lives)->segments;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (s->birth[a] != s->birth[b])
        return s->birth[a] + 1 < s->birth[b] + 1 ? -1 : 1;
    return (s->addr[a] > s->addr[b]) - (s->addr[a] < s->addr[b]);
}

mv_code mv_segment_lives_as_allocs(mv_arena *arena, const mv_lives *lives, mv_lives *out,
                                   mv_err *err)
{
    const mv_segment_lives *s = &lives->segments;
    mv_alloc_lives *a = &out->allocs;

    *out = *lives;
    out->alloc_of = NULL; /* events refer to allocations, not to these rows */
    *a = (mv_alloc_lives){.count = s->count};
    a->segment = mv_push_array(arena, uint32_t, s->count);
    a->addr = mv_push_array(arena, uint64_t, s->count);
    a->block = mv_push_array(arena, uint64_t, s->count);
    a->stack = mv_push_array(arena, mv_stack_id, s->count);
    a->birth = mv_push_array(arena, uint32_t, s->count);
    a->freed = mv_push_array(arena, uint32_t, s->count);
    a->inexact = mv_push_array(arena, uint8_t, s->count);
    if (!a->segment || !a->addr || !a->block || !a->stack || !a->birth || !a->freed || !a->inexact)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "segment timeline");
    for (uint32_t i = 0; i < s->count; i++)
        a->segment[i] = i;
    mv_sort_by(arena, a->segment, s->count, sizeof *a->segment, by_birth, lives);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t row = a->segment[i];
        a->addr[i] = s->addr[row];
        a->block[i] = s->size[row];
        a->stack[i] = s->stack[row];
        a->birth[i] = s->birth[row];
        a->freed[i] = s->death[row];
        a->preexisting += s->birth[row] == MV_BEFORE;
    }
    a->requested = a->block;
    a->completed = a->freed;
    return MV_OK;
}
