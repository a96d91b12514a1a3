#include "analyze/oom/oom_failures.h"
#include "base/sort.h"
#include "parse/model/digest.h"

#include "analyze/heap/segment_growth.h"
#include "analyze/replay/replay_script.h"

#define OUT_OF_MEMORY 2 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_window window;
    mv_ooms *out;
} listing;

/* ---- events ------------------------------------------------------------------------------ */

static void list_events(listing *l)
{
    const mv_events *ev = &l->lives->events;
    uint32_t number = 0;

    for (uint32_t i = 0; i < l->window.end && i < ev->count; i++) {
        number += ev->action[i] == MV_ACTION_OOM;
        if (i >= l->window.first && ev->action[i] == MV_ACTION_OOM)
            l->out->ooms[l->out->count++] = (mv_oom){.event = i,
                                                     .number = number,
                                                     .api_call = MV_NO_ROW,
                                                     .time_us = ev->time_us[i],
                                                     .stack = ev->stack[i],
                                                     .requested = ev->size[i],
                                                     .segment = mv_segment_size_for(ev->size[i]),
                                                     .device_free = ev->addr[i]};
    }
}

/* ---- calls that the device refused ------------------------------------------------------- */

static bool requests_memory(const mv_api_calls *c, uint32_t row, uint32_t device)
{
    uint8_t action = c->action[row];

    return c->device[row] == (int64_t)device &&
           (action == MV_API_ALLOC || action == MV_API_ALLOC_ASYNC ||
            action == MV_API_ALLOC_MANAGED || action == MV_API_CREATE);
}

static bool gives_back(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP ||
           action == MV_ACTION_FREE_COMPLETED || action == MV_ACTION_FREE_REQUESTED;
}

/* Returns, for each event, the first event at or after it that does more than release memory. */
static uint32_t *find_answers(mv_arena *scratch, const mv_events *ev)
{
    uint32_t *answer = mv_push_array(scratch, uint32_t, (uint64_t)ev->count + 1);

    if (!answer)
        return NULL;
    answer[ev->count] = ev->count;
    for (uint32_t i = ev->count; i-- > 0;)
        answer[i] = gives_back(ev->action[i]) ? answer[i + 1] : i;
    return answer;
}

/* Whether an event shows the outcome of a refused call. After a refusal, the allocator releases
 * memory and tries again. If this helps, its next event is a segment of the same size; otherwise,
 * it is an oom event, which is listed already. */
static bool is_answered(const listing *l, const uint32_t *answer, uint32_t call)
{
    const mv_events *ev = &l->lives->events;
    uint32_t event = answer[l->trace->api_calls.event[call]];

    if (event == ev->count)
        return false;
    if (ev->action[event] == MV_ACTION_OOM)
        return true;
    return mv_is_growth_action(ev->action[event]) &&
           ev->size[event] == l->trace->api_calls.size[call];
}

static void add_call(listing *l, const uint32_t *answer, uint32_t call)
{
    const mv_api_calls *c = &l->trace->api_calls;

    if (c->event[call] < l->window.first || c->event[call] > l->window.end ||
        is_answered(l, answer, call))
        return;
    l->out->ooms[l->out->count++] = (mv_oom){.event = c->event[call],
                                             .api_call = call,
                                             .time_us = c->time_us[call],
                                             .stack = c->stack[call],
                                             .requested = c->size[call],
                                             .segment = c->size[call],
                                             .device_free = MV_NO_BYTES};
}

/* Lists the refused calls. If several attempts for the same size follow each other, only the last
 * one counts, and it is listed only if it fails. */
static void list_calls(listing *l, const uint32_t *answer)
{
    const mv_api_calls *c = &l->trace->api_calls;
    uint32_t refused = MV_NO_ROW;

    for (uint32_t i = 0; i < c->count; i++) {
        if (!requests_memory(c, i, l->lives->device))
            continue;
        if (refused != MV_NO_ROW && c->size[i] != c->size[refused])
            add_call(l, answer, refused);
        refused = c->result[i] == OUT_OF_MEMORY ? i : MV_NO_ROW;
    }
    if (refused != MV_NO_ROW)
        add_call(l, answer, refused);
}

static int by_event(const void *a, const void *b, const void *context)
{
    const mv_oom *x = a, *y = b;
    uint64_t ax = 2 * (uint64_t)x->event + (x->api_call == MV_NO_ROW);
    uint64_t ay = 2 * (uint64_t)y->event + (y->api_call == MV_NO_ROW);

    (void)context;
    if (ax != ay)
        return ax < ay ? -1 : 1;
    return (x->api_call > y->api_call) - (x->api_call < y->api_call);
}

/* ---- samples of the device --------------------------------------------------------- */

/* Finds the last sample at or before each failure. Both failures and samples are in order of
 * time. */
static void read_samples(listing *l)
{
    const mv_samples *s = &l->trace->samples;
    uint32_t last = MV_NO_ROW, next = 0;

    for (uint32_t i = 0; i < l->out->count; i++) {
        mv_oom *o = &l->out->ooms[i];
        for (; next < s->count && s->time_us[next] <= o->time_us; next++)
            if (s->device[next] == (int64_t)l->lives->device)
                last = next;
        if (last == MV_NO_ROW)
            continue;
        o->total = s->total[last];
        o->total_source = MV_TOTAL_SAMPLED;
        if (o->device_free == MV_NO_BYTES && s->used[last] <= s->total[last])
            o->device_free = s->total[last] - s->used[last];
    }
}

/* ---- retries ----------------------------------------------------------------------------- */

bool mv_oom_ends_with_releases(const mv_events *ev)
{
    for (uint32_t i = ev->count; i-- > 0;)
        if (mv_is_release_action(ev->action[i]))
            return true;
        else if (ev->action[i] != MV_ACTION_FREE_COMPLETED)
            return false;
    return false;
}

/* Whether any segment was added right after a release, regardless of whether the program requested
 * the release. */
static bool adds_after_release(const listing *l)
{
    const mv_events *ev = &l->lives->events;
    uint32_t end = l->window.end < ev->count ? l->window.end : ev->count, at = 0;
    uint32_t frees = mv_next_action(ev, 0, MV_ACTION_SEGMENT_FREE);
    uint32_t unmaps = mv_next_action(ev, 0, MV_ACTION_SEGMENT_UNMAP);

    while ((at = frees < unmaps ? frees : unmaps) < end) {
        while (at < end &&
               (mv_is_release_action(ev->action[at]) || ev->action[at] == MV_ACTION_FREE_COMPLETED))
            at++;
        if (at < end && mv_is_growth_action(ev->action[at]))
            return true;
        frees = frees < at ? mv_next_action(ev, at, MV_ACTION_SEGMENT_FREE) : frees;
        unmaps = unmaps < at ? mv_next_action(ev, at, MV_ACTION_SEGMENT_UNMAP) : unmaps;
    }
    return false;
}

/* Counts the segments that were added right after releases that the program did not request. */
static void count_retries(listing *l, const mv_replay_script *script)
{
    const mv_events *ev = &l->lives->events;
    bool collects = script->conf.gc_threshold > 0;
    uint64_t released = 0;
    uint32_t empty = 0;

    for (uint32_t i = 0; i < l->window.end && i < ev->count; i++) {
        uint8_t action = ev->action[i];
        while (empty < script->empty_count && script->empty_end[empty] <= i)
            empty++;
        if (mv_is_release_action(action)) {
            bool is_requested = empty < script->empty_count && script->empty_first[empty] <= i;
            released = is_requested ? 0 : released + ev->size[i];
        } else if (mv_is_growth_action(action)) {
            if (released && i >= l->window.first) {
                *(collects ? &l->out->collected : &l->out->released) += released;
                ++*(collects ? &l->out->collections : &l->out->retries);
            }
            released = 0;
        } else if (action != MV_ACTION_FREE_COMPLETED) {
            released = 0;
        }
    }
}

/* ---- all failures ------------------------------------------------------------------------ */

bool mv_oom_failures_list(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_window window, mv_ooms *out)
{
    listing l = {trace, lives, window, out};
    uint64_t most = 0;
    mv_replay_script script;
    bool made, may_retry = adds_after_release(&l);
    uint32_t *answer = NULL;
    mv_arena scratch;
    mv_err err;

    for (uint32_t i = 0; i < lives->events.count; i++)
        most += lives->events.action[i] == MV_ACTION_OOM;
    for (uint32_t i = 0; i < trace->api_calls.count; i++)
        most += trace->api_calls.result[i] == OUT_OF_MEMORY;
    mv_arena_init(&scratch, arena->budget);
    if (trace->api_calls.count > 0)
        answer = find_answers(&scratch, &lives->events);
    out->ooms = mv_push_array(arena, mv_oom, most);
    made = (answer || trace->api_calls.count == 0) && out->ooms &&
           (!may_retry || mv_replay_script_make(&scratch, trace, lives, &script, &err) == MV_OK);
    if (made) {
        if (most > 0)
            list_events(&l);
        list_calls(&l, answer);
        mv_sort_by(&scratch, out->ooms, out->count, sizeof *out->ooms, by_event, NULL);
        read_samples(&l);
        if (may_retry)
            count_retries(&l, &script);
    }
    mv_arena_release(&scratch);
    return made;
}
