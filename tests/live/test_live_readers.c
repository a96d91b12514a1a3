/* A live file that is read again and again while it grows: each reading gives the trace of a reading
 * of the whole file, but decodes only what is new. */
#include <unistd.h>

#include "capture/wire_folded.h"
#include "tests/fixture/fixture_live.h"

enum { LATE_US = 2000000 };

typedef struct {
    mvt_live *live;
    const char *path;
    mv_budget budget;
    mv_live_readers *readers;
    uint64_t now_us;
    mv_arena arena; /* of `trace` */
    mv_trace trace;
} growing;

static void end(void *what)
{
    growing *g = what;

    mv_live_readers_return(g->readers, &g->arena);
    mv_arena_release(&g->arena);
    mv_live_readers_close(g->readers);
    cr_assert_eq(g->budget.used, 0);
}

static growing *begin(mvt_live *l)
{
    growing *g = calloc(1, sizeof *g);

    cr_assert_not_null(g);
    mvt_at_end(free, g);
    *g = (growing){.live = l, .budget.limit = (uint64_t)1 << 32};
    g->path = mvt_temp_file(mvt_live_bytes(l));
    g->readers = mv_live_readers_open(&g->budget);
    cr_assert_not_null(g->readers);
    mv_arena_init(&g->arena, &g->budget);
    mvt_at_end(end, g);
    return g;
}

static mv_live_readers_state status(const growing *g)
{
    return mv_live_readers_status(g->readers);
}

/* Reads what the file contains now. */
static bool read_more(growing *g)
{
    mv_live_readers_return(g->readers, &g->arena);
    mv_arena_release(&g->arena);
    return mv_live_readers_read(g->readers, g->path, g->now_us, &g->arena, &g->trace);
}

static void put(const growing *g)
{
    mvt_file_put(g->path, mvt_live_bytes(g->live));
}

static void expect_facts(const mv_trace *a, const mv_trace *b)
{
    cr_assert_eq(a->facts.count, b->facts.count);
    for (uint32_t i = 0; i < a->facts.count; i++) {
        const char *key = mv_string_text(a, a->facts.key[i]), *value = mv_fact_find(b, key);
        cr_assert(value && strcmp(mv_string_text(a, a->facts.value[i]), value) == 0, "%s", key);
    }
}

static mv_trace read_whole(const growing *g)
{
    mv_trace trace;

    mvt_ok(mv_trace_read(mvt_memory(), g->path, NULL, &trace, mvt_err()));
    return trace;
}

/* Compares all columns, notes and facts with those of a reading of the whole file. */
static void expect_whole(const growing *g)
{
    mv_trace whole = read_whole(g);
    const char *why = mvt_unsound(&g->trace);

    cr_assert_null(why, "%s", why);
    why = mvt_content_difference(mvt_memory(), &whole, &g->trace);
    cr_assert_null(why, "%s", why);
    for (unsigned i = 0; i < MV_NOTE_COUNT; i++) {
        const mv_note *a = &whole.notes[i], *b = &g->trace.notes[i];
        cr_assert_eq(a->count, b->count, "note %u: %llu instead of %llu", i,
                     (unsigned long long)b->count, (unsigned long long)a->count);
        cr_assert_str_eq(a->first, b->first);
    }
    expect_facts(&whole, &g->trace);
    cr_assert_eq(whole.calls, g->trace.calls);
    cr_assert_eq(whole.strings.count, g->trace.strings.count);
    cr_assert_eq(whole.frames.count, g->trace.frames.count);
    cr_assert_eq(whole.stacks.count, g->trace.stacks.count);
    cr_assert_eq(whole.origin.data_bytes, g->trace.origin.data_bytes);
    cr_assert_eq(whole.origin.file_bytes, g->trace.origin.file_bytes);
}

/* Reads what the file contains now, and compares it. */
static void expect_read(growing *g)
{
    cr_assert(read_more(g));
    expect_whole(g);
}

/* ---- a program that uses every kind of record -------------------------------------------- */

static uint32_t stack_of(mvt_live *l, uint32_t i)
{
    const char *text = mvt_format("%sf%u:a.py:%u;main:a.py:1",
                                  i % 4   ? ""
                                  : i % 8 ? "@/nowhere/liba.so+4096;"
                                          : "@/nowhere/libb.so+8192;",
                                  i % 6, 1 + i % 11 + i / 100);

    return mvt_live_stack(l, text);
}

static void write_calls(mvt_live *l, uint32_t i, uint32_t thread)
{
    uint32_t cuda = mvt_live_string(l, "/venv/torch/lib/libc10_cuda.so");
    uint32_t other = mvt_live_string(l, i % 2 ? "/lib/libnccl.so" : "/lib/libcublas.so");
    uint64_t segment = 0x7f0000000000 + (uint64_t)(i % 5) * (32 << 20);

    if (i % 17 == 6)
        mvt_live_call(l, .thread = thread, .addr = segment, .size = 32 << 20, .device = i % 2,
                      .action = MV_API_ALLOC, .text = mvt_live_string(l, "cudaMalloc"),
                      .library = cuda, .stack = stack_of(l, i));
    if (i % 29 == 11)
        mvt_live_call(l, .thread = thread, .addr = segment, .action = MV_API_FREE,
                      .text = mvt_live_string(l, "cudaFree"), .library = cuda);
    if (i % 11 == 3)
        mvt_live_call(l, .thread = thread, .addr = 0x500000000000 + (uint64_t)i * 4096,
                      .size = 100 + i, .action = i % 3 ? MV_API_ALLOC_HOST : MV_API_ALLOC_ASYNC,
                      .handle = 5, .text = mvt_live_string(l, "cudaMallocHost"), .library = other,
                      .stack = stack_of(l, i));
    if (i % 31 == 4)
        mvt_live_call(l, .thread = thread, .action = MV_API_POOL_CREATE, .handle = 5,
                      .device = i % 2);
    if (i % 11 == 5)
        MVT_LIVE(l, LAUNCHES, .thread = thread, .number = i * 3);
    if (i % 7 == 5)
        mvt_live_heap(l, .thread = thread, .heap_action = i % 2 ? MV_HEAP_ALLOC : MV_HEAP_FREE,
                      .addr = 0x1000 + i % 3 * 64, .size = 64, .text = mvt_live_string(l, "rmm"),
                      .stack = stack_of(l, i));
}

/* An expandable segment that is mapped and unmapped in pieces. */
static void write_mapping(mvt_live *l, uint32_t i)
{
    mvt_live_args a = {.addr = 0x600000000000 + (uint64_t)(i % 4) * (2 << 20),
                       .size = 2 << 20,
                       .library = mvt_live_string(l, "/venv/torch/lib/libc10_cuda.so"),
                       .stack = mvt_live_stack(l, "grow:b.py:7")};

    a.action = i / 4 % 2 ? MV_API_UNMAP : MV_API_MAP;
    mvt_live_event(l, MV_LIVE_EVENT_CALL, a);
}

static void write_ranges(mvt_live *l, uint32_t i, uint32_t thread)
{
    uint32_t text = mvt_live_string(l, i % 2 ? "step" : "epoch");

    if (i % 13 == 5)
        MVT_LIVE(l, MARK, .thread = thread, .text = text);
    if (i % 13 == 6)
        MVT_LIVE(l, PUSH, .thread = thread, .text = text);
    if (i % 26 == 9)
        MVT_LIVE(l, POP, .thread = thread, .text = text);
    if (i % 19 == 2)
        MVT_LIVE(l, BEGIN, .thread = thread, .number = i, .text = text);
    if (i % 19 == 12)
        MVT_LIVE(l, END, .thread = 3 - thread, .number = i - (i % 2 ? 10 : 9));
}

static void write_step(mvt_live *l, uint32_t i)
{
    uint64_t addr = 0x7f0000000000 + (uint64_t)(i * 7 % 23) * 65536;
    uint32_t thread = 1 + (i % 3 == 0), device = i % 5 == 3;
    bool cpu = i % 9 == 1 && i > 40;

    if (i % 3)
        mvt_live_block(l, .thread = thread, .addr = addr, .size = 512 * (1 + i % 9),
                       .device = device, .cpu = cpu, .stack = stack_of(l, i));
    else
        mvt_live_free(l, .thread = thread, .addr = addr, .size = 512, .device = device);
    if (i % 9 == 4)
        MVT_LIVE(l, TOTALS, .thread = thread, .device = device, .allocated = i, .reserved = 4096);
    if (i % 53 == 20)
        MVT_LIVE(l, OOM, .thread = thread, .size = 1 << 30, .stack = stack_of(l, i));
    write_calls(l, i, thread);
    write_ranges(l, i, thread);
    if (i % 6 == 2)
        write_mapping(l, i / 6);
    if (i % 19 == 7)
        mvt_live_next_chunk(l, thread, i % 2);
    if (i % 23 == 8)
        mvt_live_next_chunk(l, 0, true);
    if (i % 70 == 33)
        mvt_live_block(l, .thread = thread, .addr = addr, .size = 512, .stack = 60000);
    if (i == 150)
        mvt_live_fact(l, "rank", "3");
    if (i == 200)
        mvt_live_fact(l, "lost_bound", "7");
}

static void write_steps(mvt_live *l, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        write_step(l, i);
}

Test(live_readers, at_any_size_the_trace_is_that_of_the_whole_file)
{
    static const uint32_t steps[] = {1, 3, 20, 127};

    for (unsigned k = 0; k < sizeof steps / sizeof *steps; k++) {
        growing *g = begin(mvt_live_new());
        for (uint32_t i = 0; i < 300; i++) {
            write_step(g->live, i);
            if (i % steps[k])
                continue;
            put(g);
            expect_read(g);
        }
        mvt_live_fact(g->live, "end_us", "77");
        put(g);
        expect_read(g);
        cr_assert_gt(g->trace.devices[0].events.count, 200);
        cr_assert_eq(g->trace.device_count, 3);
        cr_assert_gt(g->trace.segments.count, 3);
    }
}

Test(live_readers, an_update_reads_and_decodes_only_what_is_new)
{
    growing *g = begin(mvt_live_new());
    mv_live_readers_state before, after;

    write_steps(g->live, 0, 20000);
    put(g);
    cr_assert(read_more(g));
    before = status(g);
    cr_assert_gt(before.records, 20000);
    cr_assert_gt(before.bytes, 500000);
    write_steps(g->live, 20000, 20010);
    put(g);
    cr_assert(read_more(g));
    after = status(g);
    cr_assert_leq(after.records - before.records, 40);
    cr_assert_leq(after.bytes - before.bytes, 20000);
    expect_whole(g);
    cr_assert(read_more(g));
    cr_assert_eq(status(g).records, after.records);
    expect_whole(g);
}

/* Blocks on one device, of which some traces share the events. */
static void write_blocks(mvt_live *l, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        mvt_live_block(l, .addr = 4096 * (uint64_t)i, .size = 512, .stack = stack_of(l, i % 50));
        if (i % 700 == 699)
            write_mapping(l, i / 700 % 4);
    }
}

/* A trace stays as it is while newer records are read, its events move, and other traces end. */
Test(live_readers, a_trace_does_not_change_when_later_ones_are_made)
{
    enum { TRACES = 12, EVENTS = 999 };
    growing *g = begin(mvt_live_new());
    mv_arena arenas[TRACES];
    mv_trace traces[TRACES], whole[TRACES];
    uint32_t shared = 0;

    for (uint32_t i = 0; i < TRACES; i++) {
        write_blocks(g->live, i * EVENTS, (i + 1) * EVENTS);
        put(g);
        mv_arena_init(&arenas[i], &g->budget);
        cr_assert(mv_live_readers_read(g->readers, g->path, 0, &arenas[i], &traces[i]));
        whole[i] = read_whole(g);
        shared += i && traces[i].devices[0].events.addr == traces[i - 1].devices[0].events.addr;
        if (i == 9)
            mv_live_readers_drop(g->readers);
        for (uint32_t k = 0; k <= i; k++) {
            if (k % 3 == 1 && k + 4 < i)
                continue;
            const char *why = mvt_content_difference(mvt_memory(), &whole[k], &traces[k]);
            cr_assert_null(why, "%s of trace %u after %u", why, k, i);
            if (k % 3 != 1 || k + 4 != i)
                continue;
            mv_live_readers_return(g->readers, &arenas[k]);
            mv_arena_release(&arenas[k]);
        }
    }
    cr_expect_gt(shared, 2);
    for (uint32_t i = 0; i < TRACES; i++) {
        mv_live_readers_return(g->readers, &arenas[i]);
        mv_arena_release(&arenas[i]);
    }
}

/* ---- calls under way --------------------------------------------------------------------- */

static growing *begin_gap(void)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .thread = 1, .sequence = 1, .time_us = 1000, .addr = 4096, .size = 512);
    mvt_live_block(l, .thread = 2, .sequence = 3, .time_us = 1030, .addr = 8192, .size = 512);
    return begin(l);
}

static void end_gap(growing *g)
{
    mvt_live_free(g->live, .thread = 1, .sequence = 2, .time_us = 1020, .addr = 4096, .size = 512);
    put(g);
}

Test(live_readers, records_after_a_call_under_way_wait_for_it)
{
    growing *g = begin_gap();

    g->now_us = 1030 + LATE_US;
    cr_assert(read_more(g));
    cr_assert(status(g).are_waiting);
    cr_assert_eq(g->trace.devices[0].events.count, 1);
    end_gap(g);
    cr_assert(read_more(g));
    cr_assert_not(status(g).are_waiting);
    expect_whole(g);
    cr_assert_eq(status(g).records, 3);
}

Test(live_readers, a_call_that_takes_longer_is_under_way_and_inserted_when_it_ends)
{
    growing *g = begin_gap();

    g->now_us = 1031 + LATE_US;
    cr_assert(read_more(g));
    cr_assert_eq(g->trace.notes[MV_NOTE_UNDER_WAY].count, 1);
    expect_whole(g);
    end_gap(g);
    expect_read(g);
    cr_assert_eq(g->trace.devices[0].events.action[1], MV_ACTION_FREE_REQUESTED);
    mvt_live_block(g->live, .thread = 1, .addr = 4096, .size = 512);
    put(g);
    uint64_t records = status(g).records;
    expect_read(g);
    cr_assert_eq(status(g).records, records + 1, "only the late record made it read again");
}

Test(live_readers, lost_numbers_are_counted_as_in_the_whole_file)
{
    mvt_live *l = mvt_live_new();
    growing *g = begin(l);

    g->now_us = UINT64_MAX - 1;
    for (uint32_t i = 1; i < 60; i++) {
        mvt_live_block(l, .thread = 1 + i % 3, .sequence = 5 * i - i % 4, .size = 512,
                       .addr = 4096 * (uint64_t)i);
        if (i % 7 == 0)
            mvt_live_next_chunk(l, 1 + i % 3, i % 2);
        put(g);
        expect_read(g);
    }
    cr_assert_gt(g->trace.notes[MV_NOTE_LOST].count, 100);
    cr_assert_gt(g->trace.notes[MV_NOTE_UNDER_WAY].count, 0);
}

/* ---- files that change ------------------------------------------------------------------- */

static mvt_live *another(void)
{
    mvt_live *other = mvt_live_new();

    write_steps(other, 1000, 1050);
    return other;
}

Test(live_readers, a_replaced_file_is_read_from_its_beginning)
{
    growing *g = begin(mvt_live_new());

    write_steps(g->live, 0, 100);
    put(g);
    cr_assert(read_more(g));
    cr_assert_eq(rename(mvt_temp_file(mvt_live_bytes(another())), g->path), 0);
    expect_read(g);
}

Test(live_readers, a_file_that_became_shorter_is_read_from_its_beginning)
{
    growing *g = begin(mvt_live_new());
    mvt_live *other = another();

    write_steps(g->live, 0, 200);
    put(g);
    cr_assert(read_more(g));
    cr_assert_lt(mvt_live_bytes(other).length, mvt_live_bytes(g->live).length);
    cr_assert_eq(truncate(g->path, 0), 0);
    mvt_file_put(g->path, mvt_live_bytes(other));
    expect_read(g);
}

/* As `cp` does it: the file keeps its inode. */
Test(live_readers, a_larger_recording_that_is_copied_over_it_is_read_from_its_beginning)
{
    growing *g = begin(mvt_live_new());
    mvt_live *other = mvt_live_new();

    mvt_live_fact(g->live, "start_us", "5");
    write_steps(g->live, 0, 50);
    put(g);
    cr_assert(read_more(g));
    cr_expect_eq(mv_live_readers_status(g->readers).replaced, 0);
    mvt_live_fact(other, "start_us", "7");
    write_steps(other, 1000, 1200);
    cr_assert_geq(mvt_live_bytes(other).length, mvt_live_bytes(g->live).length);
    mvt_file_put(g->path, mvt_live_bytes(other));
    expect_read(g);
    cr_expect_eq(mv_live_readers_status(g->readers).replaced, 1);
}

Test(live_readers, facts_that_change_all_times_make_it_read_again)
{
    growing *g = begin(mvt_live_new());

    write_step(g->live, 1);
    put(g);
    cr_assert(read_more(g));
    mvt_live_fact(g->live, "realtime_us", "1800000000000000");
    put(g);
    expect_read(g);
}

/* ---- files that are read whole ----------------------------------------------------------- */

/* Damages a byte of a chunk that was begun after the first reading, `at` bytes before the end of the
 * file, and expects that the file is read whole from then on. */
static void expect_given_up(uint64_t at)
{
    growing *g = begin(mvt_live_new());
    mv_span bytes;

    write_steps(g->live, 0, 60);
    put(g);
    cr_assert(read_more(g));
    write_steps(g->live, 60, 260);
    for (uint32_t thread = 0; thread < 3; thread++)
        mvt_live_next_chunk(g->live, thread, true);
    bytes = mvt_live_bytes(g->live);
    uint8_t *damaged = mv_arena_push(mvt_memory(), bytes.length, 1);
    cr_assert_not_null(damaged);
    memcpy(damaged, bytes.data, bytes.length);
    damaged[bytes.length - at] ^= 0xff;
    mvt_file_put(g->path, (mv_span){damaged, bytes.length});
    cr_assert_not(read_more(g), "byte %llu from the end", (unsigned long long)at);
    put(g);
    cr_assert_not(read_more(g));
}

Test(live_readers, damaged_files_are_read_whole)
{
    enum { RECORDS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) + 3 };

    expect_given_up(MV_LIVE_CHUNK_BYTES - RECORDS);
    expect_given_up(2 * MV_LIVE_CHUNK_BYTES - RECORDS);
    expect_given_up(2 * MV_LIVE_CHUNK_BYTES - 9); /* in the header */
    expect_given_up(3 * MV_LIVE_CHUNK_BYTES - 9);
}

Test(live_readers, other_files_are_left_to_other_readers)
{
    growing *g = begin(mvt_live_new());
    mv_span text = {(const uint8_t *)"not a recording", 15};

    g->path = "/dev/null";
    cr_assert_not(read_more(g));
    g->path = "/nowhere/x.live";
    cr_assert_not(read_more(g));
    g->path = mvt_temp_file(text);
    cr_assert_not(read_more(g));
}

/* The records of a bounded recording are folded into a second file. */
Test(live_readers, a_recording_that_becomes_bounded_is_read_whole)
{
    growing *g = begin(mvt_live_new());
    char live[512], folded[600];

    write_step(g->live, 1);
    put(g);
    snprintf(live, sizeof live, "%s.live", g->path);
    snprintf(folded, sizeof folded, "%s%s", live, MV_FOLDED_SUFFIX);
    cr_assert_eq(rename(g->path, live), 0);
    g->path = live;
    cr_assert(read_more(g));
    mvt_file_put(folded, mvt_live_bytes(g->live));
    cr_assert_not(read_more(g));
    unlink(folded);
    unlink(live);
}

Test(live_readers, memory_may_run_out_at_any_point)
{
    growing *g = begin(mvt_live_new());
    mv_trace trace;

    write_steps(g->live, 0, 300);
    put(g);
    for (mvt_limit l = {.step = 40000}; mvt_more_memory(&l);) {
        mv_live_readers *readers = mv_live_readers_open(&l.budget);
        bool is_read = readers && mv_live_readers_read(readers, g->path, 0, &l.arena, &trace);
        l.code = is_read ? MV_OK : MV_NOMEM;
        if (readers)
            mv_live_readers_return(readers, &l.arena);
        mv_live_readers_close(readers);
    }
}
