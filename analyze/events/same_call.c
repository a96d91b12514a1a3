#include "analyze/events/same_call.h"

#include "analyze/lives/address_ranks.h"

bool mv_calls_have_ids(const mv_events *events)
{
    for (uint32_t i = 1; i < events->count; i++)
        if (events->action[i] == MV_ACTION_ALLOC && mv_is_segment_action(events->action[i - 1]) &&
            events->call[i] != MV_NO_CALL && events->call[i] == events->call[i - 1])
            return true;
    return false;
}

bool mv_is_same_call(const mv_events *events, bool has_ids, uint32_t a, uint32_t b)
{
    mv_stack_id stack = events->stack[a];

    if (events->call[a] != MV_NO_CALL && events->call[a] == events->call[b])
        return true;
    return !has_ids && stack.row == events->stack[b].row && stack.row != MV_NO_STACK.row &&
           stack.row != MV_EMPTY_STACK.row;
}
