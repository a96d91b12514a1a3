/* Which events are of one call of the allocator: a request that gives memory back, takes a segment
 * and allocates. A pickle tells by the identity of the stack, which the rows of a call share; files
 * in which each row has a stack of its own (plain .msgpack) do not. There events of equal stacks
 * count as one call: neighbours of one kind of work, such as releases before a segment, have the
 * stack of the request that caused them. Events without a stack are then of no known call. */
#ifndef MV_SAME_CALL_H
#define MV_SAME_CALL_H

#include "parse/model/trace.h"

/* Whether a segment and the alloc that needed it ever share a call: mv_events.call tells. O(n). */
bool mv_calls_tell(const mv_events *events);

/* Whether two neighbours are of one call. `tells` is mv_calls_tell. */
bool mv_is_same_call(const mv_events *events, bool tells, uint32_t a, uint32_t b);

#endif
