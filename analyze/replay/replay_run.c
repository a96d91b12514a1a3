#include "analyze/replay/replay.h"
#include "analyze/replay/replay_script.h"

typedef struct {
    const mv_replay_script *script;
    mv_replay_heap heap;
    mv_replay_result *result;
    const uint8_t *apart;
    uint32_t *block_of; /* [allocs.count] MV_NO_ROW: not alive, or left out */
    uint32_t empty;     /* next group of releases that the program asked for */
} run_state;

static void run_alloc(run_state *r, uint32_t event)
{
    const mv_lives *lives = r->script->lives;
    uint32_t row = lives->alloc_of[event], pool;
    uint64_t bytes = lives->events.size[event];
    bool capturing;

    if (row == MV_NO_ROW || bytes == 0 || bytes == MV_NO_BYTES)
        return;
    pool = mv_replay_pool_id(r->script, row);
    capturing = pool != MV_DEFAULT_POOL.row;
    if (r->apart && r->apart[row])
        pool = r->script->trace->pools.count;
    r->block_of[row] = mv_replay_malloc(
        &r->heap, bytes, mv_replay_stream(r->script, lives->events.stream[event]), pool, capturing);
    if (r->block_of[row] == MV_NO_ROW && r->result->first_oom == MV_NEVER)
        r->result->first_oom = event;
}

/* The block of an event's allocation if it is in this state. Frees may come without a request, or
 * may have completed because the allocator waited for all pending ones. */
static uint32_t block_in(const run_state *r, uint32_t event, mv_replay_state state)
{
    uint32_t row = r->script->lives->alloc_of[event];
    uint32_t block = row == MV_NO_ROW ? MV_NO_ROW : r->block_of[row];

    return block != MV_NO_ROW && r->heap.blocks[block].state == state ? block : MV_NO_ROW;
}

static void run_free(run_state *r, uint32_t event, bool completes)
{
    uint32_t row = r->script->lives->alloc_of[event];
    uint32_t block = block_in(r, event, MV_REPLAY_USED);

    if (block != MV_NO_ROW)
        mv_replay_request_free(&r->heap, block);
    if (completes && (block = block_in(r, event, MV_REPLAY_PENDING)) != MV_NO_ROW)
        mv_replay_complete_free(&r->heap, block);
    if (completes && row != MV_NO_ROW)
        r->block_of[row] = MV_NO_ROW;
}

/* A request that failed in the recorded run. If it is met now, the program would have continued.
 * The trace does not show how, so the block is freed again. */
static void run_oom(run_state *r, uint32_t event)
{
    const mv_events *ev = r->script->ev;
    uint64_t ooms = r->heap.counts.ooms;
    uint32_t block;

    r->result->recorded_ooms++;
    if (ev->size[event] == 0 || ev->size[event] > MV_MOST_REQUEST)
        return;
    block = mv_replay_malloc(&r->heap, mv_request_of(&r->heap.conf.rules, ev->size[event]),
                             mv_replay_stream(r->script, ev->stream[event]), 0, false);
    if (block == MV_NO_ROW) {
        if (r->heap.counts.ooms > ooms && r->result->first_oom == MV_NEVER)
            r->result->first_oom = event;
        return;
    }
    r->result->avoided_ooms++;
    if (r->heap.limit != UINT64_MAX)
        r->result->spare =
            r->heap.limit > r->heap.now.active ? r->heap.limit - r->heap.now.active : 0;
    mv_replay_request_free(&r->heap, block);
    mv_replay_complete_free(&r->heap, block);
}

static void allow_private_releases(run_state *r, uint32_t event)
{
    for (uint32_t i = 2; i < 2 * r->script->trace->pools.count; i++)
        r->heap.pools[i].may_release = r->script->release_from[i / 2] <= event;
}

static void run_event(run_state *r, uint32_t event)
{
    if (r->empty < r->script->empty_count && r->script->empty_first[r->empty] == event) {
        allow_private_releases(r, event);
        mv_replay_empty_cache(&r->heap);
        r->empty++;
    }
    switch (r->script->ev->action[event]) {
    case MV_ACTION_ALLOC:
        run_alloc(r, event);
        break;
    case MV_ACTION_FREE_REQUESTED:
        run_free(r, event, false);
        break;
    case MV_ACTION_FREE_COMPLETED:
        run_free(r, event, true);
        break;
    case MV_ACTION_OOM:
        run_oom(r, event);
        break;
    default:
        break;
    }
    r->heap.effect_count = 0;
}

static bool start(run_state *r, mv_arena *arena, const mv_replay_opts *opts)
{
    const mv_replay_script *s = r->script;
    uint32_t rows = s->lives->allocs.count;
    mv_alloc_conf conf = opts->conf;
    bool anew =
        opts->start == MV_START_ANEW || (opts->start == MV_START_BY_SETTINGS &&
                                         s->conf.rules.expandable != opts->conf.rules.expandable);

    conf.rules.pad = s->conf.rules.pad; /* depends on the allocator, not on its settings */
    r->block_of = mv_push_array(arena, uint32_t, rows);
    if (!r->block_of || !mv_replay_heap_init(&r->heap, arena, &conf, s->trace->pools.count + 1))
        return false;
    for (uint32_t i = 0; i < rows; i++)
        r->block_of[i] = MV_NO_ROW;
    r->apart = opts->apart;
    r->heap.driver.rule = opts->place;
    r->heap.limit = opts->limit ? opts->limit : UINT64_MAX;
    if (!opts->strange_addresses)
        mv_replay_driver_follow(&r->heap.driver, s->segments, s->segment_count);
    if (anew)
        mv_replay_start_anew(s, &r->heap, r->block_of);
    else
        mv_replay_start_as_recorded(s, &r->heap, r->block_of);
    return true;
}

mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err)
{
    mv_arena own;
    mv_replay_script script;
    run_state r = {.script = opts.script ? opts.script : &script, .result = out};
    uint32_t end = opts.end && opts.end < lives->events.count ? opts.end : lives->events.count;
    mv_code code = MV_OK;

    *out = (mv_replay_result){.first_oom = MV_NEVER, .spare = MV_NO_BYTES};
    mv_arena_init(&own, arena->budget);
    if (!opts.script)
        code = mv_replay_script_make(&own, trace, lives, &script, err);
    if (code == MV_OK && !start(&r, &own, &opts))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; code == MV_OK && i < end && !out->gave_up; i++) {
        run_event(&r, i);
        out->gave_up = mv_replay_is_endless(&r.heap);
        if (r.heap.out_of_memory)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    out->peak = r.heap.peak;
    out->counts = r.heap.counts;
    out->largest = r.heap.largest;
    mv_arena_release(&own);
    return code;
}
