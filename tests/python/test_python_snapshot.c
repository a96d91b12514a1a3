/* What memviz.snapshot of the Python package writes, compared with the pickle of the same snapshot,
 * on all real ones. */
#include "parse/source/source.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_pythons.h"

#include <dirent.h>

static const char *const folders[] = {"snapshots", "releases", "leaks", "midway", "oom"};

/* FOLDER/NAME.pickle, decompressed. */
static void unpack(const char *path, const char *name, const char *folder)
{
    mv_arena *arena = mvt_arena_new();
    mv_source source = {0};
    char to[1024];
    mv_span bytes;
    FILE *file;

    mvt_ok(mv_source_open(arena, path, &source, mvt_err()));
    mvt_ok(mv_source_rest(&source, &bytes, mvt_err()));
    snprintf(to, sizeof to, "%s/%.*s.pickle", folder, (int)strcspn(name, "."), name);
    file = fopen(to, "wbx");
    cr_assert_not_null(file, "%s", to);
    cr_assert_eq(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
    fclose(file);
    mv_source_close(&source);
    mv_arena_release(arena);
}

static unsigned unpack_all(const char *folder)
{
    unsigned count = 0;

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[1024], from[512];
        DIR *dir;
        snprintf(from, sizeof from, MV_TESTDATA "/%s", folders[i]);
        dir = opendir(from);
        cr_assert_not_null(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
            char name[300];
            if (!strstr(entry->d_name, ".pickle"))
                continue;
            snprintf(name, sizeof name, "%s-%s", folders[i], entry->d_name);
            snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
            unpack(path, name, folder);
            count++;
        }
        closedir(dir);
    }
    return count;
}

/* Whether rows have the same numbers, too. */
static bool compare(const char *written)
{
    mv_arena *arena = mvt_arena_new();
    mv_read_opts opts = {0};
    mv_trace ours, pickle;
    char path[1024];
    const char *difference;
    bool is_same;

    snprintf(path, sizeof path, "%.*s.again.pickle", (int)(strlen(written) - strlen(".msgpack")),
             written);
    mvt_ok(mv_trace_read(arena, written, &opts, &ours, mvt_err()));
    mvt_ok(mv_trace_read(arena, path, &opts, &pickle, mvt_err()));
    is_same = mvt_difference(&pickle, &ours) == NULL;
    difference = is_same ? NULL : mvt_content_difference(arena, &pickle, &ours);
    cr_expect_null(difference, "%s: %s", written, difference);
    cr_expect_eq(ours.calls, pickle.calls, "%s", written);
    cr_expect_eq(ours.keys, pickle.keys, "%s", written);
    mv_arena_release(arena);
    return is_same;
}

LongTest(python_snapshot, what_the_package_writes_is_the_snapshot)
{
    const char *folder = mvt_temp_folder(), *pythons[MVT_MOST_PYTHONS];
    unsigned there = unpack_all(folder), written = 0, same = 0;
    char line[1024];
    FILE *output;

    cr_assert_gt(mvt_pythons(pythons), 0);
    output = mvt_python_open(pythons[0], "../python/write_snapshots.py", folder);
    while (fgets(line, sizeof line, output)) {
        line[strcspn(line, "\n")] = 0;
        same += compare(line);
        written++;
    }
    mvt_python_close(output, pythons[0]);
    cr_assert_eq(written, there);
    /* Texts that are words of the format too ("oom" as a function) get their rows later in a
     * pickle; in all but those few, events also have the same calls, stacks and tags by number. */
    cr_expect_geq(same, there - 3, "%u of %u have equal rows", same, there);
}
