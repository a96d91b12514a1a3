#include "analyze/replay/replay_script.h"

typedef struct mv_replay {
    mv_arena own; /* arena for all memory of the run */
    const mv_replay_script *script;
    mv_replay_script made; /* the run's own script, to which `script` points unless the caller
                            * passed a script */
    mv_replay_heap heap;
    mv_replay_result result;
    mv_block_rows block_of; /* block of each id, if it is alive and was not skipped */
    mv_replay_reader reader;
    uint64_t enough;
    uint64_t counted; /* number of steps already subtracted from *left */
    uint64_t *left;   /* number of steps that may still be taken */
    mv_replay_curve *curve;
    uint32_t columns, room; /* columns of the curve: number begun, and number in total */
    bool is_new_column;     /* the last column contains no earlier event */
    uint64_t own_left;      /* the run's own counter, to which `left` points unless the caller
                             * passed a counter */
} run_state;

/* A bit in an owner which shows that the allocation with this row was requested a second time. */
#define MADE_AGAIN (1ull << 32)

/* Sets the block of an id, and the id as the block's owner. */
static inline void own(run_state *r, uint32_t id, uint32_t block)
{
    r->heap.out_of_memory |= !mv_block_rows_set(&r->block_of, id, block);
    if (block != MV_NO_ROW)
        r->heap.blocks[block].owner = id;
}

/* Whether the owner's block is still in `state`. */
static inline bool is_in(const run_state *r, uint32_t block, uint64_t owner, mv_replay_state state)
{
    return block != MV_NO_ROW && r->heap.blocks[block].state == state &&
           r->heap.blocks[block].owner == owner;
}

/* Runs an alloc. The script determines whether everything uses one stream or pool, because several
 * scripts may share their operations. */
static void run_alloc(run_state *r, mv_replay_op op)
{
    const mv_replay_script *s = r->script;
    uint32_t pool = s->is_joined ? MV_DEFAULT_POOL.row : op.pool;
    uint32_t block = mv_replay_malloc(&r->heap, op.bytes, mv_replay_stream(s, op.stream), pool,
                                      op.capturing && !s->is_joined);

    own(r, op.id, block);
    if (block == MV_NO_ROW && r->result.first_oom == MV_NEVER)
        r->result.first_oom = op.event;
}

/* Returns the block of an allocation if the block is in `state`. A free may occur without a
 * request, or may already be complete because the allocator waited for all pending frees. */
static inline uint32_t block_in(const run_state *r, uint32_t id, mv_replay_state state)
{
    uint32_t block = mv_block_rows_get(&r->block_of, id);

    return is_in(r, block, id, state) ? block : MV_NO_ROW;
}

static inline void run_free(run_state *r, uint32_t id, bool completes)
{
    uint32_t block = block_in(r, id, MV_REPLAY_USED);

    if (block != MV_NO_ROW && completes)
        mv_replay_free(&r->heap, block);
    else if (block != MV_NO_ROW)
        mv_replay_request_free(&r->heap, block);
    else if (completes && (block = block_in(r, id, MV_REPLAY_PENDING)) != MV_NO_ROW)
        mv_replay_complete_free(&r->heap, block);
    if (completes)
        mv_block_rows_clear(&r->block_of, id);
}

/* Runs a request that failed in the recorded run. If it succeeds here, the program would have
 * continued in a way that the trace does not show, so the block is freed again. */
static void run_try(run_state *r, mv_replay_op op)
{
    uint64_t ooms = r->heap.counts.ooms;
    uint64_t stream = mv_replay_stream(r->script, op.stream);
    uint32_t block;

    r->result.recorded_ooms++;
    r->result.last_met = false;
    if (op.bytes == 0 || op.bytes > MV_MOST_REQUEST)
        return;
    block =
        mv_replay_malloc(&r->heap, mv_request_of(&r->heap.conf.rules, op.bytes), stream, 0, false);
    if (block == MV_NO_ROW) {
        if (r->heap.counts.ooms > ooms && r->result.first_oom == MV_NEVER)
            r->result.first_oom = op.event;
        return;
    }
    r->result.avoided_ooms++;
    r->result.last_met = true;
    if (r->heap.limit != UINT64_MAX)
        r->result.spare =
            r->heap.limit > r->heap.now.active ? r->heap.limit - r->heap.now.active : 0;
    mv_replay_free(&r->heap, block);
}

static void allow_private_releases(run_state *r, uint32_t event)
{
    for (uint32_t i = 2; i < 2 * r->script->trace->pools.count; i++)
        r->heap.pools[i].may_release = r->script->release_from[i / 2] <= event;
}

/* Begins the columns of the curve up to the column that contains `event`, with the present
 * levels. */
static void begin_columns(run_state *r, uint32_t event)
{
    mv_replay_curve *c = r->curve;
    uint32_t column = event / c->step;

    r->is_new_column = column >= r->columns && event % c->step == 0;
    for (; r->columns < r->room && r->columns <= column; r->columns++) {
        c->reserved[r->columns] = r->heap.now.reserved;
        c->allocated[r->columns] = r->heap.now.allocated;
    }
    c->count = r->columns;
}

static void raise_column(run_state *r)
{
    mv_replay_curve *c = r->curve;
    uint32_t last = r->columns - 1;

    if (r->is_new_column || r->heap.now.reserved > c->reserved[last])
        c->reserved[last] = r->heap.now.reserved;
    if (r->is_new_column || r->heap.now.allocated > c->allocated[last])
        c->allocated[last] = r->heap.now.allocated;
    r->is_new_column = false;
}

static void run_op(run_state *r, mv_replay_op op)
{
    if (r->curve)
        begin_columns(r, op.event);
    r->heap.work += 1 + op.is_request; /* each event is one step */
    if (op.kind == MV_OP_ALLOC) {
        run_alloc(r, op);
    } else if (op.kind == MV_OP_COMPLETE || op.kind == MV_OP_FREE) {
        run_free(r, op.id, op.kind == MV_OP_COMPLETE);
    } else if (op.kind == MV_OP_TRY) {
        run_try(r, op);
    } else {
        allow_private_releases(r, op.event);
        mv_replay_empty_cache(&r->heap);
    }
    if (r->curve)
        raise_column(r);
}

/* Builds the heap from before the first event. */
static bool start(run_state *r, const mv_replay_opts *opts)
{
    const mv_replay_script *s = r->script;
    mv_alloc_conf conf = opts->conf;
    bool anew = opts->start == MV_START_ANEW || s->start_bytes ||
                (opts->start == MV_START_BY_SETTINGS &&
                 s->conf.rules.expandable != opts->conf.rules.expandable);

    conf.rules.pad = s->conf.rules.pad; /* `pad` depends on the allocator, not on its settings */
    if (!mv_block_rows_init(&r->block_of, &r->own, s->ids) ||
        !mv_replay_heap_init(&r->heap, &r->own, &conf, s->trace->pools.count + 1))
        return false;
    r->heap.driver.rule = opts->place;
    r->heap.limit = opts->limit ? opts->limit : UINT64_MAX;
    r->heap.most_work = *r->left;
    if (!opts->strange_addresses)
        mv_replay_driver_follow(&r->heap.driver, s->segments, s->segment_count);
    if (anew)
        mv_replay_start_anew(s, &r->heap, &r->block_of);
    else
        mv_replay_start_as_recorded(s, &r->heap, &r->block_of);
    return true;
}

static mv_code open_run(run_state *r, mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        const mv_replay_opts *opts, mv_err *err)
{
    mv_code code = MV_OK;

    *r = (run_state){.result = {.first_oom = MV_NEVER, .spare = MV_NO_BYTES},
                     .script = opts->script ? opts->script : &r->made,
                     .curve = opts->curve,
                     .room = opts->curve ? opts->curve->count : 0,
                     .own_left = mv_replay_most_work(lives->events.count)};
    r->left = opts->left ? opts->left : &r->own_left;
    r->enough = opts->enough ? opts->enough : UINT64_MAX;
    mv_arena_init(&r->own, arena->budget);
    if (!opts->script)
        code = mv_replay_script_make(&r->own, trace, lives, &r->made, err);
    if (code == MV_OK && !start(r, opts))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return code;
}

mv_code mv_replay_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_replay_opts opts, mv_replay **out, mv_err *err)
{
    mv_code code;

    *out = mv_push_struct(arena, mv_replay);
    if (!*out)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    code = open_run(*out, arena, trace, lives, &opts, err);
    if (code != MV_OK) {
        mv_replay_close(*out);
        *out = NULL;
    }
    return code;
}

/* Runs the next operation if all of it is before `end`. If only the first half of a free is, replays
 * this half. */
static bool run_next(run_state *r, uint32_t end)
{
    mv_replay_reader next = r->reader;
    mv_replay_op op;

    if (!mv_replay_read(r->script, &next, &op))
        return false;
    if (op.event + op.is_request >= end) {
        if (op.is_request && op.event + 1 == end)
            run_free(r, op.id, false);
        return false;
    }
    r->reader = next;
    run_op(r, op);
    return true;
}

/* Does the same as run_next for an alloc or a whole free, as nearly all events are, without making
 * an operation of it. Returns the number of events; 0: it is another event. */
static inline uint32_t run_usual(run_state *r, uint32_t event, uint32_t end)
{
    const mv_replay_script *s = r->script;
    uint32_t row = s->lives->alloc_of[event], pool, block;
    uint64_t bytes, stream;
    bool is_freed = false;

    if (row == MV_NO_ROW)
        return 0;
    if (s->ev->action[event] != MV_ACTION_ALLOC) {
        if (end - event < 2 || !mv_replay_is_completed_next(s, event))
            return 0;
        run_free(r, row, true);
        return 2;
    }
    bytes = s->lives->allocs.requested[row];
    pool = mv_replay_pool_id(s, row);
    stream = mv_replay_stream(s, mv_replay_stream_id(s, event));
    if (bytes == 0 || bytes > MV_MOST_REQUEST)
        return 0;
    block = end - event > 2 && mv_alloc_is_brief(s->lives, event)
                ? mv_replay_malloc_briefly(&r->heap, bytes, stream, pool,
                                           pool != MV_DEFAULT_POOL.row, &is_freed)
                : mv_replay_malloc(&r->heap, bytes, stream, pool, pool != MV_DEFAULT_POOL.row);
    if (is_freed)
        return 3;
    own(r, row, block);
    if (block == MV_NO_ROW && r->result.first_oom == MV_NEVER)
        r->result.first_oom = event;
    return 1;
}

/* Runs the next operation or, if the events are the operations, up to three events. Returns false if
 * there is none before `end`. */
static inline bool run_some(run_state *r, uint32_t end)
{
    uint32_t at = r->reader.at, events = 0;

    if (!r->script->is_listed && !r->curve && at < end && at < r->script->ev->count)
        events = run_usual(r, at, end);
    if (events == 0)
        return run_next(r, end);
    r->reader.at += events;
    r->heap.work += events; /* each event is one step */
    return true;
}

mv_code mv_replay_until(mv_replay *r, uint32_t end, mv_replay_result *out, mv_err *err)
{
    r->heap.most_work = r->counted + *r->left;
    while (!r->result.gave_up && !r->result.over_enough && !r->heap.out_of_memory &&
           run_some(r, end)) {
        r->heap.effect_count = 0;
        r->result.gave_up = mv_replay_is_endless(&r->heap);
        r->result.over_enough = r->heap.peak.reserved >= r->enough;
    }
    *r->left -= r->heap.work < r->heap.most_work ? r->heap.work - r->counted : *r->left;
    r->counted = r->heap.work;
    r->result.peak = r->heap.peak;
    r->result.counts = r->heap.counts;
    r->result.largest = r->heap.largest;
    *out = r->result;
    return r->heap.out_of_memory ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") : MV_OK;
}

/* Repeats the request of an allocation of the trace with a different number of bytes. */
static uint32_t make_again(run_state *r, uint32_t row, uint64_t bytes)
{
    const mv_lives *lives = r->script->lives;
    uint32_t birth = lives->allocs.birth[row], pool = mv_replay_pool_id(r->script, row);
    mv_stream_id stream = birth == MV_BEFORE ? (mv_stream_id){0} : lives->events.stream[birth];

    return mv_replay_malloc(&r->heap, bytes, mv_replay_stream(r->script, stream), pool,
                            pool != MV_DEFAULT_POOL.row);
}

mv_code mv_replay_continue(mv_replay *r, const mv_replay_next *next, uint32_t next_count,
                           uint32_t first, uint32_t count, bool *served, mv_err *err)
{
    mv_block_rows made;
    bool is_made = mv_block_rows_init(&made, &r->own, count);

    *served = !r->result.gave_up;
    for (uint32_t i = 0; is_made && i < next_count && *served && !r->heap.out_of_memory; i++) {
        const mv_replay_next *d = &next[i];
        mv_block_rows *rows = d->is_new ? &made : &r->block_of;
        uint32_t row = d->is_new ? d->row - first : d->row, block = mv_block_rows_get(rows, row);
        uint64_t owner = d->is_new ? MADE_AGAIN | d->row : d->row;
        if (d->bytes) {
            block = d->bytes > MV_MOST_REQUEST ? MV_NO_ROW : make_again(r, d->row, d->bytes);
            *served = block != MV_NO_ROW && !mv_replay_is_endless(&r->heap);
            r->heap.out_of_memory |= !mv_block_rows_set(rows, row, block);
            if (block != MV_NO_ROW)
                r->heap.blocks[block].owner = owner;
        } else if (block != MV_NO_ROW) {
            if (is_in(r, block, owner, MV_REPLAY_USED))
                mv_replay_request_free(&r->heap, block);
            if (is_in(r, block, owner, MV_REPLAY_PENDING))
                mv_replay_complete_free(&r->heap, block);
            mv_block_rows_clear(rows, row);
        }
    }
    return is_made && !r->heap.out_of_memory ? MV_OK
                                             : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

void mv_replay_close(mv_replay *r)
{
    if (r)
        mv_arena_release(&r->own);
}

mv_code mv_replay_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      mv_replay_opts opts, mv_replay_result *out, mv_err *err)
{
    run_state r;
    mv_code code = open_run(&r, arena, trace, lives, &opts, err);

    *out = r.result;
    if (code == MV_OK)
        code = mv_replay_until(&r, opts.end ? opts.end : UINT32_MAX, out, err);
    if (code == MV_OK && r.curve && !out->gave_up)
        begin_columns(&r, UINT32_MAX);
    mv_replay_close(&r);
    return code;
}
