#include <stdarg.h>
#include <stdio.h>

#include "analyze/replay/replay_script.h"

typedef struct {
    const mv_replay_script *script;
    mv_replay_heap heap;
    mv_replay_fidelity *out;
    mv_block_rows block_of;
    uint64_t searched; /* number of blocks visited by address after a prediction failed. They do
                         * not count as work of the heap, because such a visit costs much less */
    uint32_t empty;    /* next group of releases that the program requested */
} verification;

__attribute__((format(printf, 3, 4))) static void differ(verification *v, uint32_t event,
                                                         const char *format, ...)
{
    va_list arguments;

    if (v->out->first_difference != MV_NEVER)
        return;
    v->out->first_difference = event;
    va_start(arguments, format);
    vsnprintf(v->out->why, sizeof v->out->why, format, arguments);
    va_end(arguments);
}

static void note_block(verification *v, uint32_t row, uint32_t block)
{
    v->heap.out_of_memory |= !mv_block_rows_set(&v->block_of, row, block);
}

/* ---- effects as recorded ----------------------------------------------------------------- */

/* Finds the block in this state that contains [addr, addr + size). */
static uint32_t holder_of(verification *v, uint64_t addr, uint64_t size, mv_replay_state state)
{
    v->searched += v->heap.count;
    v->out->gave_up = v->searched > v->heap.most_work;
    for (uint32_t i = 0; i < v->heap.count && !v->out->gave_up; i++) {
        const mv_replay_block *b = &v->heap.blocks[i];
        if (b->state == state && b->addr <= addr && addr - b->addr < b->size &&
            size <= b->size - (addr - b->addr))
            return i;
    }
    return MV_NO_ROW;
}

static uint32_t pool_of_segment(const verification *v, uint32_t event)
{
    const mv_segment_lives *s = &v->script->lives->segments;
    uint32_t row = v->script->lives->alloc_of[event];

    return 2 * mv_replay_segment_pool_id(v->script, row) +
           (row >= s->count || s->kind[row] != MV_SEGMENT_SMALL);
}

static void apply_map(verification *v, uint32_t event)
{
    const mv_events *ev = v->script->ev;
    uint64_t addr = ev->addr[event], size = ev->size[event];
    uint32_t space = holder_of(v, addr, size, MV_REPLAY_UNMAPPED), block;

    if (space == MV_NO_ROW)
        space = mv_replay_reserve(&v->heap, pool_of_segment(v, event),
                                  mv_replay_stream(v->script, ev->stream[event]), addr);
    block = mv_replay_map_at(&v->heap, space, addr, size);
    if (block != MV_NO_ROW)
        mv_replay_block_settle(&v->heap, block);
}

static void apply_segment_event(verification *v, uint32_t event)
{
    const mv_events *ev = v->script->ev;
    uint64_t addr = ev->addr[event], size = ev->size[event];
    uint32_t block;

    if (size == 0 || addr > UINT64_MAX - size)
        return;
    switch (ev->action[event]) {
    case MV_ACTION_SEGMENT_ALLOC:
        mv_replay_note_effect(&v->heap, MV_ACTION_SEGMENT_ALLOC, addr, size);
        block = mv_replay_segment_new(&v->heap, pool_of_segment(v, event),
                                      mv_replay_stream(v->script, ev->stream[event]), addr, size,
                                      MV_NO_GAP);
        if (block != MV_NO_ROW)
            mv_replay_block_settle(&v->heap, block);
        return;
    case MV_ACTION_SEGMENT_MAP:
        apply_map(v, event);
        return;
    default:
        block = holder_of(v, addr, size, MV_REPLAY_FREE);
        if (block != MV_NO_ROW)
            mv_replay_give_back(&v->heap, block);
    }
}

/* Places an allocation at its recorded address, where the bytes must be free. */
static void apply_alloc(verification *v, uint32_t row, uint64_t bytes, uint64_t rounded)
{
    uint64_t addr = v->script->lives->allocs.addr[row];
    uint32_t block = holder_of(v, addr, rounded, MV_REPLAY_FREE), rest;

    if (block == MV_NO_ROW)
        return;
    mv_replay_take(&v->heap, block);
    if (v->heap.blocks[block].addr < addr) {
        rest = mv_replay_block_cut(&v->heap, block, addr - v->heap.blocks[block].addr);
        mv_replay_order_add(&v->heap, block);
        block = rest;
    }
    if (block == MV_NO_ROW)
        return;
    mv_replay_hand_out(&v->heap, block, bytes, rounded);
    note_block(v, row, block);
}

/* ---- releases ---------------------------------------------------------------------------- */

/* Returns how many releases of the plan agree with the releases that were recorded from `event` to
 * `end`. Releases without an effect do not count. *whole is set if all releases of the plan
 * agree. */
static uint32_t plan_agrees(const verification *v, uint32_t event, uint32_t end, bool *whole)
{
    const mv_events *ev = v->script->ev;
    uint32_t at = event;

    *whole = false;
    for (uint32_t i = 0; i < v->heap.plan.count; i++) {
        mv_replay_effect e = mv_replay_give_back_effect(&v->heap, v->heap.plan.row[i]);
        if (e.size == 0)
            continue;
        if (at == end || ev->action[at] != e.action || ev->addr[at] != e.addr ||
            ev->size[at] != e.size)
            return at - event;
        at++;
    }
    *whole = true;
    return at - event;
}

/* Executes the plan if the recorded run executed all of it, and moves *event past the plan. */
static bool follow_plan(verification *v, uint32_t *event, uint32_t end)
{
    bool whole;
    uint32_t count = plan_agrees(v, *event, end, &whole);

    if (!whole || count == 0)
        return false;
    for (uint32_t i = 0; i < v->heap.plan.count; i++)
        mv_replay_give_back(&v->heap, v->heap.plan.row[i]);
    v->out->segment_matched += count;
    *event += count;
    return true;
}

static void apply_releases(verification *v, uint32_t event, uint32_t end)
{
    if (event < end)
        differ(v, event, "other cached memory would have been released");
    for (; event < end; event++)
        apply_segment_event(v, event);
}

static void check_empty_cache(verification *v, uint32_t event, uint32_t end)
{
    for (uint32_t i = 2; i < 2 * v->script->trace->pools.count; i++)
        v->heap.pools[i].may_release = v->script->release_from[i / 2] <= event;
    mv_replay_plan_cached(&v->heap);
    follow_plan(v, &event, end);
    apply_releases(v, event, end);
}

/* Checks the releases [event, end) that one request caused. Garbage is collected first, then large
 * blocks are released, then all blocks. How much each stage releases depends on limits that the
 * trace does not record, so the recorded releases are applied. */
static void check_retry(verification *v, uint32_t event, uint32_t end, uint32_t pool,
                        uint64_t stream, uint64_t rounded)
{
    while (event < end && v->heap.conf.gc_threshold > 0 && mv_replay_plan_collection(&v->heap) &&
           follow_plan(v, &event, end))
        ;
    if (event < end && v->heap.conf.rules.max_split != UINT64_MAX) {
        mv_replay_plan_available(&v->heap, pool, stream, rounded);
        follow_plan(v, &event, end);
    }
    if (event < end) {
        mv_replay_plan_cached(&v->heap);
        follow_plan(v, &event, end);
    }
    apply_releases(v, event, end);
}

/* ---- requests ---------------------------------------------------------------------------- */

typedef struct {
    uint32_t row; /* row of lives->allocs */
    uint32_t pool;
    uint64_t bytes, rounded, stream;
} request;

/* Obtains new memory for a request and adds it as in the recorded events [event, end). Returns the
 * block, which is not in its pool, or MV_NO_ROW if the events differ from the prediction. */
static uint32_t check_segment(verification *v, const request *q, uint32_t event, uint32_t end)
{
    const mv_events *ev = v->script->ev;
    uint64_t size = mv_replay_segment_size(&v->heap.conf, q->rounded), addr = ev->addr[event];

    if (end - event != 1 || ev->action[event] != MV_ACTION_SEGMENT_ALLOC ||
        ev->size[event] != size || addr > UINT64_MAX - size) {
        differ(v, event, "a segment of %llu bytes was expected", (unsigned long long)size);
        return MV_NO_ROW;
    }
    v->out->segment_matched++;
    mv_replay_note_effect(&v->heap, MV_ACTION_SEGMENT_ALLOC, addr, size);
    return mv_replay_segment_new(&v->heap, q->pool, q->stream, addr, size, MV_NO_GAP);
}

static uint32_t check_mapping(verification *v, const request *q, uint32_t event, uint32_t end)
{
    const mv_events *ev = v->script->ev;
    uint32_t block, agreed = 0;

    v->heap.effect_count = 0;
    v->heap.driver.next_reservation = ev->addr[event];
    block = mv_replay_expand(&v->heap, q->pool, q->stream, q->rounded);
    for (uint32_t i = 0; i < v->heap.effect_count && event + i < end; i++) {
        const mv_replay_effect *e = &v->heap.effects[i];
        agreed += ev->action[event + i] == e->action && ev->addr[event + i] == e->addr &&
                  ev->size[event + i] == e->size;
    }
    v->out->segment_matched += agreed;
    if (agreed != end - event || agreed != v->heap.effect_count)
        differ(v, event, "other pages would have been mapped");
    return block;
}

static void check_growth(verification *v, const request *q, uint32_t alloc, uint32_t event,
                         uint32_t end)
{
    uint32_t block;

    if (event == end) {
        differ(v, alloc, "no cached block fits, but none was added");
        apply_alloc(v, q->row, q->bytes, q->rounded);
        return;
    }
    block = v->heap.conf.rules.expandable ? check_mapping(v, q, event, end)
                                          : check_segment(v, q, event, end);
    if (block != MV_NO_ROW && v->heap.blocks[block].addr == v->script->lives->allocs.addr[q->row]) {
        mv_replay_hand_out(&v->heap, block, q->bytes, q->rounded);
        note_block(v, q->row, block);
        v->out->allocs_matched++;
        return;
    }
    if (block != MV_NO_ROW)
        mv_replay_block_settle(&v->heap, block);
    else if (!v->heap.conf.rules.expandable)
        for (; event < end; event++)
            apply_segment_event(v, event);
    differ(v, alloc, "another address was expected");
    apply_alloc(v, q->row, q->bytes, q->rounded);
}

/* Checks an alloc and the segment events [event, alloc) that it caused. Returns the number of events
 * from the alloc on that were checked, because they may include the free. */
static uint32_t check_alloc(verification *v, uint32_t alloc, uint32_t event)
{
    const mv_lives *lives = v->script->lives;
    const mv_events *ev = v->script->ev;
    request q = {.row = lives->alloc_of[alloc]};
    uint32_t block;

    v->out->allocs++;
    if (q.row == MV_NO_ROW)
        return 1;
    q.bytes = lives->allocs.requested[q.row];
    if (q.bytes == 0 || q.bytes == MV_NO_BYTES)
        return 1;
    q.rounded = mv_replay_round(&v->heap, q.bytes);
    q.pool = mv_replay_pool_of(mv_replay_pool_id(v->script, q.row), q.rounded);
    q.stream = mv_replay_stream(v->script, mv_replay_stream_id(v->script, alloc));
    block = mv_replay_search(&v->heap, q.pool, q.stream, q.rounded);
    if (block == MV_NO_ROW) {
        uint32_t grown = event;
        while (grown < alloc && mv_is_release_action(ev->action[grown]))
            grown++;
        check_retry(v, event, grown, q.pool, q.stream, q.rounded);
        check_growth(v, &q, alloc, grown, alloc);
    } else if (event == alloc && v->heap.blocks[block].addr == lives->allocs.addr[q.row]) {
        v->out->allocs_matched++;
        if (mv_alloc_is_brief(v->script->lives, alloc) &&
            mv_replay_use_briefly(&v->heap, block, q.bytes, q.rounded))
            return 3;
        note_block(v, q.row, mv_replay_serve(&v->heap, block, q.bytes, q.rounded));
    } else {
        differ(v, alloc, "a cached block at 0x%llx fits, but another was taken",
               (unsigned long long)v->heap.blocks[block].addr);
        for (; event < alloc; event++)
            apply_segment_event(v, event);
        apply_alloc(v, q.row, q.bytes, q.rounded);
    }
    return 1;
}

static void check_oom(verification *v, uint32_t oom, uint32_t event)
{
    const mv_events *ev = v->script->ev;
    const mv_block_rules *rules = &v->heap.conf.rules;
    uint64_t rounded = mv_round_request(rules, mv_request_of(rules, ev->size[oom]));
    uint64_t stream = mv_replay_stream(v->script, ev->stream[oom]);
    uint32_t pool = mv_replay_pool_of(0, rounded);

    if (mv_replay_search(&v->heap, pool, stream, rounded) != MV_NO_ROW)
        differ(v, oom, "a cached block fits the request that failed");
    check_retry(v, event, oom, pool, stream, rounded);
}

/* ---- events ------------------------------------------------------------------------------ */

static void check_free(verification *v, uint32_t event, bool completes)
{
    uint32_t row = v->script->lives->alloc_of[event];
    uint32_t block = row == MV_NO_ROW ? MV_NO_ROW : mv_block_rows_get(&v->block_of, row);

    if (block == MV_NO_ROW)
        return;
    if (v->heap.blocks[block].state != MV_REPLAY_USED && completes)
        mv_replay_complete_free(&v->heap, block);
    else if (completes)
        mv_replay_free(&v->heap, block);
    else if (v->heap.blocks[block].state == MV_REPLAY_USED)
        mv_replay_request_free(&v->heap, block);
    if (completes)
        mv_block_rows_clear(&v->block_of, row);
}

/* Checks a group of segment events [event, next), and the event that follows it if that is a request.
 * Returns the next event to check. */
static uint32_t check_group(verification *v, uint32_t event, uint32_t next)
{
    const mv_replay_script *s = v->script;
    uint8_t action = next < s->ev->count ? s->ev->action[next] : MV_ACTION_OTHER;

    v->out->segment_events += next - event;
    if (v->empty < s->empty_count && s->empty_first[v->empty] == event) {
        check_empty_cache(v, event, s->empty_end[v->empty]);
        event = s->empty_end[v->empty++];
    }
    if (action == MV_ACTION_ALLOC)
        return next + check_alloc(v, next, event);
    if (action == MV_ACTION_OOM) {
        check_oom(v, next, event);
        return next + 1;
    }
    if (event < next)
        differ(v, event, "memory was added although no request needed it");
    for (; event < next; event++)
        apply_segment_event(v, event);
    return next;
}

/* Checks an event, with the events that belong to it. Returns the next event to check. */
static uint32_t check_event(verification *v, uint32_t event)
{
    const mv_events *ev = v->script->ev;
    uint32_t next = event;
    bool is_pair;

    switch (ev->action[event]) {
    case MV_ACTION_ALLOC:
        return event + check_alloc(v, event, event);
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        is_pair = mv_replay_is_completed_next(v->script, event);
        check_free(v, event, is_pair || ev->action[event] == MV_ACTION_FREE_COMPLETED);
        return event + 1 + is_pair;
    case MV_ACTION_OOM:
        check_oom(v, event, event);
        return event + 1;
    default:
        while (next < ev->count && mv_is_segment_action(ev->action[next]))
            next++;
        return next == event ? event + 1 : check_group(v, event, next);
    }
}

static void check_events(verification *v)
{
    const mv_events *ev = v->script->ev;
    uint32_t i = 0;

    while (i < ev->count && !v->heap.out_of_memory && !v->out->gave_up) {
        i = check_event(v, i);
        v->heap.effect_count = 0;
        v->out->gave_up = v->out->gave_up || mv_replay_is_endless(&v->heap);
    }
    for (; i < ev->count && !v->heap.out_of_memory; i++) {
        v->out->segment_events += mv_is_segment_action(ev->action[i]);
        v->out->allocs += ev->action[i] == MV_ACTION_ALLOC;
    }
}

static bool is_certain(const mv_trace *trace, const mv_lives *lives)
{
    return trace->notes[MV_NOTE_THINNED].count == 0 && lives->history == MV_HISTORY_COMPLETE &&
           lives->doubts.lone_frees == 0 && lives->doubts.lost_frees == 0 &&
           lives->doubts.outside == 0 && lives->doubts.misplaced == 0 &&
           lives->doubts.lone_segments == 0;
}

mv_code mv_replay_verify(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_replay_script *script, mv_replay_fidelity *out, mv_err *err)
{
    mv_arena own;
    mv_replay_script made;
    verification v = {.script = script ? script : &made, .out = out};
    mv_code code = MV_OK;

    *out = (mv_replay_fidelity){.first_difference = MV_NEVER};
    mv_arena_init(&own, arena->budget);
    if (!script)
        code = mv_replay_script_make(&own, trace, lives, &made, err);
    if (code == MV_OK) {
        if (mv_block_rows_init(&v.block_of, &own, lives->allocs.count) &&
            mv_replay_heap_init(&v.heap, &own, &v.script->conf, trace->pools.count + 1)) {
            /* the real limit is not in the trace, but blocks have ages if there is any limit */
            v.heap.most_work = mv_replay_most_work(lives->events.count);
            v.heap.limit = v.script->conf.gc_threshold > 0 ? UINT64_MAX - 1 : UINT64_MAX;
            mv_replay_start_as_recorded(v.script, &v.heap, &v.block_of);
            check_events(&v);
        } else {
            v.heap.out_of_memory = true;
        }
        if (v.heap.out_of_memory)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    out->peak = v.heap.peak;
    out->counts = v.heap.counts;
    out->largest = v.heap.largest;
    out->work = v.heap.work + lives->events.count;
    out->exact = out->segment_matched == out->segment_events &&
                 out->allocs_matched == out->allocs && is_certain(trace, lives);
    mv_arena_release(&own);
    return code;
}
