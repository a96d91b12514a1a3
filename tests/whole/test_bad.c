/* Every file in testdata/bad (made by scripts/make-bad-files.py) must be refused with the error in
 * its name, at an offset inside the file, using little memory and time. */
#include "base/duration.h"
#include "tests/fixture/fixture.h"

#include <dirent.h>

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
static const char *check(const char *name)
{
    static char why[512];
    mv_read_opts opts = {0};
    mv_arena *arena = mvt_arena_of(BUDGET);
    mv_trace trace;
    mv_err err;
    int64_t start = mv_now_ms();
    mv_code code, want = code_in_name(name);

    const char *path = mvt_format(MV_TESTDATA "/bad/%s", name);
    code = mv_trace_read(arena, path, &opts, &trace, &err);
    mv_arena_release(arena);
    why[0] = 0;
    if (want == MV_OK)
        snprintf(why, sizeof why, "%s: no error in its name", name);
    else if (code != want)
        snprintf(why, sizeof why, "%s: %s at byte %lld: %s", name, mv_code_name(code),
                 (long long)err.offset, code == MV_OK ? "" : err.detail);
    else if (want != MV_ABSENT &&
             err.offset > unpacked_bytes(path)) /* a missing value has no position */
        snprintf(why, sizeof why, "%s: offset %lld is not in the file (%s)", name,
                 (long long)err.offset, err.detail);
    else if (arena->budget->used != 0)
        snprintf(why, sizeof why, "%s: memory was not released", name);
    else if (mv_now_ms() - start > MOST_SECONDS * 1000)
        snprintf(why, sizeof why, "%s: took %.1f seconds", name,
                 (double)(mv_now_ms() - start) / 1000);
    return why[0] ? why : NULL;
}

Test(bad, every_file_is_refused_for_the_reason_in_its_name)
{
    unsigned files = 0, wrong = 0;
    struct dirent *entry;
    DIR *dir = opendir(MV_TESTDATA "/bad");

    cr_assert_not_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        files++;
        const char *why = check(entry->d_name);
        if (!why)
            continue;
        wrong++;
        cr_log_error("%s", why);
    }
    closedir(dir);
    cr_assert_geq(files, FEWEST_FILES);
    cr_assert_eq(wrong, 0, "%u of %u bad files are not refused as they should be", wrong, files);
}
