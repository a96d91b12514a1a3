/* A pickle that another thread reads in blocks gives the same trace, or the same error at the same
 * byte, as one that is read by one thread. */
#include <dirent.h>

#include "parse/pickle/read_pickle.h"
#include "tests/fixture/fixture.h"

typedef struct {
    mv_arena *arena;
    mv_code code;
    mv_err err;
    mv_trace trace;
    uint64_t reports, reported; /* calls of `progress`, and the largest number of bytes */
} result;

static void take_progress(void *user, uint64_t done, uint64_t all)
{
    result *r = user;

    cr_assert(done >= r->reported && done <= all);
    r->reported = done;
    r->reports++;
}

static result read_in_blocks(mv_span bytes, uint32_t block_bytes)
{
    result r = {.arena = mvt_arena_new(), .err.offset = MV_NO_OFFSET};
    mv_read_opts opts = {.progress = take_progress, .user = &r};
    mv_source source;

    r.code = mv_source_over(r.arena, bytes, &source, &r.err);
    if (r.code == MV_OK)
        r.code = mv_pickle_read_in_blocks(r.arena, &source, &opts, block_bytes, &r.trace, &r.err);
    mv_source_close(&source);
    return r;
}

static void expect_same(const result *a, const result *b, const char *what, uint32_t block_bytes)
{
    cr_assert_eq(a->code, b->code, "%s in blocks of %u: %s, not %s", what, block_bytes,
                 mv_code_name(b->code), mv_code_name(a->code));
    if (a->code != MV_OK) {
        cr_assert_eq(a->err.offset, b->err.offset, "%s in blocks of %u: byte %lld, not %lld", what,
                     block_bytes, (long long)b->err.offset, (long long)a->err.offset);
        cr_assert_str_eq(a->err.detail, b->err.detail, "%s in blocks of %u", what, block_bytes);
        return;
    }
    const char *difference = mvt_difference(&a->trace, &b->trace);
    cr_assert_null(difference, "%s in blocks of %u: %s", what, block_bytes, difference);
    cr_assert_eq(a->trace.origin.data_bytes, b->trace.origin.data_bytes);
}

/* Short blocks end inside every kind of opcode. A string that is longer than a block makes the reader
 * leave the blocks. */
static void check_bytes(mv_span bytes, const char *what, const uint32_t *blocks)
{
    result whole = read_in_blocks(bytes, 0);

    for (; *blocks; blocks++) {
        result r = read_in_blocks(bytes, *blocks);
        expect_same(&whole, &r, what, *blocks);
        mv_arena_release(r.arena);
    }
    mv_arena_release(whole.arena);
}

static const uint32_t few[] = {300, 5000, 70000, 1 << 20, 0};
static const uint32_t many[] = {1, 17, 18, 40, 63, 64, 65, 255, 256, 1000, 4096, 66000, 0};

static void check_folder(const char *folder, const uint32_t *blocks)
{
    DIR *files = opendir(folder);
    unsigned count = 0;

    cr_assert_not_null(files);
    for (struct dirent *file; (file = readdir(files));) {
        if (!strstr(file->d_name, ".pickle"))
            continue;
        check_bytes(mvt_file(mvt_memory(), mvt_format("%s/%s", folder, file->d_name)), file->d_name,
                    blocks);
        count++;
        mv_arena_release(mvt_memory());
    }
    closedir(files);
    cr_assert_gt(count, 30);
}

LongTest(blocks, recordings_are_the_same_in_blocks)
{
    check_folder(MV_TESTDATA "/snapshots", few);
}

Test(blocks, refused_files_fail_at_the_same_byte, .timeout = 200)
{
    check_folder(MV_TESTDATA "/bad", many);
}

/* The beginning of a recording, which ends early, and in which one byte is different. */
LongTest(blocks, damaged_recordings_are_the_same_in_blocks)
{
    static const uint32_t blocks[] = {77, 1500, 0};
    mv_span file = mvt_file(mvt_memory(), mvt_snapshot("two_devices"));
    uint8_t *bytes = mv_push_array(mvt_memory(), uint8_t, file.length);
    uint64_t state = 7;

    cr_assert_not_null(bytes);
    for (uint64_t at = 0; at < file.length; at += 1 + file.length / 150) {
        memcpy(bytes, file.data, file.length);
        bytes[at] = (uint8_t)mvt_random(&state, 256);
        check_bytes((mv_span){bytes, file.length}, mvt_format("byte %llu", (unsigned long long)at),
                    blocks);
        check_bytes((mv_span){file.data, at}, mvt_format("%llu bytes", (unsigned long long)at),
                    blocks);
    }
}
