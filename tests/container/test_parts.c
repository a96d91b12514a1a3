/* Parts of a container: a window of events gives the same output as the whole file. The slow model
 * reads the whole file, without digests. */
#include "parse/model/versions.h"
#include "tests/container/fixture_files.h"
#include "tests/fixture/fixture_program.h"

enum { CHUNK = 65536, EVENTS = 5 * CHUNK + 1000, ADDRESSES = 700 };

/* Two devices that reuse their addresses again and again. The second device has a tenth of the
 * events. */
static const mv_trace *make_trace(void)
{
    mvt_trace *t = mvt_new();
    bool used[2][ADDRESSES] = {{false}};
    uint64_t seed = 5;

    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t device = i % 11 == 0;
        uint32_t at = (uint32_t)(mvt_random_next(&seed) % ADDRESSES);
        mvt_event_args args = {.device = device,
                               .addr = 0x7f0000000000 + at * 4096,
                               .bytes = 512 + at,
                               .stack = at % 2 ? "step:train.py:7" : "load:data.py:3",
                               .time_us = 1000 + (int64_t)i};
        mvt_event(t, used[device][at] ? MV_ACTION_FREE_COMPLETED : MV_ACTION_ALLOC, args);
        used[device][at] = !used[device][at];
    }
    for (uint32_t i = 1; i < 5; i++)
        mvt_mark(t, "step", 1000 + (int64_t)i * CHUNK);
    mvt_mark(t, "late", 2000 + EVENTS);
    return mvt_done(t);
}

typedef struct {
    uint64_t base, size, requested;
    uint32_t device, waits_until; /* the event that completes its free; 0: none */
    bool is_held, is_used;
} slot;

/* About 2.2 chunks of events whose lives leave no doubts. Blocks are in separate segments, some of
 * them wait for a stream, and some stay. Device 1 was in use before the first event, unless every
 * third segment is in the private pool (0, pool). */
static const mv_trace *make_heap(uint64_t pool)
{
    enum { SLOTS = 96, HALF = SLOTS / 2, STAY = 12 };
    mvt_trace *t = mvt_new();
    slot slots[SLOTS] = {{0}};
    uint64_t seed = 3;

    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = (slot){.base = 0x7f0000000000 + ((uint64_t)i << 28),
                          .size = i % 4 == 0 ? 20 << 20 : 2 << 20,
                          .device = i >= HALF};
    for (uint32_t i = HALF; i < HALF + 4 && !pool; i++)
        slots[i].is_held = slots[i].is_used = true, slots[i].requested = slots[i].size;
    for (uint32_t event = 0; event < 2 * CHUNK + CHUNK / 4;) {
        uint32_t at = (uint32_t)(mvt_random_next(&seed) % SLOTS);
        slot *s = &slots[at];
        bool stays = at % STAY == 3 && s->is_used;
        for (uint32_t i = 0; i < SLOTS; i++)
            if (slots[i].waits_until && slots[i].waits_until <= event) {
                mvt_free_completed(t, .device = slots[i].device, .addr = slots[i].base);
                slots[i].waits_until = 0;
                event++;
            }
        if (s->waits_until == 0 && !stays && (at % STAY != 3 || event > at * 2000)) {
            static const char *const stacks[] = {"step:train.py:7;main:train.py:20",
                                                 "load:data.py:3;main:train.py:20",
                                                 "keep:train.py:9;main:train.py:20"};
            bool is_large = s->size > 2 << 20;
            uint64_t kind = s->base >> 28;
            if (!s->is_held) {
                mvt_segment_alloc(t, .device = s->device, .addr = s->base, .bytes = s->size,
                                  .stack = stacks[kind % 3]);
                s->is_held = true;
                ++event;
            }
            if (!s->is_used) {
                /* a large block also takes the unused rest of its segment, half a MiB */
                s->requested = is_large ? s->size - (512 << 10) : 512 + (event % 700) * 512 - 12;
                mvt_alloc(t, .device = s->device, .addr = s->base, .bytes = s->requested,
                          .stack = stacks[(kind + event) % 3]);
            } else {
                mvt_free_requested(t, .device = s->device, .addr = s->base);
                s->waits_until = event + (kind % 5 == 0 ? 40 : 1);
            }
            s->is_used = !s->is_used;
            ++event;
        }
        if (event % 1000 == 0)
            mvt_mark(t, "step", 0);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        const slot *s = &slots[i];
        uint64_t block = s->size > 2 << 20 ? s->size : (s->requested + 511) / 512 * 512;
        mv_block_state state = s->waits_until ? MV_BLOCK_PENDING_FREE
                               : s->is_used   ? MV_BLOCK_ALLOCATED
                                              : MV_BLOCK_INACTIVE;
        if (!s->is_held)
            continue;
        mvt_segment(t, .device = s->device, .addr = s->base, .bytes = s->size,
                    .small = s->size == 2 << 20, .pool_b = i % 3 == 0 ? pool : 0);
        if (state == MV_BLOCK_INACTIVE)
            block = 0;
        else
            mvt_block(t, .bytes = block, .requested = s->requested, .state = state);
        if (block < s->size)
            mvt_block(t, .bytes = s->size - block, .state = MV_BLOCK_INACTIVE);
    }
    return mvt_done(t);
}

static void write_whole_and_parts(const mv_trace *trace)
{
    mvt_put_with_digests("parts.bin", trace, 0);
    mvt_container *c = mvt_container_of("parts.bin");
    cr_assert_eq(mvt_chunk_of(c, MV_WIRE_OPENING)->head.first_row, CHUNK);
    mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_DIGEST));
    mvt_put_container("whole.bin", c);
}

/* The output may contain the file's name. */
static void take_name_away(char *report)
{
    for (char *end = report; (end = strstr(end, ".bin")) != NULL; end++)
        if (end - report >= 5)
            memcpy(end - 5, "trace", 5);
}

static void check_report(const char *part, const char *command, const char *window)
{
    mvt_run whole = mvt_here("$MEMVIZ %s -q %s whole.bin", command, window);
    mvt_run is = mvt_here("$MEMVIZ %s -q %s %s", command, window, part);

    cr_expect_eq(whole.status, is.status, "%s %s", command, window);
    take_name_away(whole.out);
    take_name_away(is.out);
    mvt_same_text(whole.out, is.out, "%s %s", command, window);
}

/* Compares the pictures that a command draws. */
static void check_picture(const char *command, const char *window)
{
    static const char *const files[] = {"whole", "parts"};
    size_t length[2];
    char *drawn[2];

    for (int i = 0; i < 2; i++) {
        mvt_run run =
            mvt_here("$MEMVIZ %s -q %s --title x %s.bin -o x.svg", command, window, files[i]);
        cr_assert_eq(run.status, 0, "%s %s: %s", command, window, run.err);
        drawn[i] = mvt_take("x.svg", &length[i]);
    }
    cr_expect(length[0] == length[1] && memcmp(drawn[0], drawn[1], length[0]) == 0, "%s %s",
              command, window);
}

static uint32_t rows_read(const char *name, mv_read_part part, uint32_t device)
{
    mv_trace trace = mvt_trace_of(name, &(mv_read_opts){.part = &part});
    uint32_t rows = 0;

    for (uint32_t i = 0; i < trace.devices[device].events.count; i++)
        rows += trace.devices[device].events.addr[i] != 0;
    return rows;
}

LongTest(parts, a_window_equals_that_of_the_whole_file)
{
    static const char *const windows[] = {
        "--from 300000",
        "--from 297000 --json",
        "--to 50",
        "--from 65530 --to 65540",
        "--from 200000 --to 200050",
        "--from 131072 --to 131073",
        "--from 150000 --to 1",
        "--from 9000000",
        "--from 29000 --device 1",
        "--from 200000 --to 200050 --device 0 --json",
        "--from 0 --limit 20",
        "--from 0.2s --to 0.2001s",
        "--from 250000 --to 0.3s",
        "--from 200000 --to 200020 --device 1",
        "--device 1 --limit 30",
        "--from @step#3 --to @step#4",
        "--from @step#2 --to 131100 --json",
        "--from @step#9",
        "--from @late",
        "--to @step",
        "--from 196607us --to 196610us --device 0",
        "--from 0.3s --to 0.2s",
        "--from 290000 --to 0.1s",
        "--from 0.3s --to 70000",
        "--from 9s",
    };
    char random[80];
    uint64_t seed = 9;

    write_whole_and_parts(make_trace());
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++)
        check_report("parts.bin", "trace", windows[i]);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t from = (uint32_t)(mvt_random_next(&seed) % EVENTS);
        snprintf(random, sizeof random, "--from %u --to %u", from,
                 from + (uint32_t)(mvt_random_next(&seed) % 300));
        check_report("parts.bin", "trace", random);
    }
}

LongTest(parts, only_the_chunks_of_the_window_are_read)
{
    mv_read_part part = {.device = MV_NO_ROW, .first = 200000, .end = 200010};

    write_whole_and_parts(make_trace());
    cr_expect_gt(rows_read("whole.bin", part, 0), 4 * CHUNK);
    cr_expect_eq(rows_read("parts.bin", part, 0), CHUNK);
    part.device = 1;
    cr_expect_eq(rows_read("parts.bin", part, 0), 0);
    part = (mv_read_part){.device = MV_NO_ROW, .from_us = 201000, .end = 200010};
    cr_expect_leq(rows_read("parts.bin", part, 0), 2 * CHUNK);
    part = (mv_read_part){.device = 0, .from_us = 201000, .to_us = 201010};
    cr_expect_leq(rows_read("parts.bin", part, 0), 2 * CHUNK);
    cr_expect_eq(rows_read("parts.bin", part, 1), 0);
}

/* Twelve megabytes for all rows would not fit. */
LongTest(parts, a_window_takes_memory_only_for_its_rows)
{
    mv_read_part part = {.device = MV_NO_ROW, .first = 200000, .end = 200010};
    mv_read_opts opts = {.part = &part};
    mv_trace trace;

    write_whole_and_parts(make_trace());
    mvt_ok(
        mv_trace_read(mvt_arena_of(8 * MIB), mvt_path_of("parts.bin"), &opts, &trace, mvt_err()));
    cr_expect_eq(
        mv_trace_read(mvt_arena_of(8 * MIB), mvt_path_of("whole.bin"), &opts, &trace, mvt_err()),
        MV_NOMEM);
}

/* Writes a copy in which the first chunk of a kind is damaged. */
static void spoil(uint16_t kind)
{
    mv_span file = mvt_bytes_of("parts.bin");
    mvt_container *c = mvt_take_apart(mvt_memory(), file);
    uint64_t at = mvt_chunk_of(c, kind)->at + sizeof(mv_wire_chunk) + 4;

    ((uint8_t *)file.data)[at] ^= 1;
    mvt_folder_put("spoil.bin", file);
    if (kind == MV_WIRE_EVENTS)
        mvt_folder_put("whole.bin", file);
}

/* A trace of all kinds of events at few addresses. */
static const mv_trace *make_noise(uint64_t *seed)
{
    static const mv_action actions[] = {MV_ACTION_ALLOC,          MV_ACTION_ALLOC,
                                        MV_ACTION_FREE_REQUESTED, MV_ACTION_FREE_COMPLETED,
                                        MV_ACTION_SEGMENT_ALLOC,  MV_ACTION_OOM,
                                        MV_ACTION_SNAPSHOT};
    uint32_t events = 1 + (uint32_t)(mvt_random_next(seed) % 800);
    uint64_t addresses = 1 + mvt_random_next(seed) % 90;
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < events; i++)
        mvt_event(t, actions[mvt_random_next(seed) % 7],
                  (mvt_event_args){.device = mvt_random_next(seed) % 5 == 0,
                                   .addr = 4096 * (mvt_random_next(seed) % addresses),
                                   .bytes = 512,
                                   .time_us = 1000 + (int64_t)i});
    return mvt_done(t);
}

Test(parts, versions_in_a_part_are_those_of_the_whole_trace)
{
    uint64_t seed = 21;

    for (uint32_t round = 0; round < 60; round++) {
        const mv_trace *whole = make_noise(&seed);
        mvt_put_with_digests("noise.bin", whole, 1 + (uint32_t)(mvt_random_next(&seed) % 70));
        mv_read_part part = {.device = MV_NO_ROW, .first = mvt_random_next(&seed) % 900};
        part.end = part.first + mvt_random_next(&seed) % 200;
        mv_trace trace = mvt_trace_of("noise.bin", &(mv_read_opts){.part = &part});
        cr_assert_not_null(trace.versions);
        for (uint32_t d = 0; d < whole->device_count; d++) {
            const mv_events *all = &whole->devices[d].events;
            uint32_t count = trace.devices[d].events.count, first = trace.living[d].first;
            uint32_t *want = mv_push_array(mvt_memory(), uint32_t, all->count + 1);
            mvt_ok(mv_versions_find(mvt_memory(), all, 0, 0, all->count, NULL, want));
            cr_assert_leq(first + count, all->count);
            for (uint32_t i = 0; i < count; i++)
                cr_assert_eq(trace.versions[d][i], want[first + i], "round %u, event %u", round,
                             first + i);
        }
    }
}

/* The opening of the chunk in this window is missing, is that of another chunk, or has columns as in
 * older files. */
LongTest(parts, openings_that_do_not_fit_change_no_answer)
{
    static const char window[] = "--from 140000 --to 140100";
    mv_wire_column column;

    write_whole_and_parts(make_trace());
    mvt_container *c = mvt_container_of("parts.bin");
    mvt_chunk *first = mvt_chunk_of(c, MV_WIRE_OPENING), *second = first + 1;
    while (second->head.kind != MV_WIRE_OPENING)
        second++;
    cr_assert_eq(second->head.first_row, 2 * CHUNK);
    second->head.first_row = 0;
    mvt_put_container("moved.bin", c);
    check_report("moved.bin", "trace", window);
    first->head.first_row = 2 * CHUNK;
    first->head.count--;
    mvt_put_container("moved.bin", c);
    check_report("moved.bin", "trace", window);
    first->head.count++;
    first->head.codec = MV_WIRE_CODEC_NONE;
    first->head.raw_bytes = first->head.stored_bytes = sizeof column;
    column = (mv_wire_column){.column = 1, .columns = 1};
    memcpy(first->stored, &column, sizeof column);
    mvt_put_container("moved.bin", c);
    check_report("moved.bin", "trace", window);
}

/* If the opening of a chunk in the window, or the chunk itself, is damaged, the whole file must be
 * read. */
LongTest(parts, damage_changes_no_answer)
{
    write_whole_and_parts(make_trace());
    spoil(MV_WIRE_OPENING);
    check_report("spoil.bin", "trace", "--from 70000 --to 70100");
    spoil(MV_WIRE_EVENTS);
    check_report("spoil.bin", "trace", "--from 10 --to 100");
}

/* Reports on a window need the blocks that were alive before it. The reports must equal those on
 * the whole file. */
LongTest(parts, reports_on_a_window_equal_those_of_the_whole_file)
{
    static const char *const windows[] = {"--from 70000",
                                          "--from 66000 --to 69000 --device 0",
                                          "--from 1.4s --to 1.45s",
                                          "--from @step#130",
                                          "--from 70000 --to 69000",
                                          "--from 9000000",
                                          "--device 1"};
    static const char *const moments[] = {"",
                                          "--to 70000",
                                          "--at 69000 --device 1",
                                          "--at peak --from 67500",
                                          "--at 1.35s",
                                          "--at oom",
                                          "--at 2 --from 70000",
                                          "--at low --to 60000",
                                          "--at 72000 --to 60000"};
    static const char *const of_device[] = {"stats", "peak",   "fragmentation",
                                            "floor", "whatif", "oom --from 70000"};
    mv_read_part part = {.device = MV_NO_ROW, .first = 70000, .has_living = true};

    write_whole_and_parts(make_heap(0));
    cr_assert_lt(rows_read("parts.bin", part, 0), CHUNK);
    cr_assert_lt(rows_read("parts.bin", part, 1), CHUNK);
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) {
        check_report("parts.bin", i % 2 ? "leaks" : "leaks --json", windows[i]);
        check_report("parts.bin", i % 2 ? "lines --json" : "lines", windows[i]);
        check_report("parts.bin", i % 2 ? "ranks" : "ranks --json --limit 0", windows[i]);
        check_report("parts.bin", i % 2 ? "diff --json whole.bin" : "diff whole.bin", windows[i]);
    }
    for (unsigned i = 0; i < sizeof moments / sizeof *moments; i++) {
        check_report("parts.bin", i % 2 ? "memory" : "memory --json --limit 0", moments[i]);
        check_report("parts.bin", i % 2 ? "diff whole.bin" : "diff --json whole.bin", moments[i]);
    }
    check_picture("trace_plot", "--device 1");
    check_picture("trace_plot", "--device 0 --from 70000");
    check_picture("segment_plot", "--device 0 --from 1.4s --to 1.45s");
    for (unsigned i = 0; i < sizeof of_device / sizeof *of_device; i++)
        check_report("parts.bin", of_device[i], "--json --device 1");
    spoil(MV_WIRE_LIVING);
    check_report("spoil.bin", "leaks", windows[0]);
    spoil(MV_WIRE_EVENTS);
    check_report("spoil.bin", "lines", "--from 10 --to 100");
}

/* A copy is written piece by piece if the lives on all devices are known, else as a whole. */
LongTest(parts, a_copy_has_the_same_bytes)
{
    for (uint64_t pool = 0; pool <= 7; pool += 7) {
        size_t length;
        write_whole_and_parts(make_heap(pool));
        mvt_run run = mvt_here("$MEMVIZ convert -q parts.bin copy.bin");
        mv_span file = mvt_bytes_of("parts.bin");
        char *copy = mvt_take("copy.bin", &length);
        cr_assert_eq(run.status, 0, "%s", run.err);
        cr_expect(length == file.length && memcmp(copy, file.data, length) == 0);
    }
}

/* Only the final heap shows which segments are in a private pool. */
LongTest(parts, private_pools_are_those_of_the_whole_file)
{
    write_whole_and_parts(make_heap(7));
    check_report("parts.bin", "diff --json whole.bin", "--device 0 --at reserved-peak --to 60000");
}

/* Blocks that are alive on one device are recorded as another device's. */
LongTest(parts, a_part_that_contradicts_itself_is_an_error)
{
    write_whole_and_parts(make_heap(0));
    mvt_container *c = mvt_container_of("parts.bin");
    for (uint32_t i = 0; i < c->count; i++)
        if (c->chunks[i].head.kind == MV_WIRE_LIVING)
            c->chunks[i].head.device = 0;
    mvt_put_container("odd.bin", c);
    mvt_run run = mvt_here("$MEMVIZ lines --device 0 --from 66000 odd.bin");
    cr_expect_eq(run.status, 1);
    cr_expect(strstr(run.err, "contradict what the file says was alive"), "%s", run.err);
}
