#include "analyze/replay/replay_script.h"

#include "analyze/events/same_call.h"
#include "base/grow.h"

static bool is_rare(uint8_t action)
{
    return mv_is_segment_action(action) || action == MV_ACTION_OOM;
}

static bool list_rare(mv_arena *arena, const mv_events *ev, mv_replay_script *out)
{
    enum { AT_ONCE = 64 }; /* the first loop below takes one instruction for several events */
    uint32_t capacity = 0;

    for (uint32_t i = 0; i < ev->count;) {
        uint32_t end = ev->count - i < AT_ONCE ? ev->count : i + AT_ONCE;
        uint8_t any = 0;
        for (uint32_t k = i; k < end; k++)
            any |= is_rare(ev->action[k]);
        for (; any && i < end; i++)
            if (is_rare(ev->action[i]) &&
                !mv_append(arena, out->rare, out->rare_count, capacity, i))
                return false;
        i = end;
    }
    return true;
}

static uint64_t highest_reserved(const mv_replay_script *script, uint64_t *before)
{
    const mv_lives *lives = script->lives;
    const mv_segment_lives *s = &lives->segments;
    uint64_t now = 0, most;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            now += s->size[i];
    *before = most = now;
    for (uint32_t k = 0; k < script->rare_count; k++) {
        uint32_t i = script->rare[k];
        if (!mv_is_segment_action(lives->events.action[i]))
            continue;
        now += mv_is_release_action(lives->events.action[i]) ? -lives->events.size[i]
                                                             : lives->events.size[i];
        most = (int64_t)now > (int64_t)most ? now : most;
    }
    return most;
}

/* Whether the program requested a release. The release belongs to a group that ends at `end`,
 * followed by the event `next`. `reserved` is the level before the release. If other events have
 * calls but the group does not, the group belongs to a thread without a Python stack, which does
 * not call empty_cache(). The group then counts as one call, and `reserved` is the level before the
 * group. */
static bool is_requested(const mv_replay_script *s, uint32_t release, uint32_t end, uint32_t next,
                         uint64_t reserved, uint64_t most)
{
    const mv_events *ev = s->ev;

    if (next == ev->count ||
        (ev->action[next] != MV_ACTION_ALLOC && ev->action[next] != MV_ACTION_OOM))
        return true;
    if (s->has_call_ids && ev->call[next] != MV_NO_CALL)
        return ev->call[release] != ev->call[next];
    if (mv_is_same_call(ev, s->has_call_ids, release, next))
        return false;
    if (ev->action[next] == MV_ACTION_OOM)
        return false;
    /* calls are unknown, but a request that would have fitted did not release anything */
    return end == next || (s->conf.gc_threshold <= 0 && reserved + ev->size[end] <= most);
}

static bool add_empty(mv_arena *arena, mv_replay_script *s, uint32_t *capacity, uint32_t first,
                      uint32_t end)
{
    if (s->empty_count > 0 && s->empty_end[s->empty_count - 1] == first) {
        s->empty_end[s->empty_count - 1] = end;
        return true;
    }
    if (s->empty_count == *capacity) {
        uint32_t room = *capacity; /* capacity of the second column */
        if (!mv_room(arena, s->empty_first, s->empty_count, *capacity) ||
            !mv_room_for(arena, s->empty_end, *capacity, room))
            return false;
    }
    s->empty_first[s->empty_count] = first;
    s->empty_end[s->empty_count++] = end;
    return true;
}

/* Notes the first release from a private pool. It shows that the user of the pool is finished, so
 * the pool may release memory from this event onwards. */
static void note_private_release(mv_replay_script *s, uint32_t event)
{
    uint32_t row = s->lives->alloc_of[event];
    uint32_t pool = row < s->lives->segments.count ? s->lives->segments.pool[row].row : 0;

    if (pool < s->trace->pools.count && event < s->release_from[pool])
        s->release_from[pool] = event;
}

/* Notes a request that had to release memory, or that failed. The request did not fit, so the limit
 * is below the number of bytes that it needed. The limit is at least the most bytes that were ever
 * reserved. */
static void note_refusal(mv_replay_script *s, uint64_t reserved, uint64_t size, uint64_t most)
{
    if (s->conf.gc_threshold > 0 || reserved + size <= most)
        return;
    s->limit = most;
}

typedef struct {
    mv_arena *arena;
    mv_replay_script *script;
    uint64_t reserved, most;
    uint32_t capacity;
} script_state;

/* Reads the group of segment events [first, next). `next` is an event of another kind, or the end
 * of the trace. */
static bool read_group(script_state *r, uint32_t first, uint32_t next)
{
    mv_replay_script *s = r->script;
    const mv_events *ev = s->ev;
    uint32_t releases_end = first;
    uint64_t before = r->reserved;

    while (releases_end < next && mv_is_release_action(ev->action[releases_end]))
        releases_end++;
    for (uint32_t i = first; i < releases_end; i++) {
        note_private_release(s, i);
        if (is_requested(s, i, releases_end, next, s->has_call_ids ? before : r->reserved,
                         r->most)) {
            if (!add_empty(r->arena, s, &r->capacity, i, i + 1))
                return false;
        } else if (releases_end < next) {
            note_refusal(s, r->reserved, ev->size[releases_end], r->most);
        }
        r->reserved -= ev->size[i];
    }
    for (uint32_t i = releases_end; i < next; i++)
        r->reserved += mv_is_release_action(ev->action[i]) ? -ev->size[i] : ev->size[i];
    return true;
}

static void read_oom(script_state *r, uint32_t event)
{
    mv_replay_script *s = r->script;
    uint64_t free_bytes = s->ev->addr[event], size = s->ev->size[event];
    uint64_t segment = mv_replay_segment_size(&s->conf, size);

    /* if the device itself was full, the bytes that were free on it count, too */
    if (free_bytes != MV_NO_BYTES && free_bytes < segment && size < MV_MOST_REQUEST) {
        if (s->limit > r->reserved + free_bytes)
            s->limit = r->reserved + free_bytes > r->most ? r->reserved + free_bytes : r->most;
        return;
    }
    note_refusal(s, r->reserved, segment, r->most);
}

static bool read_events(script_state *r)
{
    const mv_replay_script *s = r->script;
    const mv_events *ev = s->ev;
    uint32_t next = 0;

    for (uint32_t k = 0; k < s->rare_count; k++) {
        uint32_t first = s->rare[k];
        if (first < next)
            continue; /* the event belongs to the previous group */
        if (ev->action[first] == MV_ACTION_OOM) {
            read_oom(r, first);
            continue;
        }
        for (next = first; next < ev->count && mv_is_segment_action(ev->action[next]);)
            next++;
        if (!read_group(r, first, next))
            return false;
    }
    return true;
}

static bool list_segments(mv_arena *arena, mv_replay_script *s)
{
    s->segments = mv_push_array(arena, mv_driver_record, s->rare_count);
    for (uint32_t k = 0; s->segments && k < s->rare_count; k++) {
        uint32_t i = s->rare[k];
        if (s->ev->action[i] == MV_ACTION_SEGMENT_ALLOC)
            s->segments[s->segment_count++] = (mv_driver_record){s->ev->addr[i], s->ev->size[i]};
    }
    return s->segments != NULL;
}

/* ---- operations -------------------------------------------------------------------------- */

bool mv_replay_script_list(mv_arena *arena, mv_replay_script *s)
{
    mv_replay_reader reader = {0};

    s->ops = mv_arena_grow(arena, NULL, (s->ev->count + 1ull) * sizeof *s->ops);
    while (s->ops && mv_replay_read(s, &reader, &s->ops[s->op_count]))
        s->op_count++;
    s->is_listed = s->ops != NULL;
    return s->is_listed;
}

mv_code mv_replay_script_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_replay_script *out, mv_err *err)
{
    uint64_t pools = trace->pools.count ? trace->pools.count : 1;
    script_state r = {.arena = arena, .script = out};

    *out = (mv_replay_script){.trace = trace,
                              .lives = lives,
                              .ev = &lives->events,
                              .conf = mv_alloc_conf_of(trace),
                              .release_from = mv_push_array(arena, uint32_t, pools),
                              .limit = UINT64_MAX};
    if (!out->release_from)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint64_t i = 0; i < pools; i++)
        out->release_from[i] = i == 0 ? 0 : MV_NEVER;
    out->is_one_stream = true;
    for (uint32_t i = 0; i < trace->streams.count; i++)
        out->is_one_stream = out->is_one_stream && trace->streams.value[i] == 0;
    out->has_call_ids = mv_calls_have_ids(out->ev);
    out->ids = lives->allocs.count;
    if (!list_rare(arena, out->ev, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    r.most = highest_reserved(out, &r.reserved);
    if (!read_events(&r) || !list_segments(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return MV_OK;
}
