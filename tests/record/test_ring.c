/* Bounded recordings: folding the first records must not change anything at the end of the file. */
#include <fcntl.h>
#include <unistd.h>

#include "analyze/leaks/leaks.h"
#include "analyze/thin/pauses.h"
#include "record/fold.h"
#include "record/line_history.h"
#include "record/trigger.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_live.h"

enum { EVENTS = 240 };

static const uint64_t base = 0x7f0000000000;

static void free_block(mvt_live *l, uint32_t thread, uint32_t block)
{
    mvt_live_free(l, .thread = thread, .addr = base + (uint64_t)block * 4096, .size = 512 + block);
}

/* Long-lived and short-lived blocks, calls for all kinds of memory, marks and ranges, on two
 * threads. */
static mvt_live *whole_file(void)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, base, 2 << 20);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t addr = base + (uint64_t)i * 4096;
        uint32_t thread = i % 3 == 0, stack;
        const char *text = mvt_format("f%u:a.py:%u;main:a.py:1", i % 5, i % 11);
        stack = mvt_live_stack(l, text);
        mvt_live_block(l, .thread = thread, .addr = addr, .size = 512 + i, .stack = stack);
        if (i % 4 == 3)
            free_block(l, thread, i - 3);
        if (i % 4 == 2 && i > 61)
            free_block(l, thread, i - 61);
        if (i % 10 == 1)
            mvt_live_call(l, .thread = thread, .action = MV_API_CREATE, .handle = i,
                          .size = 2 << 20, .text = mvt_live_string(l, "cuMemCreate"),
                          .stack = stack);
        if (i % 10 == 2)
            mvt_live_call(l, .thread = thread, .action = MV_API_RETAIN, .handle = i - 1,
                          .text = mvt_live_string(l, "cuMemRetain"));
        if (i % 20 == 13)
            mvt_live_call(l, .action = MV_API_RELEASE, .handle = i - 12,
                          .text = mvt_live_string(l, "cuMemRelease"));
        if (i % 30 == 3)
            mvt_live_heap(l, .heap_action = MV_HEAP_ALLOC, .addr = addr, .size = 100,
                          .text = mvt_live_string(l, "pool"), .stack = stack);
        if (i % 60 == 33)
            mvt_live_heap(l, .heap_action = MV_HEAP_FREE, .addr = addr - 30 * 4096);
        if (i % 40 == 7)
            MVT_LIVE(l, PUSH, .thread = thread, .text = mvt_live_string(l, "range"));
        if (i % 50 == 8)
            MVT_LIVE(l, BEGIN, .number = i + 1, .text = mvt_live_string(l, "long"));
        if (i % 25 == 24)
            mvt_live_next_chunk(l, thread, true);
    }
    return l;
}

static const char *number_text(uint64_t number)
{
    return mvt_format("%llu", (unsigned long long)number);
}

static const char *live, *folded;

/* Makes the folded part after `count` records, and the file with the live part, without the file's
 * finished chunks. */
static void fold_after(mvt_live *l, uint32_t count)
{
    mv_arena *arena = mvt_memory();
    mv_live_alive alive;
    mv_live_record r;
    mv_line_history lines = {.arena = arena};
    mv_fold fold = {.alive = &alive};
    mv_live_fact facts[4] = {{"folded_events", "7"}};
    uint64_t first_us = 0;
    static const uint8_t zeros[1 << 16];
    mv_span bytes;
    uint64_t at, length;

    live = mvt_temp_file(mvt_live_bytes(l));
    mv_live_follow *f = mv_live_follow_open(arena, live, mvt_err());
    mv_live_alive_init(arena, &alive);
    alive.pinned[0] = mvt_live_string(l, MV_MARK_PAUSE);
    mvt_ok(mv_live_follow_update(f, MV_LIVE_FOLLOW_ENDED, mvt_err()));
    for (uint32_t i = 0; i < count && mv_live_follow_next(f, &r); i++) {
        first_us = first_us ? first_us : r.time_us;
        cr_assert(mv_line_history_add(&lines, &alive, &r) && mv_live_alive_add(&alive, &r));
    }
    fold.through = mv_live_follow_status(f)->sequence;
    fold.places = mv_live_follow_places(f, arena, &fold.place_count, &fold.start);
    facts[1] = (mv_live_fact){"folded_since_us", number_text(first_us)};
    facts[2] = (mv_live_fact){"folded_until_us", number_text(mv_live_follow_status(f)->time_us)};
    facts[3] = (mv_live_fact){"folded_lines_0",
                              mv_line_history_text(arena, &lines, &alive, 0, MV_HISTORY_ROWS)};
    fold.facts = facts;
    fold.fact_count = facts[3].value ? 4 : 3;
    cr_assert(mv_fold_bytes(arena, &fold, &bytes));
    folded = mvt_temp_file(bytes);
    int fd = open(live, O_WRONLY);
    while (mv_live_follow_finished(f, &at, &length))
        for (; length; at += sizeof zeros, length -= sizeof zeros)
            cr_assert_eq(pwrite(fd, zeros, sizeof zeros, (off_t)at), (ssize_t)sizeof zeros);
    close(fd);
    mv_live_follow_close(f);
}

static void fold_and_read(mvt_live *l, uint32_t count, mv_trace *out)
{
    fold_after(l, count);
    int a = open(live, O_RDONLY), b = open(folded, O_RDONLY);

    mvt_ok(mv_trace_read_bounded(mvt_memory(), a, b, NULL, out, mvt_err()));
    const char *why = mvt_unsound(out);
    cr_assert_null(why, "%s", why);
    close(a);
    close(b);
}

Test(ring, folding_at_any_number_keeps_the_end)
{
    mvt_live *l = whole_file();
    mv_trace want = mvt_read(mvt_live_bytes(l)), got;
    uint32_t events = want.devices[0].events.count;

    cr_assert_gt(want.blocks.count, 50);
    for (uint32_t count = 1; count < EVENTS; count += 13) {
        fold_and_read(l, count, &got);
        cr_assert_eq(got.notes[MV_NOTE_LOST].count, 0, "%s", got.notes[MV_NOTE_LOST].first);
        cr_assert_eq(got.notes[MV_NOTE_DAMAGED].count, 0, "%s", got.notes[MV_NOTE_DAMAGED].first);
        /* The live blocks at the end must be equal, including their stacks. */
        cr_assert_eq(got.segments.count, want.segments.count);
        cr_assert_eq(got.blocks.count, want.blocks.count);
        for (uint32_t i = 0; i < want.blocks.count; i++) {
            uint32_t a, b;
            const mv_frame_id *x = mv_stack_frames(&got, got.blocks.stack[i], &a);
            const mv_frame_id *y = mv_stack_frames(&want, want.blocks.stack[i], &b);
            cr_assert(got.blocks.address[i] == want.blocks.address[i] &&
                      got.blocks.size[i] == want.blocks.size[i] &&
                      got.blocks.state[i] == want.blocks.state[i]);
            cr_assert_eq(a, b);
            for (uint32_t k = 0; k < a; k++)
                cr_assert_eq(got.frames.line[x[k].row], want.frames.line[y[k].row]);
        }
        /* The last events must be equal. */
        uint32_t most = events > 2 * count ? events - 2 * count : 0;
        const mv_events *a = &got.devices[0].events, *b = &want.devices[0].events;
        cr_assert_leq(a->count, b->count);
        for (uint32_t j = 1; j <= most && j <= b->count; j++) {
            uint32_t x = a->count - j, y = b->count - j;
            cr_assert(a->action[x] == b->action[y] && a->addr[x] == b->addr[y] &&
                          a->size[x] == b->size[y] && a->time_us[x] == b->time_us[y],
                      "event %u from the end: %u %#llx %llu at %lld, want %u %#llx %llu at %lld", j,
                      a->action[x], (unsigned long long)a->addr[x], (unsigned long long)a->size[x],
                      (long long)a->time_us[x], b->action[y], (unsigned long long)b->addr[y],
                      (unsigned long long)b->size[y], (long long)b->time_us[y]);
        }
        cr_assert_str_eq(mv_fact_find(&got, "folded_events"), "7");
    }
}

Test(ring, memory_of_a_call_stays_while_it_is_held)
{
    uint32_t creates = 0, releases = 0;
    mv_trace got;

    fold_and_read(whole_file(), 100000, &got);
    for (uint32_t i = 0; i < got.api_calls.count; i++) {
        creates += got.api_calls.action[i] == MV_API_CREATE;
        releases += got.api_calls.action[i] == MV_API_RELEASE;
    }
    /* each must have been retained once, and released at most once */
    cr_assert_eq(creates, EVENTS / 10);
    cr_assert_eq(releases, 0);
}

Test(ring, a_damaged_folded_part_is_refused_or_noted)
{
    fold_after(whole_file(), 150);
    int a = open(live, O_RDONLY), b = open(folded, O_RDWR);
    for (uint64_t at = 65536; at < 65536 * 4; at += at % 65536 < 200 ? 1 : 7919) {
        uint8_t right, wrong;
        mv_trace got;
        mv_err err;
        if (pread(b, &right, 1, (off_t)at) == 1) {
            wrong = right ^ 0x5a;
            cr_assert_eq(pwrite(b, &wrong, 1, (off_t)at), 1);
            mv_trace_read_bounded(mvt_memory(), a, b, NULL, &got, &err);
            cr_assert_eq(pwrite(b, &right, 1, (off_t)at), 1);
        }
    }
}

/* ---- the folded part ---------------------------------------------------------------------- */

enum { SECONDS = 100, LEAKED = 0, CACHED = SECONDS, USED = 2 * SECONDS };

static void hold(mvt_live *l, const char *stack, uint32_t block, uint32_t mib)
{
    mvt_live_block(l, .addr = base + (uint64_t)block * 4 * MIB, .size = (uint64_t)mib * MIB,
                   .stack = mvt_live_stack(l, stack));
}

static void give_back(mvt_live *l, uint32_t block, uint32_t mib)
{
    mvt_live_free(l, .addr = base + (uint64_t)block * 4 * MIB, .size = (uint64_t)mib * MIB);
}

/* Steps of one second, with a line that leaks 1 MiB up to second `leaks_until`, from two callers; a
 * cache of the last 8 blocks of 2 MiB; and a block of 3 MiB that lives within the step. */
static mvt_live *steps_that_leak(uint32_t leaks_until)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, base, (uint64_t)4 * SECONDS * 4 * MIB);
    for (uint32_t i = 0; i < SECONDS; i++) {
        MVT_LIVE(l, MARK, .time_us = 1000000ull * (i + 1), .text = mvt_live_string(l, "step"));
        hold(l, "work:a.py:11;main:a.py:1", USED + i, 3);
        if (i < leaks_until)
            hold(l, i % 2 ? "leak:a.py:7;odd:a.py:3;main:a.py:1" : "leak:a.py:7;main:a.py:1",
                 LEAKED + i, 1);
        if (i >= 8)
            give_back(l, CACHED + i - 8, 2);
        hold(l, "cache:a.py:9;main:a.py:1", CACHED + i, 2);
        give_back(l, USED + i, 3);
        mvt_live_next_chunk(l, 0, true);
    }
    return l;
}

static mv_leaks leaks_of(const mv_trace *trace)
{
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mv_leaks leaks;

    mvt_ok(mv_leaks_find(mvt_memory(), trace, &lives, &leaks, mvt_err()));
    return leaks;
}

/* Records in a step: 6, or 5 in the first 8 seconds; one less in seconds without a leak. */
static mv_leaks leaks_of_folded(uint32_t leaks_until, uint32_t records, mv_trace *trace)
{
    fold_and_read(steps_that_leak(leaks_until), records, trace);
    return leaks_of(trace);
}

/* 84 seconds are folded into spans of 8 s, 10 of them complete. The minimum of the fifth and the
 * last counts. */
Test(ring, a_line_that_grew_in_the_folded_part_is_named)
{
    mv_trace trace;
    mv_leaks leaks = leaks_of_folded(SECONDS, 1 + 8 * 5 + 76 * 6, &trace);
    const mv_grown *line = leaks.grown;
    char label[80];

    cr_assert(leaks.has_grown);
    cr_assert_eq(leaks.grown_count, 1, "%u", leaks.grown_count);
    cr_expect_str_eq(mv_culprit_label(&trace, NULL, line->stack, label, sizeof label),
                     "a.py:7 leak");
    cr_expect_eq(line->spans, 10);
    cr_expect_eq(line->rises, 9);
    cr_expect_eq(line->span_us, 8000000);
    cr_expect_eq(line->from, 4 * 8 * MIB);
    cr_expect_eq(line->to, 9 * 8 * MIB);
    cr_expect_eq(line->bytes, line->to - line->from);
    cr_expect_eq(line->allocations, 84);
    cr_expect_eq(line->born, 84 * MIB);
    cr_expect_eq(line->freed, 0);
}

/* The cache's blocks are from the last folded seconds, so it has not grown. */
Test(ring, a_cache_that_was_folded_has_not_grown)
{
    mv_trace trace;
    mv_leaks leaks = leaks_of_folded(0, 1 + 8 * 4 + 76 * 5, &trace);

    cr_expect(leaks.has_grown);
    cr_expect_eq(leaks.grown_count, 0);
    cr_expect_eq(leaks.verdict, MV_VERDICT_CLEAN, "%s", leaks.why);
}

/* The memory used to grow and has stopped. The last events by themselves do not show that it ever
 * grew. */
Test(ring, growth_in_the_folded_time_leaves_the_verdict_open)
{
    mv_trace trace;
    mv_leaks leaks = leaks_of_folded(70, 1 + 8 * 5 + 62 * 6 + 14 * 5, &trace);

    cr_expect_eq(leaks.verdict, MV_VERDICT_UNKNOWN, "%s", leaks.why);
    cr_expect_not_null(strstr(leaks.why, "a.py:7 leak grew by "), "%s", leaks.why);
}

/* Folded steps contain only blocks that stayed, so their marks do not count as steps. */
Test(ring, folded_steps_are_no_steps)
{
    mv_trace trace;
    mv_leaks leaks = leaks_of_folded(0, 1 + 8 * 4 + 76 * 5, &trace);

    cr_expect_eq(trace.annotations.count, SECONDS);
    cr_expect_eq(leaks.steps.count, SECONDS - 84);
}

static mv_leaks leaks_with_fact(const char *value)
{
    mvt_live *l = mvt_live_new();

    mvt_live_fact(l, "folded_until_us", "2000000");
    mvt_live_fact(l, "folded_lines_0", value);
    mvt_live_segment(l, base, 2 << 20);
    mvt_live_block(l, .addr = base, .size = 512, .stack = mvt_live_stack(l, "f:a.py:1"));
    mv_trace trace = mvt_read(mvt_live_bytes(l));
    return leaks_of(&trace);
}

/* The minimum is taken over five spans, the last of which is incomplete. A line without its block
 * is left out. */
Test(ring, damaged_counters_of_lines_are_not_used)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "1",
                                        "1 2",
                                        "1 2;0",
                                        "1 2;0 1 9 0 0 0 0 9",
                                        "1 2;0 1 9 10 0 0 0 9 9",
                                        "1 2;4096 1 9 0 0 0 0 9 9",
                                        "1 2;0 1 9 0 0 0 0 9 9;4096 1 9 0 0 0 0 9",
                                        "1 2;0 1 9 0 0 0 0 9 9;4096 1 9",
                                        "1 2;0 1 9 0 0 0 0 9 9 x",
                                        "1 2;0 1 9 0 0 0 0 9 99999999999999999999"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(leaks_with_fact(wrong[i]).has_grown, "%s", wrong[i]);
    mv_leaks leaks = leaks_with_fact("1 2;0 1 9 0 0 0 0 9 9;4096 1 9 0 0 0 0 9 9");
    cr_expect(leaks.has_grown);
    cr_expect_eq(leaks.grown_count, 0);
    const char *line =
        mvt_format("1 2;0 1 9 0 0 0 0 9 9;%llu 1 9 0 0 0 0 9 9", (unsigned long long)base);
    leaks = leaks_with_fact(line);
    cr_assert_eq(leaks.grown_count, 1);
    cr_expect_eq(leaks.grown[0].bytes, 9);
    cr_expect_eq(leaks.grown[0].rises, 1);
}

/* A pause, MARKS other marks, and its end: folded except for the last 10. */
static mv_pauses pauses_after(uint32_t marks, mv_trace *trace)
{
    mvt_live *l = mvt_live_new();
    mv_pauses pauses;

    mvt_live_segment(l, base, 2 << 20);
    MVT_LIVE(l, MARK, .time_us = 2000000, .text = mvt_live_string(l, MV_MARK_PAUSE));
    for (uint32_t i = 0; i < marks; i++) {
        MVT_LIVE(l, MARK, .text = mvt_live_string(l, "other"));
        if (i % 1000 == 999)
            mvt_live_next_chunk(l, 0, true);
    }
    MVT_LIVE(l, MARK, .time_us = 9000000, .text = mvt_live_string(l, MV_MARK_RESUME));
    fold_and_read(l, marks - 10, trace);
    mvt_ok(mv_pauses_find(mvt_memory(), trace, NULL, NULL, &pauses, mvt_err()));
    return pauses;
}

Test(ring, a_pause_whose_mark_was_folded_ends_when_it_is_resumed)
{
    static const uint32_t marks[] = {50, 5000};
    mv_trace trace;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        mv_pauses pauses = pauses_after(marks[i], &trace);
        uint32_t kept = marks[i] - 12 < MV_LIVE_ALIVE_MARKS ? marks[i] - 12 : MV_LIVE_ALIVE_MARKS;
        cr_assert_eq(pauses.count, 1);
        cr_expect_eq(pauses.pauses[0].to_us - pauses.pauses[0].from_us, 7000000);
        cr_expect_eq(trace.annotations.count, 1 + kept + 12 + 1, "%u", trace.annotations.count);
    }
}

Test(ring, conditions_are_parsed)
{
    mv_trigger_opts o;

    cr_assert_null(mv_trigger_parse("oom,used>90%,high,growth>1G/10m,SIGUSR2,exit", &o));
    for (uint32_t i = 0; i < MV_TRIGGER_KINDS; i++)
        cr_assert(o.on[i], "%s", mv_trigger_text((mv_trigger_kind)i));
    cr_assert_eq(o.used_percent, 90);
    cr_assert_eq(o.growth_bytes, 1 << 30);
    cr_assert_eq(o.growth_us, 600000000);
    cr_assert_null(mv_trigger_parse("used>70G", &o));
    cr_assert_eq(o.used_bytes, 70ull << 30);
    cr_assert_not(o.on[MV_TRIGGER_OOM]);
}

Test(ring, wrong_conditions_are_named)
{
    static const char *const wrong[] = {
        "",       "oom,",      "oom,new",    "used",     "used>",   "used>0%", "used>101%",
        "used>x", "growth>1G", "growth>1G/", "growth>/", "highest", ",oom",    "growth>0/1m"};
    mv_trigger_opts o;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not_null(mv_trigger_parse(wrong[i], &o), "%s", wrong[i]);
}

/* ---- the command ------------------------------------------------------------------------- */

/* Returns a number from `memviz info --json`. */
static double captured(const char *file, const char *key)
{
    cJSON *report = mvt_json(0, "$MEMVIZ info --json %s", file);

    return mvt_json_number(cJSON_GetObjectItem(report, "capture"), key);
}

LongTest(ring, a_program_that_writes_much_is_bounded)
{
    const char *folder = mvt_temp_folder();
    mvt_run r = mvt_sh("cd %s; $MEMVIZ run --max-size 16M --on exit -o x.bin -- " MV_VICTIM_RING
                       " 0 600 997 >no & L=$!; until F=$(ls x.bin.*.folded 2>no); do sleep 0.02; "
                       "done; kill -USR1 $(echo $F | cut -d. -f4); wait $L; echo $?; ls *.bin",
                       folder);

    cr_assert_str_eq(r.out, "0\nx.bin\nx.exit.1.bin\n", "%s%s", r.out, r.err);
    cr_assert_not_null(strstr(r.err, "kept x.exit.1.bin ("), "%s", r.err);
    const char *file = mvt_format("%s/x.bin", folder);
    cr_assert_gt(captured(file, "folded_events"), 1000);
}

/* The folded part grows with every event. */
LongTest(ring, a_program_that_frees_nothing_is_bounded)
{
    mvt_run r =
        mvt_sh("$MEMVIZ run -q --max-size 16M -o x.bin -- " MV_VICTIM_RING
               " 0 600 1 >no 2>no & L=$!; until F=$(ls x.bin.*.live 2>no); do sleep "
               "0.02; done; until head -c 65536 $F | grep -qa 'made no room'; do du -ck $F* "
               "2>no | tail -n 1 | cut -f1; sleep 0.01; done | sort -n | tail -n 1; "
               "kill -USR1 $(echo $F | cut -d. -f4); wait $L");

    cr_expect_gt(strtoul(r.out, NULL, 10), 8 << 10, "%s", r.out);
    cr_expect_leq(strtoul(r.out, NULL, 10), 16 << 10, "%s", r.out);
}

/* Returns how many of victim_ring's leaks are live blocks. All of them must be alive, starting with
 * the first. */
static uint32_t leaked_blocks(const char *path)
{
    const uint64_t leaked = 0x500000000000, apart = 64 << 20;
    uint64_t most = 0;
    uint32_t count = 0;
    mv_trace trace;

    mvt_ok(mv_trace_read(mvt_memory(), path, NULL, &trace, mvt_err()));
    const mv_events *e = &trace.devices[0].events;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_ALLOC && e->addr[i] >= leaked && e->addr[i] < base) {
            uint64_t number = (e->addr[i] - leaked) / apart;
            most = number > most ? number : most;
            count++;
        }
    cr_assert_eq(count, most + 1, "%u blocks of %llu", count, (unsigned long long)most + 1);
    return count;
}

/* Stops the launcher until the file contains `until`. The launcher's program receives SIGUSR1 after
 * `then`, and prints the number of leaked blocks. The recording is in `disk`. Returns the path of
 * the result. */
static const char *outrun_on(const char *disk, const char *mode, const char *until,
                             const char *then, uint32_t *leaked)
{
    const char *folder = mvt_temp_folder();
    mvt_run r =
        mvt_sh("D=$(mktemp -d -p %s memviz-test-XXXXXX); cd $D; "
               "$MEMVIZ run -q --max-size 16M -o x.bin -- " MV_VICTIM_RING
               " 0 600 997 %s >leaked & L=$!; until F=$(ls x.bin.*.live 2>/dev/null); do "
               "sleep 0.02; done; kill -STOP $L; P=$(echo $F | cut -d. -f4); "
               "until head -c 65536 $F | grep -qa '%s'; do sleep 0.02; done; S=$(stat -c %%s $F); "
               "%s; kill -CONT $L; wait $L; cat leaked; mv x.bin %s; rm -r $D",
               disk, mode, until, then, folder);
    char *end;

    unsigned long kib = strtoul(r.out, &end, 10);
    cr_assert(kib > 14 << 10 && kib <= 16 << 10, "KiB of disk: %s%s", r.out, r.err);
    *leaked = (uint32_t)strtoul(end, NULL, 10);
    return mvt_format("%s/x.bin", folder);
}

static const char *outrun(const char *mode, const char *until, const char *then, uint32_t *leaked)
{
    return outrun_on(mvt_temp_folder(), mode, until, then, leaked);
}

#define DISK "du -k $F | cut -f1; "

/* The recording continues when there is room again. */
LongTest(ring, a_program_that_outruns_its_launcher_is_bounded_and_loses_no_live_block)
{
    uint32_t leaked;
    const char *file = outrun("ranges", "lost_bound",
                              DISK "kill -CONT $L; until [ $(stat -c %s $F) -gt $S ]; do "
                                   "sleep 0.02; done; kill -USR1 $P",
                              &leaked);

    cr_expect_gt(captured(file, "lost_events"), 0);
    cr_expect_gt(leaked, 100);
    cr_expect_eq(leaked_blocks(file), leaked);
}

/* The launcher makes no room until the program has ended. In /dev/shm, only a file's data takes up
 * space, so the file's last window ends at the bound. */
LongTest(ring, a_program_that_ends_at_its_bound_loses_no_live_block)
{
    static const char *const disks[] = {"/tmp", "/dev/shm"};
    uint32_t leaked;

    for (size_t i = 0; i < sizeof disks / sizeof *disks; i++) {
        const char *file = outrun_on(
            disks[i], "", "lost_bound",
            "kill -USR1 $P; until grep -q ') Z ' /proc/$P/stat; do sleep 0.02; done; " DISK "true",
            &leaked);

        cr_expect_gt(leaked, 100);
        cr_expect_eq(leaked_blocks(file), leaked);
    }
}

/* Calls are never omitted. */
LongTest(ring, a_recording_whose_launcher_makes_no_room_ends_at_the_bound)
{
    uint32_t leaked;
    const char *file = outrun("calls", "made no room", DISK "kill -USR1 $P", &leaked);
    cJSON *report = mvt_json(0, "$MEMVIZ info --json %s", file);

    cr_expect_str_eq(mvt_json_text(cJSON_GetObjectItem(report, "capture"), "stopped"),
                     "its files are at --max-size, and memviz run made no room");
}

Test(ring, wrong_bounds_and_conditions_are_refused)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ run --max-size 1M", 2, NULL, ""},
        {"MEMVIZ_MAX_SIZE=1M $MEMVIZ run", 2, NULL, "MEMVIZ_MAX_SIZE: '1M' is not a size"},
        {"$MEMVIZ run --on oom,never", 2, NULL, "--on: 'never' is not a condition"},
        {"MEMVIZ_KEEP=x $MEMVIZ run --on oom", 2, NULL, ""},
        {"$MEMVIZ run --max-age 10m --start-after 12", 2, NULL, "step 12: a recording with"},
        {"$MEMVIZ run --max-age 10m --start-after 12s", 0, NULL, ""}};

    MVT_EXPECT_RUNS("%s -- true", all);
}

/* ---- conditions that are met ------------------------------------------------------------- */

/* Runs until FILE exists, and prints the messages. Then the program's process receives a signal. */
#define UNTIL(file)                                                                             \
    " 2>said & L=$!; until grep -q 'kept " file "' said || ! kill -0 $L; do sleep 0.02; done; " \
    "kill $(pgrep -P $L); wait $L; cat said; ls"

static void expect_said(mvt_run r, const char *part, const char *file)
{
    cr_expect_not_null(strstr(r.out, part), "%s%s", r.out, r.err);
    cr_expect_not_null(strstr(r.out, file), "%s%s", r.out, r.err);
}

/* 900 of 1000 bytes is not more than 90 %. */
Test(ring, use_of_a_device_is_a_condition)
{
    mvt_run r =
        mvt_sh("ln -s " MV_NVML_STAND_IN " libnvidia-ml.so.1; echo 900 >used; "
               "(until [ -e ready ]; do sleep 0.01; done; sleep 0.2; echo 901 >more; mv more "
               "used) & NVML_USED=$PWD/used LD_LIBRARY_PATH=$PWD $MEMVIZ run -q --on "
               "'used>90%%' -o a.bin -- " MV_MARKING
               " mark one touch ready await enough" UNTIL("a.used.1.bin"));

    expect_said(r, "901 B of 1000 B are used on GPU 0", "a.used.1.bin\n");
}

/* A program that leaks 100 blocks a second, and a program without leaks. */
LongTest(ring, growth_is_a_condition)
{
    mvt_run r = mvt_sh("$MEMVIZ run -q --on 'growth>1M/1s' -o a.bin -- " MV_VICTIM_RING
                       " 2000 600 10" UNTIL("a.growth.1.bin"));

    expect_said(r, "more stayed allocated than 1 s before", "a.growth.1.bin\n");
    r = mvt_sh("$MEMVIZ run -q --on 'growth>1M/1s' -o b.bin -- " MV_VICTIM_RING
               " 2000 2 1000000000; ls b.*");
    cr_expect_str_eq(r.out, "b.bin\n", "%s%s", r.out, r.err);
}

/* Each peak is 5 % above the previous one. The newest two files stay. */
LongTest(ring, a_new_peak_is_a_condition)
{
    mvt_run r = mvt_sh("$MEMVIZ run -q --on high --cooldown 0s --keep 2 -o a.bin -- " MV_VICTIM_RING
                       " 2000 600 10" UNTIL("a.high.4.bin"));

    expect_said(r, "a new peak: ", "kept a.high.4.bin (");
    cr_expect_null(strstr(r.out, "\na.high.1.bin\n"), "%s", r.out);
}

/* The file contains what the program did after the condition was met. A pending file is written at
 * the program's end. */
Test(ring, recording_continues_after_the_condition)
{
    mvt_run r =
        mvt_sh("$MEMVIZ run -q --on SIGUSR2 --after 1h -o a.bin -- " MV_MARKING
               " mark one touch ready await enough mark two touch marked await seen "
               "2>said & L=$!; await() { until [ -e $1 ] || ! kill -0 $L; do sleep 0.01; "
               "done; }; await ready; kill -USR2 $L; touch enough; await marked; ls *.bin "
               "2>no; touch seen; wait $L; $MEMVIZ dump a.SIGUSR2.1.bin | grep '^mark' | sed "
               "'s/.* \"//; s/\"//'");

    cr_expect_str_eq(r.out, "one\ntwo\n", "%s%s", r.out, r.err);
}

LongTest(ring, the_mark_of_a_pause_survives_folding)
{
    mvt_run r =
        mvt_sh("$MEMVIZ run -q --max-age 1s -o a.bin -- " MV_MARKING
               " mark memviz_pause touch ready await enough mark memviz_resume & L=$!; "
               "while kill -0 $L && ! $MEMVIZ ctl $L status 2>no | grep -q 'was reached'; do "
               "sleep 0.02; done; touch enough; wait $L; $MEMVIZ dump a.bin | grep '^mark' | "
               "sed 's/.* \"//; s/\"//'");

    cr_expect_str_eq(r.out, "memviz_pause\nmemviz_resume\n", "%s%s", r.out, r.err);
}
