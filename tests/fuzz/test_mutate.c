#include "tests/fuzz/mutate.h"

#include "tests/fixture/fixture.h"
#include "tests/fuzz/live_form.h"

enum { ROOM = 128 << 10, MUTATIONS = 1000, DAMAGED = 100 };

/* In blocks of their exact size: a sanitizer sees a byte too many. */
static size_t mutate(const mvt_format *format, mv_span from, uint8_t *to, size_t room,
                     uint64_t seed)
{
    memcpy(to, from.data, from.length);
    return mvt_mutate(format, to, from.length, room, seed);
}

static bool is_read(mv_span bytes)
{
    mv_arena *arena = mvt_arena_new();
    bool is_live = bytes.data[0] == 'c';
    uint8_t *file = NULL;
    mv_trace trace;
    mv_err err;

    if (is_live) {
        file = mvt_live_expand(bytes, &bytes.length);
        bytes.data = file;
    }
    mv_code code = mv_trace_read_bytes(arena, bytes, &trace, &err);
    mv_arena_release(arena);
    free(file);
    return code == MV_OK && (!is_live || !trace.notes[MV_NOTE_DAMAGED].count);
}

/* Mutators respect any amount of room, and bytes that are not a file of the format do no harm. */
static void expect_in_bounds(const mvt_format *format, mv_span seed)
{
    uint64_t random = 1;

    for (unsigned i = 0; i < DAMAGED; i++) {
        size_t size = i % 2 ? seed.length : mvt_random(&random, (uint32_t)seed.length + 1);
        size_t room = size + mvt_random(&random, 64);
        uint8_t *to = malloc(room + 1);
        for (unsigned k = 0; k < 3; k++) {
            memcpy(to, seed.data, size);
            for (unsigned flips = mvt_random(&random, 4); size && flips > 0; flips--)
                to[mvt_random(&random, (uint32_t)size)] = (uint8_t)mvt_random(&random, 256);
            to = realloc(to, room ? room : 1);
            cr_assert_leq(mvt_mutate(format, to, size, room, mvt_random_next(&random)), room);
            cr_assert_leq(mvt_cross(format, seed, (mv_span){seed.data, size}, to, room, random),
                          room);
        }
        free(to);
    }
}

static void check(const mvt_format *format, mv_span seed, unsigned percent)
{
    /* Most mutations change something, and most changed files can be read. */
    uint8_t *to = malloc(ROOM), *again = malloc(ROOM);
    unsigned read = 0, changed = 0;
    for (uint64_t i = 0; i < MUTATIONS; i++) {
        size_t size = mutate(format, seed, to, ROOM, i);
        cr_assert_leq(size, ROOM);
        cr_assert_eq(mutate(format, seed, again, ROOM, i), size);
        cr_assert(memcmp(to, again, size ? size : seed.length) == 0, "mutation %d", (int)i);
        changed += size && !(size == seed.length && memcmp(to, seed.data, size) == 0);
        read += size && is_read((mv_span){to, size});
    }
    fprintf(stderr, "%u changed, %u read\n", changed, read);
    cr_expect_geq(changed, MUTATIONS / 10 * 8, "%u", changed);
    cr_expect_geq(read, MUTATIONS / 100 * percent, "%u", read);
    free(to);
    free(again);
    expect_in_bounds(format, seed);
}

LongTest(mutate, pickles_stay_pickles)
{
    check(&mvt_format_pickle, mvt_pickle_bytes(mvt_two_devices(), true), 60);
    check(&mvt_format_pickle, mvt_pickle_bytes(mvt_two_devices(), false), 60);
    check(&mvt_format_any, mvt_file(mvt_memory(), mvt_snapshot("no_history")), 60);
}

LongTest(mutate, msgpack_stays_msgpack)
{
    check(&mvt_format_msgpack, mvt_plain_bytes(mvt_two_devices()), 50);
    check(&mvt_format_any,
          mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/two_devices_compact"), 50);
}

LongTest(mutate, containers_stay_containers)
{
    check(&mvt_format_container, mvt_snapshot_bytes(mvt_two_devices()), 60);
    check(&mvt_format_any, mvt_file(mvt_memory(), mvt_snapshot("plain_graph")), 60);
}

LongTest(mutate, live_files_stay_live_files)
{
    mv_span records = mvt_file(mvt_memory(), MV_TESTDATA "/corpus/live/records");

    check(&mvt_format_live, records, 60);
}
