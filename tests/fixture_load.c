/* Real snapshots and other files of testdata/. */
#include "tests/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

void mvt_load(mv_arena *arena, const char *name, mv_trace *out)
{
    mv_read_opts opts = {0};
    char path[1024];
    mv_err err = {0};

    snprintf(path, sizeof path, "%s/snapshots/%s.pickle", MV_TESTDATA, name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/snapshots/%s.pickle.zst", MV_TESTDATA, name);
    cr_assert_eq(mv_trace_read(arena, path, &opts, out, &err), MV_OK, "%s: %s at byte %llu: %s",
                 path, mv_code_name(err.code), (unsigned long long)err.offset, err.detail);
}

void mvt_each_snapshot(mv_arena *arena, void (*check)(const mv_trace *trace, const char *name))
{
    DIR *folder = opendir(MV_TESTDATA "/snapshots");
    unsigned count = 0;

    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *ending = strstr(entry->d_name, ".pickle");
        char name[256];
        mv_trace trace;
        if (!ending)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(ending - entry->d_name), entry->d_name);
        mvt_load(arena, name, &trace);
        check(&trace, name);
        mv_arena_release(arena);
        count++;
    }
    closedir(folder);
    cr_assert_gt(count, 30);
}

mv_span mvt_file(mv_arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long length;

    cr_assert_not_null(file, "cannot open %s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    cr_assert_geq(length, 0);
    rewind(file);
    data = mv_arena_push(arena, (uint64_t)length, 1);
    cr_assert_not_null(data);
    cr_assert_eq(fread(data, 1, (size_t)length, file), (size_t)length);
    fclose(file);
    return (mv_span){data, (uint64_t)length};
}
