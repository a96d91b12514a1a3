/* Decides which kind of history a trace has, because the file does not record the kind.
 * docs/internals/lives.md explains the rules and their order. */
#include "analyze/lives/lives_sweep.h"

#include "base/search.h"
#include "capture/wire_folded.h"

enum { OFTEN = 2 }; /* this many complete ranges before the first event exclude chance */

typedef struct {
    uint32_t preexisting;
    uint32_t with_stack;    /* number of allocations and segments that are alive at the end and have
                             * a stack */
    uint32_t without_stack; /* number of allocations that are alive at the end and have no stack */
    bool is_missing_segment_events; /* with_stack counts only segments, and there are no segment
                                     * events */
} evidence;

static evidence gather(const mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    const mv_segment_lives *s = &r->lives->segments;
    evidence e = {.preexisting = a->preexisting};

    for (uint32_t i = 0; i < a->preexisting; i++) {
        if (a->completed[i] != MV_NEVER)
            continue;
        if (a->stack[i].row != MV_NO_ROW)
            e.with_stack++;
        else
            e.without_stack++;
    }
    e.is_missing_segment_events = e.preexisting == 0 && r->ranks.segment_events == 0;
    /* a mapped range may have the stack of a later range with which it was merged */
    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE && s->death[i] == MV_NEVER &&
            (!s->is_expandable[i] || e.is_missing_segment_events) && s->stack[i].row != MV_NO_ROW)
            e.with_stack++;
    return e;
}

static bool events_have_stacks(const mv_events *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->call[i] != MV_NO_CALL)
            return true;
    return false;
}

/* Whether the file describes the device's heap without addresses, as the files of PyTorch's
 * profiler do. */
static bool has_unplaced_segments(const mv_lives_sweep *r)
{
    const mv_segments *s = &r->trace->segments;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->device[i] == (int64_t)r->lives->device && s->address[i] == MV_NO_BYTES)
            return true;
    return false;
}

/* Whether a heap without addresses contains more bytes than the events explain. */
static bool has_unplaced_heap(const mv_lives_sweep *r)
{
    return r->lives->doubts.residual > 0 && mv_rankset_next(&r->final.starts, 0) == MV_NO_RANK;
}

static bool is_empty_before(const mv_lives_sweep *r, const evidence *e)
{
    const mv_segment_lives *s = &r->lives->segments;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            return false;
    return e->preexisting == 0 && !has_unplaced_heap(r);
}

/* Whether a number is a typical size of a ring buffer, such as 500, 65536 or 100000. About 1 % of
 * all numbers are; if `rare` is set, 0.1 %. */
static bool is_ring_size(uint32_t count, bool rare)
{
    uint32_t digits = count, zeros = 0;

    if ((count & (count - 1)) == 0 && count >= (rare ? 1024u : 256u))
        return true;
    for (; digits && digits % 10 == 0; digits /= 10)
        zeros++;
    return digits < 100 && zeros >= (rare ? 3u : 2u);
}

/* Whether the trace starts within an allocator call. Frees that waited for a stream complete at the
 * start of a later call, so a trace may begin with such frees if the events of that call follow. */
static bool starts_inside_call(const mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    const mv_events *ev = &r->ev;
    uint32_t i = 0;

    if (!r->has_requested)
        return false;
    while (i < ev->count && ev->action[i] == MV_ACTION_FREE_COMPLETED) {
        uint32_t row = r->lives->alloc_of[i];
        if (row == MV_NO_ROW || a->birth[row] != MV_BEFORE)
            return false;
        i++;
    }
    if (i == 0 || i == ev->count)
        return i > 0;
    if (ev->action[i] == MV_ACTION_FREE_REQUESTED || ev->action[i] == MV_ACTION_SNAPSHOT ||
        ev->action[i] == MV_ACTION_ANNOTATE)
        return true;
    return ev->call[i] != MV_NO_CALL && ev->call[i] != ev->call[i - 1];
}

/* ---- annotations ------------------------------------------------------------------------- */

typedef struct {
    int64_t begun;   /* time of the open START, or MV_NO_TIME */
    uint32_t before; /* number of complete ranges that end before the first event */
    uint32_t busy;   /* number of later ranges that contain events */
    uint32_t idle;   /* number of later ranges without events */
} range_count;

/* Returns the first event at or after `time`. Requires ascending times, as real traces have. */
static uint32_t event_after(const mv_events *ev, int64_t time)
{
    return (uint32_t)mv_lower_bound_i64(ev->time_us, ev->count, time);
}

static void count_range(const mv_lives_sweep *r, range_count *c, int64_t end)
{
    uint32_t first = event_after(&r->ev, c->begun);

    if (end < r->ev.time_us[0])
        c->before++;
    else if (first > 0 && first < r->ev.count && r->ev.time_us[first] <= end)
        c->busy++;
    else if (first > 0 && first < r->ev.count)
        c->idle++;
    c->begun = MV_NO_TIME;
}

/* Whether there are ranges whose events are lost. Annotations are recorded together with events,
 * but into a separate buffer. If all ranges of one name contain events, except for several that lie
 * before the first event, the events of those earlier ranges are lost. */
static bool has_ranges_without_events(const mv_lives_sweep *r, bool *result)
{
    const mv_annotations *an = &r->trace->annotations;
    range_count *counts;

    *result = false;
    if (an->count == 0 || r->ev.count == 0 || r->ev.time_us[0] == MV_NO_TIME)
        return true;
    counts = mv_push_array(r->scratch, range_count, r->trace->strings.count);
    if (!counts)
        return false;
    for (uint32_t i = 0; i < r->trace->strings.count; i++)
        counts[i].begun = MV_NO_TIME;
    for (uint32_t i = 0; i < an->count; i++) {
        range_count *c;
        if (an->name[i].row == MV_NO_ROW || an->device[i] != (int64_t)r->lives->device)
            continue;
        c = &counts[an->name[i].row];
        if (an->stage[i] == MV_STAGE_START)
            c->begun = an->time_us[i];
        else if (an->stage[i] == MV_STAGE_END && c->begun != MV_NO_TIME)
            count_range(r, c, an->time_us[i]);
    }
    for (uint32_t i = 0; i < r->trace->strings.count; i++)
        *result |= counts[i].before >= OFTEN && counts[i].busy > 0 && counts[i].idle == 0;
    return true;
}

/* ---- the buffer -------------------------------------------------------------------------- */

/* Whether the event buffer was full. PyTorch keeps the last `max_entries` events of each device,
 * and the limit is the same for all devices. Therefore, a device with fewer events than another
 * device still has all of its events. */
typedef enum { MAYBE_FULL, FULL, NOT_FULL } fullness;

static uint32_t most_events(const mv_trace *trace)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].events.count > most)
            most = trace->devices[i].events.count;
    return most;
}

/* Returns what the file itself records: PyTorch after 2.14 may record whether the buffer was full
 * (PR 179276). */
static fullness recorded_fullness(const mv_lives_sweep *r, bool has_most)
{
    const mv_settings *s = &r->trace->settings;
    uint32_t limit = mv_setting_find(r->trace, NULL, "trace_alloc_max_entries");
    uint32_t flag = mv_setting_find(r->trace, NULL, "trace_alloc_overflowed");

    if (flag != MV_NO_ROW && s->kind[flag] == MV_SETTING_BOOL)
        return s->integer[flag] && has_most ? FULL : NOT_FULL;
    if (limit != MV_NO_ROW && s->kind[limit] == MV_SETTING_INT && s->integer[limit] > 0)
        return r->recorded >= (uint64_t)s->integer[limit] ? FULL : NOT_FULL;
    return MAYBE_FULL;
}

static fullness fullness_of(const mv_lives_sweep *r)
{
    bool has_most = r->ev.count == most_events(r->trace);

    if (r->is_captured || !has_most)
        return NOT_FULL;
    return recorded_fullness(r, has_most);
}

/* Whether these could be a device's first events, which is the case if nothing is allocated or
 * freed before the first segment is added. */
static bool begins_fresh(const mv_events *ev)
{
    for (uint32_t i = 0; i < ev->count; i++)
        switch (ev->action[i]) {
        case MV_ACTION_SEGMENT_ALLOC:
        case MV_ACTION_SEGMENT_MAP:
            return true;
        case MV_ACTION_ALLOC:
        case MV_ACTION_FREE_REQUESTED:
        case MV_ACTION_FREE_COMPLETED:
        case MV_ACTION_SEGMENT_FREE:
        case MV_ACTION_SEGMENT_UNMAP:
            return false;
        default:
            break;
        }
    return true;
}

/* Whether another device has the same number of events, while at least one of the two event lists
 * does not begin with a fresh heap. This number is then the size of the buffer. */
static bool has_full_peer(const mv_lives_sweep *r)
{
    bool is_fresh = begins_fresh(&r->ev);

    for (uint32_t i = 0; i < r->trace->device_count; i++) {
        const mv_events *ev = &r->trace->devices[i].events;
        if (i != r->lives->device && ev->count == r->ev.count && !(is_fresh && begins_fresh(ev)))
            return true;
    }
    return false;
}

/* ---- the decision ------------------------------------------------------------------------ */

static void decide(mv_lives_sweep *r, mv_history_kind kind, uint32_t ring, const char *why)
{
    r->lives->history = kind;
    r->lives->ring = ring;
    r->lives->history_why = why;
}

static bool is_full(const mv_lives_sweep *r, fullness full, uint32_t ring)
{
    return full == FULL || (ring && (is_ring_size(ring, false) || has_full_peer(r)));
}

/* Decides the history if memory from before the first event has stacks, which means that there were
 * earlier events. Some events are lost if the buffer was full, and also if recording was stopped
 * and restarted; both produce the same file. */
static void decide_recorded_before(mv_lives_sweep *r, fullness full, uint32_t ring)
{
    if (is_full(r, full, ring))
        decide(r, MV_HISTORY_TRUNCATED, ring, "older events were dropped: the buffer was full");
    else if (ring)
        decide(r, MV_HISTORY_TRUNCATED, 0,
               "memory from before the first event has stacks: the buffer was full, or recording "
               "was restarted");
    else
        decide(r, MV_HISTORY_TRUNCATED, 0,
               "memory from before the first event has stacks, so there were older events");
}

/* Explains why the heap before the first event counts as empty. A log of another allocator's calls
 * shows earlier blocks only through their frees; PyTorch's profiler also writes totals. */
static const char *why_empty(const mv_lives_sweep *r)
{
    if (!mv_trace_is_missing_reserved(r->trace) ||
        mv_fact_of_device(r->trace, MV_FACT_PEAK, r->lives->device) > 0)
        return "the heap was empty before the first event";
    return "no block from before the first event was freed; others from that time are not visible";
}

/* Names the events that are known to be missing. */
static const char *why_lost(const mv_lives_sweep *r)
{
    const char *allocator = mv_trace_allocator(r->trace);

    if (!allocator)
        return "events are lost in damaged parts of the file";
    return strcmp(allocator, "rmm") == 0
               ? "events are missing: the log was cut, damaged or incomplete"
               : "events are missing from the profile, as its totals or damaged events show";
}

/* Whether blocks lie outside every known segment although the file records when segments are added.
 * These blocks are in segments that were added before the first event and whose end is not
 * recorded. */
static bool uses_older_segments(const mv_lives_sweep *r)
{
    return r->adds_segments && !r->is_captured && r->lives->doubts.outside > 0;
}

/* Whether segments ended without an event and no end of a segment was recorded. A segment from
 * before the first event would then be invisible. */
static bool is_missing_segment_ends(const mv_lives_sweep *r)
{
    return r->lives->doubts.residual_reserved < 0 &&
           !mv_events_have(&r->ev, MV_ACTION_SEGMENT_FREE) &&
           !mv_events_have(&r->ev, MV_ACTION_SEGMENT_UNMAP);
}

/* Decides the history if the heap was empty before the first event. This is the beginning of the
 * history, unless events were dropped, because the heap may then have been used and emptied
 * earlier. A single event is never a complete history, unless it is a failed request. */
static void decide_empty(mv_lives_sweep *r, fullness full)
{
    uint32_t count = (uint32_t)r->recorded;

    if (count == 1 && full != NOT_FULL && r->ev.action[0] != MV_ACTION_OOM)
        decide(r, MV_HISTORY_TRUNCATED, 1,
               "only the last event was kept, as with enabled='state' or max_entries=1");
    else if (full == FULL || (full == MAYBE_FULL && has_full_peer(r)))
        decide(r, MV_HISTORY_TRUNCATED, count,
               "older events were dropped: the buffer was full, though the heap was empty then");
    else if (mv_fact_of_device(r->trace, MV_FACT_PEAK_BEFORE, r->lives->device) > 0)
        decide(r, MV_HISTORY_LATE, 0,
               "the allocator had allocated memory, and freed it, before recording began");
    else if (uses_older_segments(r))
        decide(r, MV_HISTORY_LATE, 0, "blocks lie in segments from before the first event");
    else if (!r->lives->has_no_heap && is_missing_segment_ends(r))
        decide(r, MV_HISTORY_LATE, 0,
               "segments were freed without an event, so earlier ones cannot be excluded");
    else if (!r->lives->has_no_heap)
        decide(r, MV_HISTORY_COMPLETE, 0, why_empty(r));
    else if (begins_fresh(&r->ev))
        decide(r, MV_HISTORY_COMPLETE, 0,
               "the heap was empty before the first event, as far as the events show: the file "
               "has no final heap");
    else
        decide(r, MV_HISTORY_LATE, 0,
               "the first events use segments from before them; the file has no final heap");
}

static void decide_used(mv_lives_sweep *r, const evidence *e, fullness full, bool lost_ranges)
{
    bool unrecorded_survive = e->without_stack > 0 && events_have_stacks(&r->ev);
    uint32_t ring = full == NOT_FULL ? 0 : (uint32_t)r->recorded;

    r->lives->is_missing_segment_events =
        ring != 1 && e->is_missing_segment_events && e->with_stack > 0 && !is_full(r, full, ring);
    if (ring == 1)
        decide(r, MV_HISTORY_TRUNCATED, ring,
               "only the last event was kept, as with enabled='state' or max_entries=1");
    else if (r->lives->is_missing_segment_events)
        decide(r, MV_HISTORY_TRUNCATED, 0,
               "the segments have stacks, but the file contains no segment events: they were not "
               "recorded (skip_actions), or older events were dropped");
    else if (full == FULL || e->with_stack > 0)
        decide_recorded_before(r, full, ring);
    else if (lost_ranges)
        decide(r, MV_HISTORY_TRUNCATED, ring,
               "annotated ranges from before the first event show that events there are lost");
    else if (ring && is_ring_size(ring, unrecorded_survive))
        decide(r, MV_HISTORY_TRUNCATED, ring,
               "the heap was in use before the first event, and the number of events is a "
               "likely limit (max_entries)");
    else if (starts_inside_call(r))
        decide(r, MV_HISTORY_TRUNCATED, ring, "the first event is not the first of its call");
    else
        decide(r, MV_HISTORY_LATE, 0, "the heap was in use when recording began");
}

/* Whether blocks were allocated although neither the events nor the final heap show any segment. */
static bool has_blocks_without_segments(const mv_lives_sweep *r)
{
    return !r->is_captured && r->lives->doubts.outside > 0 && !mv_lives_has_segments(r) &&
           !has_unplaced_segments(r);
}

/* Whether alloc events are missing. PyTorch adds a segment only for a request, and the alloc event
 * of that request is the device's next event. */
static bool is_missing_allocs(const mv_lives_sweep *r)
{
    const mv_lives *lives = r->lives;

    if (r->ev.count == 0 || r->ranks.alloc_events > 0 || r->is_captured)
        return false;
    return (lives->history != MV_HISTORY_TRUNCATED &&
            (lives->doubts.lone_frees > 0 || lives->doubts.residual > 0)) ||
           r->adds_segments;
}

static bool is_about_memory(uint8_t action)
{
    return action == MV_ACTION_ALLOC || action == MV_ACTION_FREE_REQUESTED ||
           action == MV_ACTION_FREE_COMPLETED || action == MV_ACTION_SEGMENT_ALLOC ||
           action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_MAP ||
           action == MV_ACTION_SEGMENT_UNMAP;
}

/* Whether the events about memory are missing. skip_actions applies to all devices, so if another
 * device has such events, an idle device is not missing any. */
static bool is_missing_memory_events(const mv_lives_sweep *r)
{
    if (r->ev.count == 0)
        return false;
    for (uint32_t i = 0; i < r->ev.count; i++)
        if (is_about_memory(r->ev.action[i]))
            return false;
    for (uint32_t d = 0; d < mv_trace_devices(r->trace); d++) {
        mv_events events = mv_trace_events(r->trace, d);

        for (uint32_t i = 0; i < events.count; i++)
            if (is_about_memory(events.action[i]))
                return false;
    }
    return true;
}

bool mv_lives_history(mv_lives_sweep *r)
{
    evidence e = gather(r);
    fullness full = fullness_of(r);
    bool lost_ranges;

    if (!has_ranges_without_events(r, &lost_ranges))
        return false;
    if (r->trace->notes[MV_NOTE_LOST_EVENTS].count > 0)
        decide(r, r->ev.count ? MV_HISTORY_TRUNCATED : MV_HISTORY_NONE, 0, why_lost(r));
    else if (r->ev.count == 0)
        decide(r, MV_HISTORY_NONE, 0, "no history was recorded");
    else if (mv_fact_find(r->trace, MV_FACT_FOLDED))
        decide(r, MV_HISTORY_TRUNCATED, 0,
               "older events were folded: only those of memory that stayed alive are in the file");
    else if (is_empty_before(r, &e))
        decide_empty(r, full);
    else
        decide_used(r, &e, full, lost_ranges);
    r->lives->is_missing_allocs = is_missing_allocs(r);
    r->lives->is_missing_memory_events = is_missing_memory_events(r);
    r->lives->is_missing_segment_events |= has_blocks_without_segments(r);
    return true;
}
