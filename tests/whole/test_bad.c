/* Every file in testdata/bad (made by scripts/make-bad-files.py) must be refused with the error in
 * its name, at an offset inside the file, using little memory and time. */
#include "base/duration.h"
#include "tests/fixture/fixture.h"

#include <glob.h>

enum { FEWEST_FILES = 170, MOST_SECONDS = 20 };

/* The budget of `memviz --max-memory 64M`. */
#define BUDGET ((uint64_t)64 << 20)

/* Returns the code in a name such as "cut_in_key.TRUNCATED.pickle" (MV_TRUNCATED), or MV_OK if the
 * name contains no code. */
static mv_code code_in_name(const char *name)
{
    const char *at = strchr(name, '.');
    size_t length = at ? strcspn(at + 1, ".") : 0;

    for (int code = MV_OK + 1; at && code < MV_ERR_COUNT; code++)
        if (strlen(mv_code_name((mv_code)code)) == length &&
            strncmp(mv_code_name((mv_code)code), at + 1, length) == 0)
            return (mv_code)code;
    return MV_OK;
}

/* The number of bytes that can be unpacked from the file. */
static uint64_t unpacked_bytes(const char *path)
{
    mv_arena *arena = mvt_arena_of(BUDGET);
    mv_source source;
    uint64_t bytes = 0;
    mv_err err;

    if (mv_source_open(arena, path, &source, &err) == MV_OK) {
        while (mv_source_need(&source, 1))
            source.at = source.end;
        bytes = source.passed;
    }
    mv_source_close(&source);
    mv_arena_release(arena);
    return bytes;
}

/* Returns NULL if the file is refused with the error in its name. */
static const char *check(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    mv_read_opts opts = {0};
    mv_arena *arena = mvt_arena_of(BUDGET);
    mv_trace trace;
    mv_err err;
    int64_t start = mv_now_ms();
    mv_code want = code_in_name(name), code = mv_trace_read(arena, path, &opts, &trace, &err);

    mv_arena_release(arena);
    if (want == MV_OK)
        return mvt_format("%s: no error in its name", name);
    if (code != want)
        return mvt_format("%s: %s at byte %lld: %s", name, mv_code_name(code),
                          (long long)err.offset, code == MV_OK ? "" : err.detail);
    if (want != MV_ABSENT &&
        err.offset > unpacked_bytes(path)) /* a missing value has no position */
        return mvt_format("%s: offset %lld is not in the file (%s)", name, (long long)err.offset,
                          err.detail);
    if (arena->budget->used != 0)
        return mvt_format("%s: memory was not released", name);
    if (mv_now_ms() - start > MOST_SECONDS * 1000)
        return mvt_format("%s: took %.1f seconds", name, (double)(mv_now_ms() - start) / 1000);
    return NULL;
}

Test(bad, every_file_is_refused_for_the_reason_in_its_name)
{
    glob_t files;

    cr_assert_eq(glob(MV_TESTDATA "/bad/*", 0, NULL, &files), 0);
    cr_assert_geq(files.gl_pathc, FEWEST_FILES);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *why = check(files.gl_pathv[i]);
        cr_expect_null(why, "%s", why);
    }
    globfree(&files);
}
