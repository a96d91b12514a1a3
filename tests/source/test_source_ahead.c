/* Sources that another thread reads ahead. */
#include <unistd.h>

#include "tests/fixture/fixture.h"

enum { BYTES = 300000 };

static void prepare(void *user, unsigned block)
{
    uint32_t *calls = user;

    cr_assert_lt(block, MV_SOURCE_AHEAD);
    calls[block]++;
}

static void work(void *user, unsigned block)
{
    (void)user, (void)block;
}

static mv_span some_bytes(void)
{
    uint8_t *bytes = mv_push_array(mvt_memory(), uint8_t, BYTES);
    uint64_t state = 1;

    cr_assert_not_null(bytes);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)mvt_random(&state, 20);
    return (mv_span){bytes, BYTES};
}

/* Takes all bytes of two sources in pieces of random lengths, and expects the same bytes and the same
 * end. */
static void expect_same(mv_source *a, mv_source *b, uint32_t longest, uint64_t seed)
{
    mv_err of_a = {.offset = MV_NO_OFFSET}, of_b = of_a;
    bool more = true;

    while (more) {
        uint64_t wanted = 1 + mvt_random(&seed, longest), used;
        more = mv_source_need(a, wanted);
        cr_assert_eq(mv_source_need(b, wanted), more);
        cr_assert_eq(mv_source_offset(a), mv_source_offset(b));
        used = more ? wanted : (uint64_t)(a->end - a->at);
        cr_assert((uint64_t)(b->end - b->at) >= used && memcmp(a->at, b->at, used) == 0);
        used = mvt_random(&seed, (uint32_t)used + 1);
        a->at += more ? used : (uint64_t)(a->end - a->at);
        b->at += more ? used : (uint64_t)(b->end - b->at);
    }
    cr_assert_eq(mv_source_fail(a, &of_a, "end"), mv_source_fail(b, &of_b, "end"));
    cr_assert_eq(of_a.offset, of_b.offset);
    cr_assert_str_eq(of_a.detail, of_b.detail);
    cr_assert_eq(mv_source_file_read(a), mv_source_file_read(b));
}

static void check(mv_span bytes, uint32_t block_bytes, uint32_t longest)
{
    mv_arena *arena = mvt_arena_new();
    uint32_t calls[MV_SOURCE_AHEAD] = {0};
    mv_source a, b;

    mvt_ok(mv_source_over(arena, bytes, &a, mvt_err()));
    mvt_ok(mv_source_open(arena, mvt_temp_file(bytes), &b, mvt_err()));
    cr_assert(mv_source_read_ahead(&b, &(mv_source_ahead){block_bytes, prepare, work, calls}));
    cr_assert_not(mv_source_read_ahead(&b, &(mv_source_ahead){block_bytes, prepare, work, calls}));
    cr_assert_eq(calls[1], 1);
    expect_same(&a, &b, longest, block_bytes);
    mv_source_close(&a);
    mv_source_close(&b);
    mv_arena_release(arena);
}

Test(source_ahead, gives_the_same_bytes, .timeout = 200)
{
    static const uint32_t blocks[] = {1, 50, 1000, 4096, 100000, BYTES, 1 << 20};
    static const uint32_t longest[] = {16, 3000, 150000};
    mv_span bytes = some_bytes();

    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (unsigned j = 0; j < sizeof longest / sizeof *longest; j++)
            check(bytes, blocks[i], longest[j]);
}

Test(source_ahead, may_stop_at_any_time, .timeout = 200)
{
    mv_span bytes = some_bytes();
    mv_source_ahead how = {1000, prepare, work, (uint32_t[MV_SOURCE_AHEAD]){0}};

    for (uint32_t taken = 0; taken < 20000; taken += 700) {
        mv_source a, b;
        mvt_ok(mv_source_over(mvt_memory(), bytes, &a, mvt_err()));
        mvt_ok(mv_source_over(mvt_memory(), bytes, &b, mvt_err()));
        cr_assert(mv_source_read_ahead(&b, &how));
        for (uint32_t i = 0; i < taken; i += 100) {
            cr_assert(mv_source_need(&a, 100) && mv_source_need(&b, 100));
            a.at += 100;
            b.at += 100;
        }
        mv_source_stop_ahead(&b);
        expect_same(&a, &b, 5000, taken);
        mv_source_close(&a);
        mv_source_close(&b);
        mvt_ok(mv_source_over(mvt_memory(), bytes, &b, mvt_err()));
        cr_assert(mv_source_read_ahead(&b, &how));
        mv_source_close(&b); /* while blocks are read */
    }
}

/* The window from before reading ahead has to grow, which may move it. */
Test(source_ahead, may_stop_in_the_first_window)
{
    mv_span bytes = some_bytes();
    mv_source_ahead how = {60000, prepare, work, (uint32_t[MV_SOURCE_AHEAD]){0}};

    for (uint32_t used = 0; used < 40; used += 39) {
        for (uint32_t wanted = 0; wanted <= BYTES; wanted += BYTES) {
            mv_source a, b;
            mvt_ok(mv_source_over(mvt_memory(), bytes, &a, mvt_err()));
            mvt_ok(mv_source_over(mvt_memory(), bytes, &b, mvt_err()));
            cr_assert(mv_source_need(&a, 40) && mv_source_need(&b, 40));
            cr_assert(mv_source_read_ahead(&b, &how));
            a.at += used;
            b.at += used;
            if (wanted)
                cr_assert(mv_source_need(&b, wanted - used));
            else
                mv_source_stop_ahead(&b);
            cr_assert(mv_source_offset(&b) == used);
            expect_same(&a, &b, 5000, used);
            mv_source_close(&a);
            mv_source_close(&b);
        }
    }
}

/* A thread that waits for a pipe could not be ended. */
Test(source_ahead, pipes_are_not_read_ahead)
{
    uint32_t calls[MV_SOURCE_AHEAD];
    mv_source source;
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], some_bytes().data, 5000), 5000);
    close(ends[1]);
    mvt_ok(mv_source_open(mvt_memory(), mvt_format("/dev/fd/%d", ends[0]), &source, mvt_err()));
    cr_expect_not(mv_source_read_ahead(&source, &(mv_source_ahead){100, prepare, work, calls}));
    cr_expect(mv_source_need(&source, 5000));
    mv_source_close(&source);
}

Test(source_ahead, compressed_files_are_not_read_ahead)
{
    uint32_t calls[MV_SOURCE_AHEAD];
    mv_source source;

    mvt_ok(mv_source_open(mvt_memory(), mvt_snapshot("generate"), &source, mvt_err()));
    cr_assert_str_eq(mv_source_compression(&source), "zstd");
    cr_expect_not(mv_source_read_ahead(&source, &(mv_source_ahead){100, prepare, work, calls}));
    mv_source_close(&source);
}

Test(source_ahead, little_memory_is_left_to_the_reader)
{
    mv_arena *arena = mvt_arena_of(2 * MIB);
    uint32_t calls[MV_SOURCE_AHEAD];
    mv_source source;

    mvt_ok(mv_source_over(arena, some_bytes(), &source, mvt_err()));
    cr_expect_not(mv_source_read_ahead(&source, &(mv_source_ahead){1 << 20, prepare, work, calls}));
    cr_expect_not(arena->budget->lacked);
    mv_source_close(&source);
}
