/* The digest of a device's events: the figures about them that `memviz info` prints. A container
 * stores it (docs/internals/snapshot-format.md, DIGEST), so that readers that need only the digest
 * can skip the events (mv_read_opts.digest_suffices). */
#ifndef MV_DIGEST_H
#define MV_DIGEST_H

#include <string.h>

#include "parse/model/trace.h"

enum { MV_DIGEST_WHY = 192 }; /* bytes of a sentence, including its NUL */

/* Version of the rules in analyze/lives/lives_history.c: raise it when a trace may be given another
 * history than by the previous release. Digests with other rules are ignored. */
enum { MV_DIGEST_RULES = 1, MV_DIGEST_HISTORIES = 4 /* MV_HISTORY_COUNT */ };
enum { MV_DIGEST_COMPLETE = 0 }; /* MV_HISTORY_COMPLETE */

typedef struct mv_digest {
    int64_t first_us, last_us; /* earliest and latest time; MV_NO_TIME: no event has a time */
    uint32_t stacks;           /* distinct stacks */
    uint32_t events_with_stack;
    uint32_t unsorted;       /* events that are earlier than the one before them */
    uint32_t first_unsorted; /* the first of them, if any */
    uint32_t count[MV_ACTION_COUNT];
    uint64_t bytes[MV_ACTION_COUNT]; /* sum of the sizes, at most UINT64_MAX */

    /* From the lifetimes (analyze/lives/lives.h); not set by mv_digest_events. */
    uint32_t history; /* mv_history_kind */
    uint32_t ring;
    char history_why[MV_DIGEST_WHY];
} mv_digest;

/* Fills everything except the history, in one pass over the events. False when out of memory. */
bool mv_digest_events(mv_arena *scratch, const mv_trace *trace, const mv_events *events,
                      mv_digest *out);

/* Whether any event of any device has this action; from the digests if the events were left out. */
bool mv_trace_has_action(const mv_trace *trace, mv_action action);

/* The first event from `from` on with this action; events->count if there is none. For rare
 * actions: the search runs at the speed of memory. */
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

/* Whether any event of any device has a time; also from the digests. */
bool mv_trace_has_times(const mv_trace *trace);

#endif
