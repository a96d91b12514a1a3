#include "cli/input/folder_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "analyze/ranks/summary_bytes.h"
#include "base/grow.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/readers.h"

/* Stored bytes that are examined, and bytes of content, with the keys that has_keys looks for. */
#define MOST_LOOKED_AT (1u << 20)
#define HEAD_BYTES     (1u << 16)

typedef struct {
    mv_arena *arena;
    bool or_summary;
    char **path; /* [count] */
    uint32_t count, capacity;
} list;

/* Whether any pickle or JSON begins like one that memviz reads. Programs write others next to their
 * snapshots, such as args.pkl and config.json. */
static bool has_keys(bool (*probe)(mv_span head), mv_span head)
{
    static const char *const of_pickle[] = {"segments", "device_traces", "total_size", NULL};
    static const char *const of_trace[] = {"\"traceEvents\"", "\"ph\"", NULL};
    const char *const *key = probe == mv_pickle_probe   ? of_pickle
                             : probe == mv_kineto_probe ? of_trace
                                                        : NULL;

    if (!key)
        return true;
    while (*key && !memmem(head.data, head.length, *key, strlen(*key)))
        key++;
    return *key;
}

static bool is_snapshot(mv_span head, bool or_summary)
{
    for (const mv_reader *r = mv_readers; r->name; r++)
        if (r->probe != mv_page_probe && r->probe(head))
            return has_keys(r->probe, head);
    return or_summary && mv_summary_probe(head);
}

bool mv_is_snapshot_file(mv_budget *budget, const char *path, bool or_summary)
{
    mv_err ignored = {0};
    mv_source source = {0};
    mv_arena arena;
    bool is = false;

    mv_arena_init(&arena, budget);
    if (mv_source_open_file(&arena, path, &source, &ignored) == MV_OK) {
        mv_source_limit(&source, MOST_LOOKED_AT);
        mv_source_need(&source, HEAD_BYTES);
        is = is_snapshot((mv_span){source.at, (uint64_t)(source.end - source.at)}, or_summary);
    }
    mv_source_close(&source);
    mv_arena_release(&arena);
    return is;
}

bool mv_is_named_as_snapshot(const char *name, bool or_summary)
{
    static const char *const endings[] = {".pickle", ".msgpack", ".bin"};
    static const char *const packed[] = {"", ".gz", ".zst"};
    char ending[16];

    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
        for (unsigned k = 0; k < sizeof packed / sizeof *packed; k++) {
            snprintf(ending, sizeof ending, "%s%s", endings[i], packed[k]);
            if (mv_text_has_ending(name, ending))
                return true;
        }
    return or_summary && mv_text_has_ending(name, ".summary");
}

/* A file that is named like a snapshot is always passed to the reader, because a gate must not pass
 * when a rank was not read. */
static bool is_wanted(const list *l, const char *name, const char *path)
{
    struct stat st;
    bool is_there = stat(path, &st) == 0;

    if (name[0] == '.' || (is_there && S_ISDIR(st.st_mode)))
        return false;
    return mv_is_named_as_snapshot(name, l->or_summary) ||
           (is_there && S_ISREG(st.st_mode) &&
            mv_is_snapshot_file(l->arena->budget, path, l->or_summary));
}

static bool add(list *l, const char *path, size_t length)
{
    char *copy = mv_arena_text(l->arena, path, length);

    return copy && mv_append(l->arena, l->path, l->count, l->capacity, copy);
}

static int by_name(const void *a, const void *b, const void *context)
{
    (void)context;
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static mv_code add_folder(list *l, const char *folder, mv_err *err)
{
    size_t length = strlen(folder);
    uint32_t before = l->count;
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool has_memory = true, fits = true;
    char path[4096], cut[MV_ERR_PATH];
    int failure;

    if (!dir)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", mv_err_path(folder, cut),
                       strerror(errno));
    while (length > 1 && folder[length - 1] == '/')
        length--;
    while (errno = 0, has_memory && fits && (entry = readdir(dir))) {
        int used = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, entry->d_name);
        fits = used < (int)sizeof path;
        if (fits && is_wanted(l, entry->d_name, path))
            has_memory = add(l, path, (size_t)used);
    }
    failure = fits ? errno : ENAMETOOLONG;
    closedir(dir);
    if (!has_memory)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "list of files");
    if (failure)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", mv_err_path(folder, cut),
                       strerror(failure));
    if (l->count == before)
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s: no snapshot in this folder",
                       mv_err_path(folder, cut));
    mv_sort_by(l->arena, l->path + before, l->count - before, sizeof *l->path, by_name, NULL);
    return MV_OK;
}

mv_code mv_folder_files(mv_arena *arena, char **paths, int paths_count, bool or_summary,
                        char ***out, int *count, mv_err *err)
{
    list l = {.arena = arena, .or_summary = or_summary};
    struct stat st;

    for (int i = 0; i < paths_count; i++) {
        if (stat(paths[i], &st) != 0 || !S_ISDIR(st.st_mode)) {
            if (!mv_append(arena, l.path, l.count, l.capacity, paths[i]))
                return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "list of files");
        } else if (add_folder(&l, paths[i], err) != MV_OK) {
            return err->code;
        }
    }
    *out = l.path;
    *count = (int)l.count;
    return MV_OK;
}
