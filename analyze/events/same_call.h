/* Whether events belong to one call of the allocator: a request that releases memory, takes a
 * segment and allocates. In a pickle the rows of a call share one stack object; in files with a
 * stack for each row (plain .msgpack) they do not. There, neighbouring events with equal stacks
 * count as one call: events of one kind of work, such as releases before a segment, have the stack
 * of their request. Events without a stack then belong to no known call. */
#ifndef MV_SAME_CALL_H
#define MV_SAME_CALL_H

#include "parse/model/trace.h"

/* Whether a segment and the alloc that needed it ever share a value of mv_events.call. O(n). */
bool mv_calls_have_ids(const mv_events *events);

/* Whether two neighbouring events belong to one call. `has_ids` is mv_calls_have_ids. */
bool mv_is_same_call(const mv_events *events, bool has_ids, uint32_t a, uint32_t b);

#endif
