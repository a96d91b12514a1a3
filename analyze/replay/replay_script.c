#include "analyze/replay/replay_script.h"

#include "analyze/events/same_call.h"
#include "base/grow.h"

uint32_t mv_replay_segment_pool_id(const mv_replay_script *script, uint32_t segment_row)
{
    const mv_segment_lives *s = &script->lives->segments;
    uint32_t pool = segment_row < s->count && !script->is_joined ? s->pool[segment_row].row : 0;

    return pool < script->trace->pools.count ? pool : 0;
}

uint32_t mv_replay_pool_id(const mv_replay_script *script, uint32_t alloc_row)
{
    return alloc_row == MV_NO_ROW
               ? 0
               : mv_replay_segment_pool_id(script, script->lives->allocs.segment[alloc_row]);
}

uint64_t mv_replay_stream(const mv_replay_script *script, mv_stream_id stream)
{
    if (script->is_joined || script->is_one_stream)
        return 0;
    return stream.row < script->trace->streams.count ? script->trace->streams.value[stream.row] : 0;
}

static uint64_t highest_reserved(const mv_lives *lives, uint64_t *before)
{
    const mv_segment_lives *s = &lives->segments;
    uint64_t now = 0, most;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            now += s->size[i];
    *before = most = now;
    for (uint32_t i = 0; i < lives->events.count; i++) {
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
    const mv_events *ev = r->script->ev;
    uint32_t first;

    for (uint32_t i = 0; i < ev->count; i++) {
        if (ev->action[i] == MV_ACTION_OOM)
            read_oom(r, i);
        if (!mv_is_segment_action(ev->action[i]))
            continue;
        first = i;
        while (i < ev->count && mv_is_segment_action(ev->action[i]))
            i++;
        if (!read_group(r, first, i))
            return false;
        i--;
    }
    return true;
}

static bool list_segments(mv_arena *arena, mv_replay_script *s)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < s->ev->count; i++)
        total += s->ev->action[i] == MV_ACTION_SEGMENT_ALLOC;
    s->segments = mv_push_array(arena, mv_driver_record, total);
    for (uint32_t i = 0; s->segments && i < s->ev->count; i++)
        if (s->ev->action[i] == MV_ACTION_SEGMENT_ALLOC)
            s->segments[s->segment_count++] = (mv_driver_record){s->ev->addr[i], s->ev->size[i]};
    return s->segments != NULL;
}

/* ---- operations -------------------------------------------------------------------------- */

static bool is_request(uint64_t bytes)
{
    return bytes != 0 && bytes != MV_NO_BYTES;
}

/* Whether the event after a request to free a block completes the free. */
static bool is_completed_next(const mv_replay_script *s, uint32_t event)
{
    return event + 1 < s->ev->count && s->lives->alloc_of[event] != MV_NO_ROW &&
           s->lives->alloc_of[event + 1] == s->lives->alloc_of[event] &&
           s->ev->action[event] == MV_ACTION_FREE_REQUESTED &&
           s->ev->action[event + 1] == MV_ACTION_FREE_COMPLETED;
}

/* Converts one event to an operation. False if the event does not concern the allocator. */
static bool compile(const mv_replay_script *s, uint32_t event, mv_replay_op *op)
{
    const mv_events *ev = s->ev;
    uint32_t row = s->lives->alloc_of[event];
    uint64_t bytes = ev->size[event];

    *op = (mv_replay_op){.id = row,
                         .event = event,
                         .bytes = bytes > MV_MOST_REQUEST ? MV_MOST_REQUEST + 1 : bytes,
                         .stream = ev->stream[event]};
    switch (ev->action[event]) {
    case MV_ACTION_ALLOC:
        op->kind = MV_OP_ALLOC;
        op->pool = mv_replay_pool_id(s, row);
        op->capturing = op->pool != MV_DEFAULT_POOL.row;
        return row != MV_NO_ROW && is_request(bytes);
    case MV_ACTION_FREE_REQUESTED:
        op->is_request = is_completed_next(s, event);
        op->kind = op->is_request ? MV_OP_COMPLETE : MV_OP_FREE;
        return row != MV_NO_ROW;
    case MV_ACTION_FREE_COMPLETED:
        op->kind = MV_OP_COMPLETE;
        return row != MV_NO_ROW;
    case MV_ACTION_OOM:
        op->kind = MV_OP_TRY;
        return true;
    default:
        return false;
    }
}

static bool compile_all(mv_arena *arena, mv_replay_script *s)
{
    uint32_t empty = 0;
    uint64_t most = (uint64_t)s->ev->count + s->empty_count;

    s->ids = s->lives->allocs.count;
    s->ops = mv_push_array(arena, mv_replay_op, most);
    for (uint32_t i = 0; s->ops && i < s->ev->count; i++) {
        if (empty < s->empty_count && s->empty_first[empty] == i) {
            s->ops[s->op_count++] = (mv_replay_op){.kind = MV_OP_EMPTY, .event = i};
            empty++;
        }
        s->op_count += compile(s, i, &s->ops[s->op_count]);
        i += s->op_count > 0 && s->ops[s->op_count - 1].is_request &&
             s->ops[s->op_count - 1].event == i;
    }
    return s->ops != NULL;
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
    out->has_call_ids = mv_calls_have_ids(out->ev);
    r.most = highest_reserved(lives, &r.reserved);
    if (!read_events(&r) || !list_segments(arena, out) || !compile_all(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return MV_OK;
}
