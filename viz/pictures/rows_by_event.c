#include "viz/pictures/rows_by_event.h"

bool mv_rows_by_event_make(mv_arena *arena, const uint32_t *at, uint32_t rows, uint32_t events,
                           mv_rows_by_event *out)
{
    out->first = mv_push_array(arena, uint32_t, events);
    out->next = mv_push_array(arena, uint32_t, rows);
    if (!out->first || !out->next)
        return false;
    for (uint32_t i = 0; i < rows; i++)
        if (at[i] < events) {
            out->next[i] = out->first[at[i]];
            out->first[at[i]] = i + 1;
        }
    return true;
}
