#include "view/document/level_calls.h"

/* Whether event `next` belongs to the same call as `event`. */
static bool continues(const mv_events *e, uint32_t event, uint32_t next)
{
    static const uint8_t after[][2] = {{MV_ACTION_SEGMENT_ALLOC, MV_ACTION_ALLOC},
                                       {MV_ACTION_FREE_REQUESTED, MV_ACTION_FREE_COMPLETED},
                                       {MV_ACTION_FREE_COMPLETED, MV_ACTION_SEGMENT_FREE}};

    if (e->addr[event] != e->addr[next] || e->size[event] != e->size[next])
        return false;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        if (e->action[event] == after[i][0] && e->action[next] == after[i][1])
            return true;
    return false;
}

uint32_t mv_call_last(const mv_trace *trace, const mv_events *e, uint32_t event)
{
    if (!trace->origin.level || event >= e->count)
        return event;
    while (event + 1 < e->count && continues(e, event, event + 1))
        event++;
    return event;
}

uint32_t mv_call_first(const mv_trace *trace, const mv_events *e, uint32_t event)
{
    if (!trace->origin.level || event >= e->count)
        return event;
    while (event > 0 && continues(e, event - 1, event))
        event--;
    return event;
}

const char *mv_call_action(const mv_trace *trace, const mv_events *e, uint32_t event)
{
    uint32_t first = mv_call_first(trace, e, event);
    mv_action action = (mv_action)e->action[event];

    if (first == mv_call_last(trace, e, event))
        return mv_action_name(action);
    return e->action[first] == MV_ACTION_SEGMENT_ALLOC ? mv_action_name(MV_ACTION_ALLOC) : "free";
}

uint32_t mv_call_count(const mv_trace *trace, const mv_events *e)
{
    uint32_t count = 0;

    for (uint32_t i = 0; trace->origin.level && i < e->count; i++)
        count += i + 1 == e->count || !continues(e, i, i + 1);
    return count;
}
