/* Writes a long trace as a container, to time code that handles many events.
 *
 *     make_trace EVENTS LIVE OUT.bin
 *
 * A training loop on the simulated allocator (analyze/replay/replay_heap.h): addresses, segments
 * and the final heap match PyTorch's allocator. The trace has at least EVENTS events and ends with
 * a complete call; on average about LIVE allocations are alive. The same arguments give the same
 * file.
 *
 *     allocations alive            ▁▃▅▇▆▄▂▁▃▅▇▆▄▂   activations: up to 120 % of LIVE
 *                                  ██████████████   weights and optimizer states: 40 %
 *
 * The program runs twice. The first run counts the events, because the file begins with their
 * number, and makes all other tables. The second run writes the events in pieces, so a trace of any
 * length needs little memory.
 *
 * The forward and backward passes of each layer also make short-lived tensors. Some steps have a
 * different batch size, and every step leaks one small tensor. */
#include <stdlib.h>

#include "analyze/lives/digests.h"
#include "analyze/replay/replay_heap.h"
#include "parse/model/build.h"
#include "parse/writers.h"

enum { LAYERS = 48, OPS = 12, PHASES = 3, DEPTH = 24, LATE = 8 };

enum { PIECE = 16 << 16 }; /* number of events in a piece, which consists of whole chunks */

#define HISTORY "the heap was empty before the first event" /* analyze/lives/lives_history.c */

typedef enum { FORWARD, BACKWARD, OPTIMIZER } phase;

typedef struct {
    uint32_t block; /* row of the heap */
    uint32_t call;
    uint64_t bytes;
    mv_stack_id stack;
} tensor;

typedef struct program {
    mv_arena arena;
    mv_trace trace;
    mv_build build;
    uint64_t events;               /* number of events so far */
    mv_digest digest;              /* number of these events */
    const struct program *counted; /* NULL: this is the first run */
    mv_snapshot_writer *writer;
    mv_arena of_piece;
    bool used[PHASES * LAYERS * OPS + 1]; /* stacks */
    mv_events piece;                      /* including the live rows before it */
    uint32_t before;                      /* number of live rows before it */
    mv_err err;
    mv_replay_heap heap;
    mv_stack_id site[PHASES][LAYERS][OPS];
    tensor *active; /* activations of the current step */
    uint32_t active_count;
    uint32_t most_active;
    uint64_t random;
    uint64_t batch; /* in sixteenths of the usual batch size */
    int64_t time_us;
    uint32_t calls;
    bool failed; /* the simulated allocator is out of memory */
} program;

static uint32_t below(program *p, uint32_t limit)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->random >> 33) % limit;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static mv_frame_id frame(program *p, const char *function, const char *file, int64_t line)
{
    mv_frame_row row = MV_FRAME_ROW;

    row.function = mv_build_string(&p->build, function, strlen(function));
    row.file = mv_build_string(&p->build, file, strlen(file));
    row.line = line;
    return mv_build_frame(&p->build, &row);
}

static void make_site(program *p, phase at, uint32_t layer, uint32_t op)
{
    static const char *const names[] = {"forward", "backward", "step"};
    mv_frame_id frames[DEPTH];
    char file[64], function[64];
    uint32_t n = 0;

    snprintf(function, sizeof function, "op_%u", op);
    frames[n++] = frame(p, function, "/opt/torch/nn/functional.py", 100 + 10 * op);
    snprintf(file, sizeof file, "/srv/model/layer_%u.py", layer % 16);
    frames[n++] = frame(p, names[at], file, 20 + 7 * op + layer / 16);
    while (n < DEPTH - 2) {
        snprintf(function, sizeof function, "_call_impl_%u", n);
        frames[n] = frame(p, function, "/opt/torch/nn/modules/module.py", 1500 + n);
        n++;
    }
    frames[n++] = frame(p, "train_step", "/srv/train.py", 60 + at);
    frames[n++] = frame(p, "main", "/srv/train.py", 120);
    p->site[at][layer][op] = mv_build_stack(&p->build, frames, n);
}

static void make_sites(program *p)
{
    for (uint32_t at = 0; at < PHASES; at++)
        for (uint32_t layer = 0; layer < LAYERS; layer++)
            for (uint32_t op = 0; op < OPS; op++)
                make_site(p, at, layer, op);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Adds an event to the device's digest. The history in the digest is that of a short run. */
static void count_event(program *p, const mv_event_row *row)
{
    mv_digest *d = &p->digest;

    if (p->events == 1)
        d->first_us = row->time_us;
    d->last_us = row->time_us;
    d->count[row->action]++;
    d->bytes[row->action] += row->size;
    d->events_with_stack++;
    if (!p->used[row->stack.row]) {
        p->used[row->stack.row] = true;
        d->stacks++;
    }
}

/* Begins a piece with the live rows. */
static bool begin_piece(program *p)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    const mv_living_columns *alive = mv_snapshot_alive(p->writer);

    mv_arena_release(&p->of_piece);
    p->before = p->piece.count = alive->rows.count;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        void *values = mv_arena_push(&p->of_piece, p->before + (uint64_t)PIECE, c->size);
        if (!values)
            return false;
        if (p->before)
            memcpy(values, mv_column_of(&alive->rows, c), p->before * (uint64_t)c->size);
        mv_column_set(&p->piece, c, values);
    }
    return true;
}

static void put_piece(program *p)
{
    uint32_t total = p->counted->trace.devices[0].events.count;
    mv_living living = {.count = p->before,
                        .first = (uint32_t)(p->events - (p->piece.count - p->before)),
                        .total = total,
                        .is_cut = p->events < total,
                        .block = mv_snapshot_alive(p->writer)->block};
    mv_device device = {.events = p->piece};
    mv_trace trace = p->counted->trace;
    mv_spans spans;
    mv_lives lives;
    mv_arena work;

    trace.devices = &device;
    trace.digests = &p->counted->digest;
    trace.living = &living;
    mv_arena_init(&work, p->arena.budget);
    if (mv_lives_find(&work, &trace, 0, &lives, &p->err) == MV_OK) {
        spans = mv_spans_of(&lives);
        mv_snapshot_put(p->writer, (mv_snapshot_piece){
                                       .events = &p->piece, .before = p->before, .spans = &spans});
    }
    mv_arena_release(&work);
    if (p->err.code == MV_OK && !begin_piece(p))
        mv_fail(&p->err, MV_NOMEM, MV_NO_OFFSET, "%s", "piece");
}

static void write_event(program *p, const mv_event_row *row)
{
    uint32_t i = p->piece.count++;

#define SET_COLUMN(T, number, name, ...) p->piece.name[i] = row->name;
    MV_EVENT_COLUMNS(SET_COLUMN, )
#undef SET_COLUMN
    if (p->piece.count - p->before == PIECE)
        put_piece(p);
}

static void record(program *p, mv_action action, uint64_t addr, uint64_t size, const tensor *who)
{
    mv_event_row row = MV_EVENT_ROW;

    p->time_us += below(p, 12);
    row.action = (uint8_t)action;
    row.time_us = p->time_us;
    row.addr = addr;
    row.size = size;
    row.stack = who->stack;
    row.call = who->call;
    row.stream = mv_build_stream(&p->build, 0);
    row.tag = MV_PLAIN_TAG;
    p->events++;
    if (!p->counted)
        count_event(p, &row);
    else if (p->err.code == MV_OK)
        write_event(p, &row);
}

static tensor make_tensor(program *p, uint64_t bytes, mv_stack_id stack)
{
    tensor t = {.call = p->calls++, .bytes = bytes, .stack = stack};

    p->heap.effect_count = 0;
    t.block = mv_replay_malloc(&p->heap, bytes, 0, 0, false);
    for (uint32_t i = 0; i < p->heap.effect_count; i++) {
        const mv_replay_effect *e = &p->heap.effects[i];
        record(p, (mv_action)e->action, e->addr, e->size, &t);
    }
    if (t.block == MV_NO_ROW)
        p->failed = true;
    else
        record(p, MV_ACTION_ALLOC, p->heap.blocks[t.block].addr, bytes, &t);
    return t;
}

static void free_tensor(program *p, const tensor *t)
{
    uint64_t addr;

    if (t->block == MV_NO_ROW)
        return;
    addr = p->heap.blocks[t->block].addr;
    mv_replay_request_free(&p->heap, t->block);
    mv_replay_complete_free(&p->heap, t->block);
    record(p, MV_ACTION_FREE_REQUESTED, addr, t->bytes, t);
    record(p, MV_ACTION_FREE_COMPLETED, addr, t->bytes, t);
}

/* ---- the training loop -------------------------------------------------------------------- */

/* Most sizes are small, and some are large. A site always requests the same size, except for the
 * batch factor. */
static uint64_t bytes_of(const program *p, uint32_t layer, uint32_t op)
{
    static const uint32_t units[OPS] = {2, 1, 8, 64, 16, 3, 900, 128, 4, 2500, 32, 1};
    return (uint64_t)(units[op] * 16 + layer % 3) * 32 * p->batch;
}

static void make_short_lived(program *p, phase at, uint32_t layer)
{
    for (int i = 0; i < 2; i++) {
        uint32_t op = below(p, OPS);
        tensor t = make_tensor(p, bytes_of(p, layer, op), p->site[at][layer][op]);
        free_tensor(p, &t);
    }
}

static bool is_done(const program *p, uint64_t events)
{
    return p->events >= events || p->failed || p->build.code != MV_OK || p->err.code != MV_OK;
}

static void run_forward(program *p, uint64_t events)
{
    while (p->active_count < p->most_active && !is_done(p, events)) {
        uint32_t layer = (uint32_t)((uint64_t)p->active_count * LAYERS / p->most_active);
        uint32_t op = p->active_count % OPS;
        p->active[p->active_count++] =
            make_tensor(p, bytes_of(p, layer, op), p->site[FORWARD][layer][op]);
        make_short_lived(p, FORWARD, layer);
    }
}

/* Frees the last activation, or one of the few before it. */
static void run_backward(program *p, uint64_t events)
{
    while (p->active_count > 0 && !is_done(p, events)) {
        uint32_t last = p->active_count - 1, reach = last < LATE ? last + 1 : LATE;
        uint32_t picked = last - (below(p, 4) ? 0 : below(p, reach));
        tensor t = p->active[picked];
        make_short_lived(p, BACKWARD, (uint32_t)((uint64_t)last * LAYERS / p->most_active));
        p->active[picked] = p->active[last];
        p->active_count--;
        free_tensor(p, &t);
    }
}

static void mark_step(program *p, uint32_t step, bool is_start)
{
    char name[32];
    int length = snprintf(name, sizeof name, "ProfilerStep#%u", step);
    mv_annotation_row row = MV_ANNOTATION_ROW;

    row.name = mv_build_string(&p->build, name, (uint64_t)length);
    row.time_us = p->time_us;
    row.stage = is_start ? MV_STAGE_START : MV_STAGE_END;
    mv_build_annotation(&p->build, &row);
}

static void train(program *p, uint64_t events, uint32_t live)
{
    p->batch = 16;
    for (uint32_t i = 0; i < live / 5 * 2 && !is_done(p, events); i++)
        make_tensor(p, bytes_of(p, i % LAYERS, i % OPS), p->site[OPTIMIZER][i % LAYERS][i % OPS]);
    for (uint32_t step = 0; !is_done(p, events); step++) {
        mark_step(p, step, true);
        p->batch = below(p, 4) ? 16 : 12 + below(p, 8);
        run_forward(p, events);
        make_tensor(p, 512, p->site[FORWARD][LAYERS - 1][0]); /* the loss, which is never freed */
        run_backward(p, events);
        mark_step(p, step, false);
    }
}

/* ---- the final heap ----------------------------------------------------------------------- */

static int by_address(const void *left, const void *right, void *blocks)
{
    const mv_replay_block *b = blocks;
    uint64_t x = b[*(const uint32_t *)left].addr, y = b[*(const uint32_t *)right].addr;

    return x < y ? -1 : x > y;
}

static void put_segment(program *p, uint32_t first)
{
    const mv_replay_block *b = p->heap.blocks;
    mv_segment_row s = MV_SEGMENT_ROW;

    s.address = b[first].addr;
    s.requested = 0;
    s.first_block = p->trace.blocks.count;
    s.stream = mv_build_stream(&p->build, 0);
    s.pool = MV_DEFAULT_POOL;
    s.kind = p->heap.pools[p->heap.orders[b[first].order].pool].is_small ? MV_SEGMENT_SMALL
                                                                         : MV_SEGMENT_LARGE;
    for (uint32_t i = first; i != MV_NO_ROW; i = b[i].next) {
        bool is_used = b[i].state == MV_REPLAY_USED;
        mv_block_row row = MV_BLOCK_ROW;
        row.address = b[i].addr;
        row.size = b[i].size;
        row.requested = is_used ? b[i].requested : 0;
        row.state = is_used ? MV_BLOCK_ALLOCATED : MV_BLOCK_INACTIVE;
        mv_build_block(&p->build, &row);
        s.total_size += row.size;
        s.allocated += is_used ? row.size : 0;
        s.requested += row.requested;
        s.blocks++;
    }
    s.active = s.allocated;
    mv_build_segment(&p->build, &s);
}

static bool put_heap(program *p)
{
    uint32_t *first = mv_push_array(&p->arena, uint32_t, p->heap.count), count = 0;

    if (!first)
        return false;
    for (uint32_t i = 0; i < p->heap.count; i++)
        if (p->heap.blocks[i].state != MV_REPLAY_GONE && p->heap.blocks[i].prev == MV_NO_ROW)
            first[count++] = i;
    qsort_r(first, count, sizeof *first, by_address, p->heap.blocks);
    for (uint32_t i = 0; i < count; i++)
        put_segment(p, first[i]);
    return true;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Runs the training loop. */
static mv_code run(program *p, mv_budget *budget, uint64_t events, uint32_t live)
{
    mv_alloc_conf conf;
    char why[128];

    p->random = 1;
    p->time_us = 1700000000000000;
    p->most_active = live / 5 * 6 + 1;
    mv_arena_init(&p->arena, budget);
    mv_arena_init(&p->of_piece, budget);
    p->active = mv_push_array(&p->arena, tensor, p->most_active);
    if (!p->active || !mv_alloc_conf_parse("", &conf, why, sizeof why) ||
        !mv_replay_heap_init(&p->heap, &p->arena, &conf, 1))
        return mv_fail(&p->err, MV_NOMEM, MV_NO_OFFSET, "%u activations", p->most_active);
    mv_build_init(&p->build, &p->arena, &p->trace);
    make_sites(p);
    if (p->counted && !begin_piece(p))
        return mv_fail(&p->err, MV_NOMEM, MV_NO_OFFSET, "%s", "piece");
    train(p, events, live);
    if (p->counted && p->err.code == MV_OK)
        put_piece(p);
    if (p->failed)
        mv_fail(&p->err, MV_NOMEM, MV_NO_OFFSET, "event %llu", (unsigned long long)p->events);
    return p->err.code;
}

/* The history in the digest: the trace begins with an empty heap. */
static void set_history(program *p)
{
    mv_digest *d = &p->digest;

    d->history = MV_HISTORY_COMPLETE;
    snprintf(d->history_why, sizeof d->history_why, "%s", HISTORY);
}

/* Makes the tables of the whole trace, without the events' columns. */
static mv_code finish(program *p)
{
    mv_build_ranges ranges = {.device_count = 1, .devices = &(mv_range){0, 0}};

    if (!put_heap(p))
        return mv_fail(&p->err, MV_NOMEM, MV_NO_OFFSET, "%s", "final heap");
    p->trace.calls = p->calls;
    ranges.segments = (mv_range){0, p->build.segments.count};
    if (mv_build_finish(&p->build, &ranges, &p->err) == MV_OK)
        p->trace.devices[0].events.count = (uint32_t)p->events;
    set_history(p);
    return p->err.code;
}

static mv_code write_file(program *p, mv_budget *budget, uint64_t events, uint32_t live,
                          const char *path, mv_err *err)
{
    static program again;
    mv_write_opts opts = {.digests = &p->digest};
    mv_sink sink;

    if (mv_sink_open(&sink, path, err) != MV_OK)
        return err->code;
    again.counted = p;
    again.writer = mv_snapshot_begin(&p->arena, &p->trace, &opts, &sink);
    if (again.writer && run(&again, budget, events, live) != MV_OK)
        *err = again.err;
    mv_snapshot_end(again.writer, err->code == MV_OK ? err : &again.err);
    mv_arena_release(&again.of_piece);
    mv_arena_release(&again.arena);
    if (err->code == MV_OK)
        return mv_sink_commit(&sink, err);
    mv_sink_abort(&sink);
    return err->code;
}

int main(int argc, char **argv)
{
    static program p;
    mv_budget budget = {.limit = (uint64_t)64 << 30};
    unsigned long long events = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned long live = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    mv_err err = {0};

    if (events == 0 || events > UINT32_MAX / 2 || live == 0 || live > UINT32_MAX / 8) {
        fprintf(stderr, "usage: make_trace EVENTS LIVE OUT.bin\n");
        return 2;
    }
    if (run(&p, &budget, events, (uint32_t)live) != MV_OK || finish(&p) != MV_OK)
        err = p.err;
    else
        write_file(&p, &budget, events, (uint32_t)live, argv[3], &err);
    if (err.code != MV_OK)
        fprintf(stderr, "make_trace: %s: %s\n", mv_code_text(err.code), err.detail);
    else
        printf("%u events, %u steps, %.1f GiB reserved at most\n", p.trace.devices[0].events.count,
               p.trace.annotations.count / 2, (double)p.heap.peak.reserved / (1u << 30));
    mv_arena_release(&p.arena);
    return err.code != MV_OK;
}
