#include "analyze/replay/segment_kinds.h"

#include "base/text.h"

typedef struct {
    bool both;     /* some pool has segments of both kinds, so the setting was changed */
    bool expands;  /* some segment is expandable */
    uint32_t user; /* a MemPool without expandable segments, or MV_NO_ROW */
} segment_kinds;

enum { PLAIN = 1, EXPANDABLE = 2 };

bool mv_pool_is_of_user(const mv_trace *trace, mv_pool_id pool)
{
    const mv_pools *pools = &trace->pools;

    return pool.row < pools->count && pools->a[pool.row] == 0 && pools->b[pool.row] != 0;
}

bool mv_has_pools_of_user(const mv_trace *trace)
{
    for (uint32_t i = 0; i < trace->pools.count; i++)
        if (mv_pool_is_of_user(trace, (mv_pool_id){i}))
            return true;
    return false;
}

static bool find_kinds(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                       segment_kinds *out)
{
    const mv_segment_lives *s = &lives->segments;
    uint8_t *seen = mv_push_array(scratch, uint8_t, trace->pools.count);

    *out = (segment_kinds){.user = MV_NO_ROW};
    for (uint32_t i = 0; seen && i < s->count; i++)
        if (s->pool[i].row != MV_NO_ROW)
            seen[s->pool[i].row] |= s->is_expandable[i] ? EXPANDABLE : PLAIN;
    for (uint32_t i = 0; seen && i < trace->pools.count; i++) {
        out->both = out->both || seen[i] == (PLAIN | EXPANDABLE);
        out->expands = out->expands || seen[i] & EXPANDABLE;
        if (seen[i] == PLAIN && mv_pool_is_of_user(trace, (mv_pool_id){i}) &&
            out->user == MV_NO_ROW)
            out->user = i;
    }
    return seen != NULL;
}

const char *mv_segment_kinds_note(mv_arena *arena, const mv_trace *trace, const mv_lives *lives)
{
    segment_kinds kinds;
    mv_arena scratch;
    bool found;

    mv_arena_init(&scratch, arena->budget);
    found = find_kinds(&scratch, trace, lives, &kinds);
    mv_arena_release(&scratch);
    if (!found)
        return NULL;
    if (kinds.both)
        return "expandable_segments was changed while the program ran: a pool has segments of both "
               "kinds, and the replay has the last settings throughout";
    if (kinds.user == MV_NO_ROW)
        return "";
    return mv_arena_printf(
        arena,
        kinds.expands ? "pool (0, %llu) is not expandable although others are: a MemPool with an "
                        "allocator of "
                        "its own stays so under every setting"
                      : "pool (0, %llu) is of a MemPool: if that has an allocator of its own, "
                        "expandable_segments does not change it",
        (unsigned long long)trace->pools.b[kinds.user]);
}
