/* Recordings with bounds: folding the first records changes nothing at the end of the file. */
#include <fcntl.h>
#include <unistd.h>

#include "parse/readers.h"
#include "record/fold.h"
#include "record/ring.h"
#include "record/trigger.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_live.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/soundness.h"

enum { EVENTS = 240 };

static const uint64_t base = 0x7f0000000000;

static void free_block(mvt_live *l, uint32_t thread, uint32_t block)
{
    mvt_live_free(l, .thread = thread, .addr = base + (uint64_t)block * 4096, .size = 512 + block);
}

/* Blocks that live long and short, calls of all kinds of memory, marks and ranges, two threads. */
static void write_event(mvt_live *l, uint32_t i)
{
    uint64_t addr = base + (uint64_t)i * 4096;
    uint32_t thread = i % 3 == 0, stack;
    char text[64];

    snprintf(text, sizeof text, "f%u:a.py:%u;main:a.py:1", i % 5, i % 11);
    stack = mvt_live_stack(l, text);
    mvt_live_block(l, .thread = thread, .addr = addr, .size = 512 + i, .stack = stack);
    if (i % 4 == 3)
        free_block(l, thread, i - 3);
    if (i % 4 == 2 && i > 61)
        free_block(l, thread, i - 61);
    if (i % 10 == 1)
        mvt_live_call(l, .thread = thread, .action = MV_API_CREATE, .handle = i, .size = 2 << 20,
                      .text = mvt_live_string(l, "cuMemCreate"), .stack = stack);
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
        mvt_live_event(l, MV_LIVE_EVENT_PUSH,
                       (mvt_live_args){.thread = thread, .text = mvt_live_string(l, "range")});
    if (i % 50 == 8)
        mvt_live_event(l, MV_LIVE_EVENT_BEGIN,
                       (mvt_live_args){.number = i + 1, .text = mvt_live_string(l, "long")});
    if (i % 25 == 24)
        mvt_live_next_chunk(l, thread, true);
}

static mvt_live *whole_file(void)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, base, 2 << 20);
    for (uint32_t i = 0; i < EVENTS; i++)
        write_event(l, i);
    return l;
}

/* The folded part after `count` records, and the file of the live part, from which finished chunks
 * are gone. */
static void fold_after(mvt_live *l, uint32_t count, const char **live, const char **folded)
{
    mv_arena *arena = mvt_memory();
    mv_live_alive alive;
    mv_live_record r;
    mv_live_follow *f;
    mv_fold fold = {.alive = &alive};
    mv_live_fact fact = {"folded_events", "7"};
    static const uint8_t zeros[1 << 16];
    mv_span bytes;
    uint64_t at, length;
    int fd;

    *live = mvt_temp_file(mvt_live_bytes(l));
    f = mv_live_follow_open(arena, *live, mvt_err());
    mv_live_alive_init(arena, &alive);
    mvt_ok(mv_live_follow_update(f, MV_LIVE_FOLLOW_ENDED, mvt_err()));
    for (uint32_t i = 0; i < count && mv_live_follow_next(f, &r); i++)
        cr_assert(mv_live_alive_add(&alive, &r));
    fold.through = mv_live_follow_status(f)->sequence;
    fold.places = mv_live_follow_places(f, arena, &fold.place_count, &fold.start);
    fold.facts = &fact;
    fold.fact_count = 1;
    cr_assert(mv_fold_bytes(arena, &fold, &bytes));
    *folded = mvt_temp_file(bytes);
    fd = open(*live, O_WRONLY);
    while (mv_live_follow_finished(f, &at, &length))
        for (; length; at += sizeof zeros, length -= sizeof zeros)
            cr_assert_eq(pwrite(fd, zeros, sizeof zeros, (off_t)at), (ssize_t)sizeof zeros);
    close(fd);
    mv_live_follow_close(f);
}

static void read_both(const char *live, const char *folded, mv_trace *out)
{
    int a = open(live, O_RDONLY), b = open(folded, O_RDONLY);
    const char *why;

    mvt_ok(mv_trace_read_bounded(mvt_memory(), a, b, NULL, out, mvt_err()));
    why = mvt_unsound(out);
    cr_assert_null(why, "%s", why);
    close(a);
    close(b);
}

/* The live blocks at the end, with their stacks. */
static void expect_same_end(const mv_trace *got, const mv_trace *want)
{
    cr_assert_eq(got->segments.count, want->segments.count);
    cr_assert_eq(got->blocks.count, want->blocks.count);
    for (uint32_t i = 0; i < want->blocks.count; i++) {
        uint32_t a, b;
        const mv_frame_id *x = mv_stack_frames(got, got->blocks.stack[i], &a);
        const mv_frame_id *y = mv_stack_frames(want, want->blocks.stack[i], &b);
        cr_assert(got->blocks.address[i] == want->blocks.address[i] &&
                  got->blocks.size[i] == want->blocks.size[i] &&
                  got->blocks.state[i] == want->blocks.state[i]);
        cr_assert_eq(a, b);
        for (uint32_t k = 0; k < a; k++)
            cr_assert_eq(got->frames.line[x[k].row], want->frames.line[y[k].row]);
    }
}

/* The last events are the same. */
static void expect_same_tail(const mv_trace *got, const mv_trace *want, uint32_t most)
{
    const mv_events *a = &got->devices[0].events, *b = &want->devices[0].events;

    cr_assert_leq(a->count, b->count);
    for (uint32_t i = 1; i <= most && i <= b->count; i++) {
        uint32_t x = a->count - i, y = b->count - i;
        cr_assert(a->action[x] == b->action[y] && a->addr[x] == b->addr[y] &&
                      a->size[x] == b->size[y] && a->time_us[x] == b->time_us[y],
                  "event %u from the end: %u %#llx %llu at %lld, want %u %#llx %llu at %lld", i,
                  a->action[x], (unsigned long long)a->addr[x], (unsigned long long)a->size[x],
                  (long long)a->time_us[x], b->action[y], (unsigned long long)b->addr[y],
                  (unsigned long long)b->size[y], (long long)b->time_us[y]);
    }
}

Test(ring, folding_at_any_number_keeps_the_end)
{
    mvt_live *l = whole_file();
    mv_trace want, got;
    uint32_t events;

    mvt_ok(mv_trace_read_bytes(mvt_memory(), mvt_live_bytes(l), &want, mvt_err()));
    events = want.devices[0].events.count;
    cr_assert_gt(want.blocks.count, 50);
    for (uint32_t count = 1; count < EVENTS; count += 13) {
        const char *live, *folded;
        fold_after(l, count, &live, &folded);
        read_both(live, folded, &got);
        cr_assert_eq(got.notes[MV_NOTE_LOST].count, 0, "%s", got.notes[MV_NOTE_LOST].first);
        cr_assert_eq(got.notes[MV_NOTE_DAMAGED].count, 0, "%s", got.notes[MV_NOTE_DAMAGED].first);
        expect_same_end(&got, &want);
        expect_same_tail(&got, &want, events > 2 * count ? events - 2 * count : 0);
        cr_assert_str_eq(mv_fact_find(&got, "folded_events"), "7");
    }
}

Test(ring, what_a_call_made_stays_as_long_as_it_is_held)
{
    mvt_live *l = whole_file();
    const char *live, *folded;
    uint32_t creates = 0, releases = 0;
    mv_trace got;

    fold_after(l, 100000, &live, &folded);
    read_both(live, folded, &got);
    for (uint32_t i = 0; i < got.api_calls.count; i++) {
        creates += got.api_calls.action[i] == MV_API_CREATE;
        releases += got.api_calls.action[i] == MV_API_RELEASE;
    }
    cr_assert_eq(creates, EVENTS / 10); /* each was retained once, and released at most once */
    cr_assert_eq(releases, 0);
}

Test(ring, a_damaged_folded_part_is_refused_or_noted)
{
    mvt_live *l = whole_file();
    const char *live, *folded;

    fold_after(l, 150, &live, &folded);
    for (uint64_t at = 65536; at < 65536 * 4; at += at % 65536 < 200 ? 1 : 7919) {
        int a = open(live, O_RDONLY), b = open(folded, O_RDWR);
        uint8_t right, wrong;
        mv_trace got;
        mv_err err;
        if (pread(b, &right, 1, (off_t)at) == 1) {
            wrong = right ^ 0x5a;
            cr_assert_eq(pwrite(b, &wrong, 1, (off_t)at), 1);
            mv_trace_read_bounded(mvt_memory(), a, b, NULL, &got, &err);
            cr_assert_eq(pwrite(b, &right, 1, (off_t)at), 1);
        }
        close(a);
        close(b);
    }
}

/* ---- conditions -------------------------------------------------------------------------- */

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

/* A number of `memviz info --json`. */
static double captured(const char *file, const char *key)
{
    cJSON *report = mvt_json(0, "$MEMVIZ info --json %s", file);

    return mvt_json_number(cJSON_GetObjectItem(report, "capture"), key);
}

LongTest(ring, a_program_that_writes_much_is_bounded)
{
    const char *folder = mvt_temp_folder();
    mvt_run r = mvt_sh("cd %s && $MEMVIZ run --max-size 16M --on exit -o x.bin -- " MV_VICTIM_RING
                       " 0 4 997; ls",
                       folder);
    char file[4096];

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_str_eq(r.out, "x.bin\nx.exit.1.bin\n", "%s%s", r.out, r.err);
    cr_assert_not_null(strstr(r.err, "kept x.exit.1.bin ("), "%s", r.err);
    snprintf(file, sizeof file, "%s/x.bin", folder);
    cr_assert_gt(captured(file, "folded_events"), 1000);
    cr_assert_eq(captured(file, "lost_events"), 0);
}

Test(ring, wrong_bounds_and_conditions_are_refused)
{
    mvt_run r = mvt_sh("$MEMVIZ run --max-size 1M -- true");

    cr_assert_eq(r.status, 2, "%s", r.err);
    r = mvt_sh("MEMVIZ_MAX_SIZE=1M $MEMVIZ run -- true");
    cr_assert_eq(r.status, 2);
    cr_assert_not_null(strstr(r.err, "MEMVIZ_MAX_SIZE: '1M' is not a size"), "%s", r.err);
    r = mvt_sh("$MEMVIZ run --on oom,never -- true");
    cr_assert_eq(r.status, 2);
    cr_assert_not_null(strstr(r.err, "--on: 'never' is not a condition"), "%s", r.err);
    r = mvt_sh("MEMVIZ_KEEP=x $MEMVIZ run --on oom -- true");
    cr_assert_eq(r.status, 2);
}
