/* Whether events belong to one call of the allocator: a request may release memory, take a segment
 * and allocate. In a pickle the rows of a call share one stack object; in files with a stack for
 * each row (plain .msgpack) they do not. In those files, neighbouring events with equal stacks
 * count as one call, because all events of a request have its stack; events without a stack do not
 * belong to a known call. */
#ifndef MV_SAME_CALL_H
#define MV_SAME_CALL_H

#include "parse/model/trace.h"

/* Whether any segment event shares its mv_events.call with the alloc that needed the
 * segment. O(n). */
bool mv_calls_have_ids(const mv_events *events);

/* Whether two neighbouring events belong to one call. `has_ids` comes from mv_calls_have_ids. */
bool mv_is_same_call(const mv_events *events, bool has_ids, uint32_t a, uint32_t b);

#endif
