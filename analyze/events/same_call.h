/* Finds out which events belong to the same allocator call. One request may release memory, take a
 * segment and allocate a block, and each of these actions is a separate event. In a pickle, the
 * rows of a call share one stack object. In files that have a separate stack for each row (plain
 * .msgpack), they do not. There, neighbouring events with equal stacks count as one call, because
 * all events of a request have the request's stack. Events without a stack do not belong to a known
 * call. */
#pragma once

#include "parse/model/trace.h"

/* Whether at least one segment event has the same mv_events.call as the alloc that needed the
 * segment. O(n). */
bool mv_calls_have_ids(const mv_events *events);

/* Whether two neighbouring events belong to one call. `has_ids` comes from mv_calls_have_ids. */
bool mv_is_same_call(const mv_events *events, bool has_ids, uint32_t a, uint32_t b);
