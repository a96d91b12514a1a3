#include "analyze/thin/paused_heaps.h"

#include "base/bitmap.h"
#include "base/map.h"

/* Marks the calls to leave out. A block that is resized stays, and so does one that is freed by
 * resetting its heap. */
static bool find_dropped(mv_arena *scratch, const mv_heap_calls *c, const mv_pauses *pauses,
                         mv_bitmap *dropped)
{
    mv_map alive = {.arena = scratch}; /* by address: the row of its alloc, + 1; 0: it stays */

    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t born = mv_map_find(&alive, c->addr[i]), pause;
        if (c->action[i] == MV_HEAP_FREE && born != MV_NOT_IN_MAP && born > 0) {
            pause = mv_pause_at(pauses, c->time_us[i]);
            if (pause != MV_NO_ROW && pause == mv_pause_at(pauses, c->time_us[born - 1])) {
                mv_bitmap_set(dropped, born - 1);
                mv_bitmap_set(dropped, i);
            }
        }
        if (!mv_map_put(&alive, c->addr[i], c->action[i] == MV_HEAP_ALLOC ? i + 1 : 0))
            return false;
    }
    return true;
}

static bool copy(mv_arena *arena, const mv_heap_calls *from, const mv_bitmap *dropped,
                 mv_heap_calls *to)
{
    bool is_whole = true;
    uint32_t row = 0;

    for (uint32_t i = 0; i < from->count; i++)
        to->count += !mv_bitmap_has(dropped, i);
#define PUSH(T, number, name, kind, ...)                            \
    to->name = mv_push_array(arena, mv_value_of_##kind, to->count); \
    is_whole = is_whole && to->name;
    MV_HEAP_CALL_COLUMNS(PUSH, )
#undef PUSH
    for (uint32_t i = 0; is_whole && i < from->count; i++) {
        if (mv_bitmap_has(dropped, i))
            continue;
#define COPY(T, number, name, kind, ...) to->name[row] = from->name[i];
        MV_HEAP_CALL_COLUMNS(COPY, )
#undef COPY
        row++;
    }
    return is_whole;
}

mv_code mv_paused_heaps_thin(mv_arena *arena, mv_trace *trace, const mv_pauses *pauses,
                             uint64_t *left_out, mv_err *err)
{
    mv_heap_calls thinned = {0};
    mv_bitmap dropped;
    mv_arena scratch;
    bool fits;

    *left_out = 0;
    if (trace->heap_calls.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    fits = mv_bitmap_init(&scratch, trace->heap_calls.count, &dropped) &&
           find_dropped(&scratch, &trace->heap_calls, pauses, &dropped) &&
           copy(arena, &trace->heap_calls, &dropped, &thinned);
    mv_arena_release(&scratch);
    if (!fits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "heap calls");
    *left_out = trace->heap_calls.count - thinned.count;
    trace->heap_calls = thinned;
    return MV_OK;
}
