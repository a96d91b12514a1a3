/* The digest of a device's events: the numbers that `memviz info` prints about them. A container
 * stores the digest (docs/internals/snapshot-format.md, DIGEST), so that readers that need nothing
 * else can skip the events (mv_read_opts.digest_suffices). */
#pragma once

#include <string.h>

#include "parse/model/trace.h"

enum { MV_DIGEST_WHY = 192 }; /* size of a sentence in bytes, including its NUL */

/* Version of the rules in analyze/lives/lives_history.c. Must be raised whenever a trace may be
 * given a different history than by the previous release. Digests with a different version are
 * ignored. */
enum { MV_DIGEST_RULES = 1, MV_DIGEST_HISTORIES = 4 /* MV_HISTORY_COUNT */ };
enum { MV_DIGEST_COMPLETE = 0 }; /* MV_HISTORY_COMPLETE */

typedef struct mv_digest {
    int64_t first_us, last_us; /* earliest and latest time; MV_NO_TIME: no event has a time */
    uint32_t stacks;           /* number of distinct stacks in the events */
    uint32_t events_with_stack;
    uint32_t unsorted;       /* number of events that are earlier than the event before them */
    uint32_t first_unsorted; /* number of the first such event, if there is one */
    uint32_t count[MV_ACTION_COUNT];
    uint64_t bytes[MV_ACTION_COUNT]; /* sum of the sizes of the events with each action, at most
                                      * UINT64_MAX */

    /* The history comes from the lifetimes (analyze/lives/lives.h), and is not set by
     * mv_digest_events. */
    uint32_t history; /* mv_history_kind */
    uint32_t ring;
    char history_why[MV_DIGEST_WHY];
} mv_digest;

/* Fills everything except the history, in one pass over the events. Returns false when out of
 * memory. */
bool mv_digest_events(mv_arena *scratch, const mv_trace *trace, const mv_events *events,
                      mv_digest *out);

/* Returns true if any event of any device has this action. If the events were left out, the digests
 * are used. */
bool mv_trace_has_action(const mv_trace *trace, mv_action action);

/* Returns the first event at or after `from` that has this action; events->count if there is none.
 * If the action is rare, the search is as fast as reading memory. */
static inline uint32_t mv_next_action(const mv_events *events, uint32_t from, mv_action action)
{
    const uint8_t *found =
        from < events->count ? memchr(events->action + from, action, events->count - from) : NULL;

    return found ? (uint32_t)(found - events->action) : events->count;
}

static inline bool mv_events_have(const mv_events *events, mv_action action)
{
    return mv_next_action(events, 0, action) < events->count;
}

/* Returns true if any event of any device has a time. If the events were left out, the digests are
 * used. */
bool mv_trace_has_times(const mv_trace *trace);
