#include "parse/model/versions.h"

#include "base/map.h"

enum { AHEAD = 8 }; /* number of events by which the counts of addresses are fetched ahead */

mv_code mv_versions_find(mv_arena *arena, const mv_events *events, uint32_t first, uint32_t from,
                         uint32_t end, const mv_opening *opening, uint32_t *out)
{
    mv_map allocs = {.arena = arena}; /* with an opening, one more than the number, so that it is
                                       * 0 only for a new address */
    uint32_t extra = opening ? 1 : 0, found = 0;

    for (uint32_t i = first; i < end; i++) {
        bool is_alloc = events->action[i] == MV_ACTION_ALLOC;
        uint32_t *count = NULL;
        if (end - i > AHEAD)
            mv_map_prefetch(&allocs, events->addr[i + AHEAD]);
        if (is_alloc || (i >= from && mv_action_has_version(events->action[i]))) {
            count = mv_map_value(&allocs, events->addr[i]);
            if (!count)
                return MV_NOMEM;
            if (opening && *count == 0) {
                if (found == opening->count)
                    return MV_CORRUPT;
                *count = opening->allocs[found++] + 1;
            }
            *count += is_alloc;
        }
        if (i >= from)
            out[i - from] = count ? *count - extra : 0;
    }
    mv_arena_drop(arena, allocs.slots);
    return opening && found != opening->count ? MV_CORRUPT : MV_OK;
}
