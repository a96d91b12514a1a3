/* A live file that is read while it grows: any sequence of reads gives the same records as a single
 * read. */
#include <fcntl.h>
#include <unistd.h>

#include "parse/live/live_follow.h"
#include "tests/fixture/fixture_live.h"

enum { MOST = 4096, SOON_US = 2000000 };

typedef struct {
    mv_live_record rows[MOST];
    uint32_t count;
} records;

typedef struct {
    mvt_live *live;
    mv_live_follow *reader;
    const char *path;
    uint64_t now_us;
    records got;
} following;

static void keep(records *to, const mv_live_record *r)
{
    cr_assert_lt(to->count, MOST);
    to->rows[to->count++] = *r;
}

static void close_reader(void *reader)
{
    mv_live_follow_close(reader);
}

static void begin(following *f, mvt_live *l)
{
    *f = (following){.live = l, .path = mvt_temp_file(mvt_live_bytes(l))};
    f->reader = mv_live_follow_open(mvt_memory(), f->path, mvt_err());
    cr_assert_not_null(f->reader, "%s", mvt_err()->detail);
    mvt_at_end(close_reader, f->reader);
}

static void update(following *f)
{
    mv_live_record r;

    mvt_ok(mv_live_follow_update(f->reader, f->now_us, mvt_err()));
    while (mv_live_follow_next(f->reader, &r))
        keep(&f->got, &r);
}

/* Writes the file's new part, then updates the reader. */
static void feed(following *f)
{
    mvt_file_put(f->path, mvt_live_bytes(f->live));
    update(f);
}

static void expect_same(const records *got, const records *want)
{
    cr_assert_eq(got->count, want->count, "%u records, want %u", got->count, want->count);
    for (uint32_t i = 0; i < want->count; i++) {
        const mv_live_record *a = &got->rows[i], *b = &want->rows[i];
        cr_assert(a->kind == b->kind && a->sequence == b->sequence,
                  "record %u: kind %u number %llu", i, a->kind, (unsigned long long)a->sequence);
        cr_assert(a->addr == b->addr && a->size == b->size && a->time_us == b->time_us &&
                      a->thread == b->thread && a->stack == b->stack && a->text == b->text &&
                      a->device == b->device && a->device_type == b->device_type &&
                      a->allocated == b->allocated && a->number == b->number,
                  "record %u", i);
    }
}

static const mv_live_follow_state *status(const following *f)
{
    return mv_live_follow_status(f->reader);
}

/* Two threads that begin new chunks, with marks, calls, totals and new stacks. */
static void write_event(mvt_live *l, uint32_t i)
{
    uint64_t addr = 0x7f0000000000 + (uint64_t)(i / 2 % 7) * 4096;
    uint32_t thread = i % 3 == 0;

    const char *stack = mvt_format("f%u:a.py:%u;main:a.py:1", i % 5, i % 11);
    if (i % 2 == 0)
        mvt_live_block(l, .thread = thread, .addr = addr, .size = 512 + i, .device = i / 2 % 7 == 3,
                       .stack = mvt_live_stack(l, stack));
    else
        mvt_live_free(l, .thread = thread, .addr = addr, .size = 511 + i, .device = i / 2 % 7 == 3);
    if (i % 9 == 4)
        MVT_LIVE(l, TOTALS, .thread = thread, .allocated = i, .reserved = 4096);
    if (i % 13 == 5)
        MVT_LIVE(l, MARK, .thread = thread, .text = mvt_live_string(l, "step"));
    if (i % 17 == 6)
        mvt_live_segment(l, 0x10000000 + (uint64_t)i * (2 << 20), 2 << 20);
    if (i % 19 == 7)
        mvt_live_next_chunk(l, thread, i % 2);
    if (i % 23 == 8)
        mvt_live_next_chunk(l, 0, i % 2);
}

Test(live_follow, any_number_of_reads_gives_the_same_records)
{
    static const uint32_t steps[] = {1, 2, 3, 7, 50, 1000};

    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        mvt_live *l = mvt_live_new();
        following f;
        begin(&f, l);
        for (uint32_t j = 0; j < 300; j++) {
            write_event(l, j);
            if (j % steps[i] == 0)
                feed(&f);
        }
        feed(&f);
        mv_arena *arena = mvt_memory();
        mv_trace trace;
        mv_build b;
        mv_live_chunks chunks;
        mv_live_merge merge;
        mv_live_record r;
        records want = {0};
        mv_build_init(&b, arena, &trace);
        cr_assert(mv_live_chunks_find(arena, mvt_live_bytes(l), &b, &chunks));
        cr_assert(mv_live_merge_init(arena, &chunks, true, &b, &merge));
        while (mv_live_merge_next(&merge, &r))
            keep(&want, &r);
        cr_assert_gt(want.count, 300);
        expect_same(&f.got, &want);
        cr_assert_eq(status(&f)->lost + status(&f)->late + status(&f)->damaged, 0);
        mvt_end_now(f.reader);
    }
}

static const char *fact(const following *f, const char *key)
{
    return mv_fact_find(mv_live_follow_names(f->reader)->build->trace, key);
}

Test(live_follow, facts_arrive_while_it_runs)
{
    mvt_live *l = mvt_live_new();
    following f;

    begin(&f, l);
    feed(&f);
    cr_assert_null(fact(&f, "rank"));
    mvt_live_fact(l, "rank", "3");
    feed(&f);
    cr_assert_str_eq(fact(&f, "rank"), "3");
    cr_assert_not(status(&f)->has_ended);
    mvt_live_fact(l, "end_us", "77");
    feed(&f);
    cr_assert(status(&f)->has_ended);
}

/* Thread 1 takes number 2, and thread 2 writes 3 before thread 1 has written 2. */
static void begin_gap(following *f)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .thread = 1, .sequence = 1, .time_us = 1000, .addr = 4096, .size = 512);
    begin(f, l);
    mvt_live_block(l, .thread = 2, .sequence = 3, .time_us = 1030, .addr = 8192, .size = 512);
}

Test(live_follow, records_wait_for_a_missing_number)
{
    following f;

    begin_gap(&f);
    f.now_us = 1030 + SOON_US;
    for (int i = 0; i < 5; i++)
        feed(&f);
    cr_assert_eq(f.got.count, 1);
    cr_assert(status(&f)->is_waiting);
    mvt_live_free(f.live, .thread = 1, .sequence = 2, .time_us = 1020, .addr = 4096, .size = 512);
    feed(&f);
    cr_assert_eq(f.got.count, 3);
    cr_assert_eq(f.got.rows[1].sequence, 2);
    cr_assert_not(status(&f)->is_waiting);
}

Test(live_follow, a_number_that_does_not_come_is_given_up_by_time)
{
    following f;

    begin_gap(&f);
    f.now_us = 1031 + SOON_US;
    feed(&f);
    cr_assert_eq(f.got.count, 2);
    cr_assert_eq(status(&f)->lost, 1);
    mvt_live_free(f.live, .thread = 1, .sequence = 2, .time_us = 1020, .addr = 4096, .size = 512);
    feed(&f);
    cr_assert_eq(f.got.rows[2].sequence, 2);
    cr_assert(status(&f)->is_late);
    cr_assert_eq(status(&f)->lost, 0);
    cr_assert_eq(status(&f)->late, 1);
}

Test(live_follow, records_of_another_clock_are_not_held_back)
{
    enum { OTHER_US = 2 * SOON_US };
    mvt_live *l = mvt_live_new();
    following f;

    mvt_live_block(l, .thread = 1, .sequence = 1, .time_us = OTHER_US, .addr = 4096, .size = 512);
    begin(&f, l);
    mvt_live_block(l, .thread = 2, .sequence = 3, .time_us = OTHER_US, .addr = 8192, .size = 512);
    f.now_us = 1000;
    feed(&f);
    cr_assert_eq(f.got.count, 2);
    cr_assert_eq(status(&f)->lost, 1);
}

Test(live_follow, a_number_that_nobody_can_write_is_lost)
{
    following f;

    begin_gap(&f);
    mvt_live_next_chunk(f.live, 1, true);
    feed(&f);
    cr_assert_eq(f.got.count, 1);
    feed(&f);
    feed(&f);
    cr_assert_eq(f.got.count, 2);
    cr_assert_eq(status(&f)->lost, 1);
}

Test(live_follow, at_the_end_no_number_is_waited_for)
{
    following f;

    begin_gap(&f);
    feed(&f);
    f.now_us = MV_LIVE_FOLLOW_ENDED;
    update(&f);
    cr_assert_eq(f.got.count, 2);
    cr_assert(status(&f)->has_ended);
}

Test(live_follow, a_file_that_was_cut_ends_there)
{
    mvt_live *l = mvt_live_new();

    for (uint32_t i = 0; i < 300; i++)
        write_event(l, i);
    mv_span file = mvt_live_bytes(l);
    for (uint64_t length = file.length; length > 65536; length -= 4093) {
        following f;
        begin(&f, l);
        cr_assert_eq(truncate(f.path, (off_t)length), 0);
        f.now_us = MV_LIVE_FOLLOW_ENDED;
        update(&f);
        update(&f);
        cr_assert_leq(f.got.count, 400);
        mvt_end_now(f.reader);
    }
}

Test(live_follow, any_byte_may_be_wrong)
{
    mvt_live *l = mvt_live_new();

    for (uint32_t i = 0; i < 60; i++)
        write_event(l, i);
    mv_span file = mvt_live_bytes(l);
    for (uint64_t at = 65536; at < file.length; at += at % 65536 < 300 ? 1 : 9973) {
        following f;
        uint8_t wrong = file.data[at] ^ 0x5a;
        begin(&f, l);
        int fd = open(f.path, O_WRONLY);
        cr_assert_eq(pwrite(fd, &wrong, 1, (off_t)at), 1);
        close(fd);
        f.now_us = MV_LIVE_FOLLOW_ENDED;
        update(&f);
        mvt_end_now(f.reader);
    }
}

Test(live_follow, only_live_files_are_followed)
{
    static const char text[] = "not a recording, and longer than the header of one would be.....";
    const char *path = mvt_temp_file((mv_span){(const uint8_t *)text, sizeof text});

    cr_assert_null(mv_live_follow_open(mvt_memory(), path, mvt_err()));
    cr_assert_eq(mvt_err()->code, MV_FORMAT);
    cr_assert_null(mv_live_follow_open(mvt_memory(), "/nowhere/x.live", mvt_err()));
    cr_assert_eq(mvt_err()->code, MV_IO);
}
