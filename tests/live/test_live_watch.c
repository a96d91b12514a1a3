/* What a growing recording contains. Each update reads only new data, and gives the same results as
 * reading the whole file. */
#include <fcntl.h>
#include <unistd.h>

#include "analyze/ledger/ledger.h"
#include "analyze/levels/levels.h"
#include "analyze/top/top.h"
#include "parse/live/live_watch.h"
#include "record/fold.h"
#include "tests/fixture/fixture_live.h"
#include "tests/fixture/fixture_training.h"

enum { SLOTS = 40, SPAN_US = 900, LONG_US = 400000, MOST_TEXT = 200, MOST_ROWS = 8192 };

/* ---- a program --------------------------------------------------------------------------- */

typedef struct {
    mvt_live *live;
    uint32_t seed;
    uint64_t block[2][SLOTS], call[SLOTS], heap[2][SLOTS]; /* block sizes; 0: free */
    uint32_t segments;
} program;

static uint32_t dice(program *p, uint32_t sides)
{
    p->seed = p->seed * 1664525 + 1013904223;
    return (p->seed >> 8) % sides;
}

static uint32_t some_stack(program *p)
{
    const char *text = mvt_format("f%u:a.py:%u;main:a.py:1", dice(p, 3), dice(p, 7));

    return mvt_live_stack(p->live, text);
}

static program *start(uint32_t seed)
{
    program *p = mv_push_struct(mvt_memory(), program);

    *p = (program){.live = mvt_live_new(), .seed = seed};
    return p;
}

/* A heap's block may begin at the address of the block that it was cut from. */
static void use_heap(program *p)
{
    uint32_t slot = dice(p, SLOTS), heap = dice(p, 2);
    uint64_t *size = &p->heap[heap][slot];
    bool is_resized = *size && dice(p, 2);
    mvt_live_args args = {.addr = 0x300000 + slot * 65536,
                          .heap_action = is_resized ? MV_HEAP_RESIZE
                                         : *size    ? MV_HEAP_FREE
                                                    : MV_HEAP_ALLOC,
                          .text = mvt_live_string(p->live, heap ? "arena" : "pool"),
                          .stack = some_stack(p)};

    if (dice(p, 60) == 0) {
        args.heap_action = MV_HEAP_RESET;
        args.addr = 0;
        memset(p->heap[heap], 0, sizeof p->heap[heap]);
    } else {
        *size = *size && !is_resized ? 0 : 256 * (1 + dice(p, 50));
        args.size = *size;
    }
    mvt_live_event(p->live, MV_LIVE_EVENT_HEAP, args);
}

static void run(program *p, uint32_t events)
{
    for (uint32_t i = 0; i < events; i++) {
        uint32_t what = dice(p, 40);
        if (what < 28) {
            uint32_t device = dice(p, 5) == 0, slot = dice(p, SLOTS);
            uint64_t *size = &p->block[device][slot];
            uint64_t addr = 0x7f0000000000 + ((uint64_t)device << 30) + (uint64_t)slot * 16384;
            if (*size) {
                mvt_live_free(p->live, .device = device, .addr = addr, .size = *size);
                *size = 0;
            } else {
                *size = 512 * (1 + dice(p, 30));
                mvt_live_block(p->live, .thread = dice(p, 3), .device = device, .addr = addr,
                               .size = *size, .stack = some_stack(p));
            }
        } else if (what < 33) {
            /* Every kind of call has a separate slot, so only free slots allocate. */
            static const struct {
                mv_api_action make, end;
                const char *api;
            } kinds[] = {{MV_API_ALLOC, MV_API_FREE, "cudaMalloc"},
                         {MV_API_ALLOC_ASYNC, MV_API_FREE_ASYNC, "cudaMallocAsync"},
                         {MV_API_ALLOC_HOST, MV_API_FREE_HOST, "cudaMallocHost"},
                         {MV_API_ALLOC_MANAGED, MV_API_FREE, "cudaMallocManaged"}};
            uint32_t slot = dice(p, SLOTS), kind = slot % 4;
            uint64_t addr = 0x500000000000 + (uint64_t)slot * (2 << 20);
            mvt_live_args args = {.addr = addr,
                                  .action = p->call[slot] ? kinds[kind].end : kinds[kind].make,
                                  .text = mvt_live_string(p->live, kinds[kind].api),
                                  .library = mvt_live_string(p->live, slot % 3 ? "/lib/libnccl.so.2"
                                                                               : "/lib/libx.so"),
                                  .stack = some_stack(p)};
            p->call[slot] = p->call[slot] ? 0 : (1 + dice(p, 4)) * 4096;
            args.size = p->call[slot];
            mvt_live_event(p->live, MV_LIVE_EVENT_CALL, args);
        } else if (what < 37)
            use_heap(p);
        else if (what == 37)
            mvt_live_segment(p->live, 0x7f0000000000 + ((uint64_t)p->segments++ << 21), 2 << 20);
        else if (what == 38)
            MVT_LIVE(p->live, MARK, .text = mvt_live_string(p->live, "step"));
        else
            mvt_live_next_chunk(p->live, 0, dice(p, 2));
    }
}

/* ---- both kinds of reading --------------------------------------------------------------- */

typedef struct {
    const char *path;
    mv_live_watch *watch;
    uint64_t now_us, span_us;
} looking;

static void close_watch(void *watch)
{
    mv_live_watch_close(watch);
}

/* Watches the file until the test ends. */
static looking look_at(const char *path, uint64_t span_us)
{
    looking l = {.path = path, .span_us = span_us};

    l.watch = mv_live_watch_open(mvt_memory(), path, mvt_err());
    cr_assert_not_null(l.watch, "%s", mvt_err()->detail);
    mvt_at_end(close_watch, l.watch);
    return l;
}

static looking look_at_program(program *p)
{
    return look_at(mvt_temp_file(mvt_live_bytes(p->live)), SPAN_US);
}

static mv_live_watch_state look(looking *l)
{
    mvt_ok(mv_live_watch_update(l->watch, l->now_us, l->span_us, mvt_err()));
    return mv_live_watch_status(l->watch);
}

typedef struct {
    char rows[MOST_ROWS][MOST_TEXT];
    uint32_t count;
} answers;

__attribute__((format(printf, 2, 3))) static void append_answer(answers *t, const char *format, ...)
{
    va_list args;

    cr_assert_lt(t->count, MOST_ROWS);
    va_start(args, format);
    vsnprintf(t->rows[t->count++], MOST_TEXT, format, args);
    va_end(args);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void append_ledger(answers *t, const mv_trace *read, uint32_t device)
{
    mv_lives lives = mvt_lives(mvt_memory(), read, device);
    mv_ledger ledger;

    mvt_ok(mv_ledger_find(mvt_memory(), read, &lives, (mv_ledger_query){.when = MV_LEDGER_END},
                          &ledger, mvt_err()));
    for (uint32_t i = 0; i < ledger.count; i++)
        append_answer(
            t, "device %u: %s %s %llu in %llu", device, mv_string_text(read, ledger.by[i].library),
            mv_string_text(read, ledger.by[i].api), (unsigned long long)ledger.by[i].bytes,
            (unsigned long long)ledger.by[i].count);
}

static answers *append_trace(mv_trace *trace, const char *level, uint64_t now_us, uint64_t span_us,
                             bool is_whole, uint64_t used_before)
{
    answers *t = mv_push_struct(mvt_memory(), answers);
    mv_trace read = *trace;
    mv_top_query ask = {.now_us = (int64_t)now_us + mv_live_to_epoch_us(trace),
                        .grown_us = (int64_t)span_us};

    if (level)
        mvt_ok(mv_level_take_named(mvt_memory(), trace, level, mvt_err()));
    append_answer(t, "%u devices", trace->device_count);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const uint8_t *kinds = mv_frame_kinds(mvt_memory(), trace);
        mv_lives lives = mvt_lives(mvt_memory(), trace, i);
        mv_totals totals = mvt_audit_of(trace, i);
        mv_top top;
        mvt_ok(mv_top_find(mvt_memory(), trace, &lives, kinds, ask, &top, mvt_err()));
        append_answer(t, "device %u: %llu allocated, %llu reserved, %+lld %s", i,
                      (unsigned long long)totals.current.bytes.allocated,
                      (unsigned long long)totals.current.bytes.reserved, (long long)top.grown,
                      top.since_us != MV_NO_TIME || (!is_whole && used_before >> i & 1) ? "since"
                                                                                        : "in all");
        for (uint32_t k = 0; k < top.count; k++) {
            const mv_top_line *line = &top.lines[k];
            uint32_t frame = mv_culprit_frame(trace, kinds, line->stack).row;
            const mv_frames *f = &trace->frames;
            append_answer(t, "%s %s %lld: %llu in %u, %+lld, age %lld%s",
                          frame == MV_NO_ROW ? "-" : mv_string_text(trace, f->function[frame]),
                          frame == MV_NO_ROW ? "-" : mv_string_text(trace, f->file[frame]),
                          frame == MV_NO_ROW ? 0 : (long long)f->line[frame],
                          (unsigned long long)line->bytes, line->blocks, (long long)line->grown,
                          (long long)line->age_us, line->is_least_age ? " at least" : "");
        }
        if (!level)
            append_ledger(t, &read, i);
    }
    qsort(t->rows, t->count, MOST_TEXT, by_text);
    return t;
}

static void expect_same(looking *l, const char *level)
{
    mv_live_watch_state s = mv_live_watch_status(l->watch);
    mv_trace whole, followed;

    mvt_ok(mv_trace_read(mvt_memory(), l->path, NULL, &whole, mvt_err()));
    mvt_ok(mv_live_watch_trace(l->watch, mvt_memory(), &followed, mvt_err()));
    answers *a = append_trace(&whole, level, s.now_us, l->span_us, true, 0);
    answers *b = append_trace(&followed, level, s.now_us, l->span_us, false,
                              !level                       ? s.before.blocks
                              : strcmp(level, "all") == 0  ? s.before.blocks | s.before.calls
                              : strcmp(level, "cuda") == 0 ? s.before.calls
                                                           : s.before.heaps);
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        cr_assert_str_eq(a->rows[i], b->rows[i]);
    cr_assert_eq(a->count, b->count);
}

static void look_and_compare(looking *l)
{
    look(l);
    expect_same(l, NULL);
}

static void follow_with_cuts_of(uint32_t step, uint32_t seed)
{
    static const char *const levels[] = {NULL, "all", "cuda", "pool", "arena"};
    program *p = start(seed);

    run(p, 200);
    looking l = look_at_program(p);
    for (uint32_t i = 0; i < 600; i += step) {
        run(p, step);
        mvt_file_put(l.path, mvt_live_bytes(p->live));
        look(&l);
        expect_same(&l, levels[i / step % 5]);
    }
}

Test(live_watch, any_number_of_updates_gives_the_answers_of_a_whole_read)
{
    follow_with_cuts_of(13, 1);
    follow_with_cuts_of(150, 2);
    follow_with_cuts_of(599, 3);
}

Test(live_watch, an_update_reads_only_new_data)
{
    program *p = start(4);

    run(p, 10000);
    looking l = look_at_program(p);
    mv_live_watch_state first = look(&l);
    uint64_t grown = mvt_live_bytes(p->live).length;
    run(p, 100);
    grown = mvt_live_bytes(p->live).length - grown;
    mvt_file_put(l.path, mvt_live_bytes(p->live));
    mv_live_watch_state second = look(&l);
    cr_assert_gt(first.records, 19000);
    cr_assert_leq(second.records - first.records, 240);
    cr_assert_gt(first.bytes, 10 * (second.bytes - first.bytes));
    expect_same(&l, NULL);
    second = look(&l);
    first = look(&l);
    cr_assert_eq(first.records, second.records);
}

/* ---- files that change ------------------------------------------------------------------- */

Test(live_watch, another_file_with_the_name_is_read_from_its_beginning)
{
    program *p = start(5), *other = start(6);

    run(p, 300);
    looking l = look_at_program(p);
    look(&l);
    run(other, 200);
    cr_assert_eq(rename(mvt_temp_file(mvt_live_bytes(other->live)), l.path), 0);
    look_and_compare(&l);
    cr_assert_eq(unlink(l.path), 0);
    cr_assert_eq(mv_live_watch_update(l.watch, 0, SPAN_US, mvt_err()), MV_IO);
}

Test(live_watch, a_file_that_becomes_shorter_is_read_from_its_beginning)
{
    program *p = start(7), *other = start(10);

    for (uint32_t i = 0; i < 4; i++) {
        run(p, 100);
        mvt_live_next_chunk(p->live, 1, true);
        mvt_live_next_chunk(p->live, 2, true);
    }
    looking l = look_at_program(p);
    look(&l);
    run(other, 100);
    cr_assert_lt(mvt_live_bytes(other->live).length, mvt_live_bytes(p->live).length);
    cr_assert_eq(truncate(l.path, 0), 0);
    mvt_file_put(l.path, mvt_live_bytes(other->live));
    look_and_compare(&l);
}

Test(live_watch, a_larger_recording_that_is_copied_over_it_is_read_from_its_beginning)
{
    program *p = start(11), *other = start(12);

    mvt_live_fact(p->live, "start_us", "5");
    run(p, 100);
    looking l = look_at_program(p);
    look(&l);
    mvt_live_fact(other->live, "start_us", "7");
    run(other, 1000);
    cr_assert_geq(mvt_live_bytes(other->live).length, mvt_live_bytes(p->live).length);
    mvt_file_put(l.path, mvt_live_bytes(other->live));
    look_and_compare(&l);
}

Test(live_watch, a_recording_that_was_empty_in_between_is_read_from_its_beginning)
{
    program *p = start(13), *other = start(14);

    run(p, 100);
    looking l = look_at_program(p);
    look(&l);
    cr_assert_eq(truncate(l.path, 0), 0);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(mv_live_watch_update(l.watch, 0, SPAN_US, mvt_err()), MV_FORMAT);
    run(other, 50);
    mvt_file_put(l.path, mvt_live_bytes(other->live));
    look_and_compare(&l);
}

Test(live_watch, the_end_of_a_recording_is_seen)
{
    program *p = start(8);

    run(p, 50);
    looking l = look_at_program(p);
    cr_assert_not(look(&l).has_ended);
    mvt_live_fact(p->live, "end_us", "77");
    mvt_file_put(l.path, mvt_live_bytes(p->live));
    cr_assert(look(&l).has_ended);
}

/* Folds all records except the last ones, as the launcher does for a bounded recording. */
static void fold(const char *path, uint64_t kept)
{
    mv_live_alive *alive = mv_push_struct(mvt_memory(), mv_live_alive);
    mv_live_follow *tail = mv_live_follow_open_fd(mvt_memory(), open(path, O_RDONLY), mvt_err());
    mv_fold all = {.alive = alive};
    uint64_t count = 0;
    mv_live_record *rows = mv_push_array(mvt_memory(), mv_live_record, 4096);
    mv_span folded;

    cr_assert_not_null(tail);
    mv_live_alive_init(mvt_memory(), alive);
    mvt_ok(mv_live_follow_update(tail, 0, mvt_err()));
    while (mv_live_follow_next(tail, &rows[count]))
        count++;
    cr_assert_gt(count, kept);
    for (uint64_t i = 0; i < count - kept; i++)
        cr_assert(mv_live_alive_add(alive, &rows[i]));
    all.through = rows[count - kept - 1].sequence;
    all.places = mv_live_follow_places(tail, mvt_memory(), &all.place_count, &all.start);
    all.start = MV_LIVE_CHUNK_BYTES;
    cr_assert(mv_fold_bytes(mvt_memory(), &all, &folded));
    const char *name = mvt_format("%s" MV_FOLDED_SUFFIX, path);
    unlink(name);
    mvt_file_put(name, folded);
    mv_live_follow_close(tail);
}

/* The span of 90 records is either in the file or partly folded. */
static void follow_bounded(uint32_t kept)
{
    program *p = start(kept);

    run(p, 500);
    const char *name = mvt_format("%s.live", mvt_temp_file(mvt_live_bytes(p->live)));
    mvt_file_put(name, mvt_live_bytes(p->live));
    looking l = look_at(name, SPAN_US);
    for (uint32_t i = 0; i < 6; i++) {
        look_and_compare(&l);
        fold(name, kept);
        look_and_compare(&l);
        run(p, 60);
        mvt_file_put(name, mvt_live_bytes(p->live));
    }
}

Test(live_watch, bounds_that_drop_old_records_change_nothing)
{
    follow_bounded(150);
    follow_bounded(20);
}

Test(live_watch, training_runs_have_the_answers_of_a_whole_reading)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        mvt_training_truth truth;
        mvt_trace *t = mvt_new();

        mvt_training(t, seed, (mvt_leak)(seed % MVT_LEAK_COUNT), &truth);
        looking l = look_at(mvt_temp_file(mvt_live_of(mvt_done(t))), LONG_US);
        look_and_compare(&l);
    }
}

Test(live_watch, memory_may_run_out_at_any_point)
{
    program *p = start(11);
    mv_trace trace;

    run(p, 300);
    const char *path = mvt_temp_file(mvt_live_bytes(p->live));
    for (mvt_limit l = {.step = 40000}; mvt_more_memory(&l);) {
        mv_live_watch *w = mv_live_watch_open(&l.arena, path, mvt_err());
        l.code = w ? mv_live_watch_update(w, 0, SPAN_US, mvt_err()) : mvt_err()->code;
        if (l.code == MV_OK)
            l.code = mv_live_watch_trace(w, &l.arena, &trace, mvt_err());
        mv_live_watch_close(w);
    }
}
