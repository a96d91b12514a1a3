#include "cli/input/kept_files.h"

static void drop(mv_kept_file *file)
{
    if (file->path)
        mv_arena_release(&file->arena);
    *file = (mv_kept_file){0};
}

/* Whether a file is unchanged. Even a rewrite in place changes its time or size. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static mv_kept_file *find(mv_kept_files *kept, const char *path, const struct stat *now)
{
    for (uint32_t i = 0; i < 2; i++) {
        mv_kept_file *file = &kept->file[i];
        if (file->path && strcmp(file->path, path) == 0 && is_same(&file->state, now))
            return file;
    }
    return NULL;
}

static mv_kept_file *oldest(mv_kept_files *kept)
{
    return kept->file[1].used < kept->file[0].used ? &kept->file[1] : &kept->file[0];
}

mv_code mv_kept_files_read(mv_kept_files *kept, const char *path, uint64_t limit,
                           const mv_read_opts *opts, mv_trace *out, mv_err *err)
{
    mv_kept_file *file;
    struct stat now = {0};

    if (stat(path, &now) == 0 && (file = find(kept, path, &now)) != NULL) {
        file->used = ++kept->uses;
        *out = file->trace;
        return MV_OK;
    }
    file = oldest(kept);
    drop(file);
    file->budget.limit = limit;
    mv_arena_init(&file->arena, &file->budget);
    file->path = mv_arena_text(&file->arena, path, strlen(path));
    if (!file->path)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", path);
    file->state = now;
    file->used = ++kept->uses;
    if (mv_trace_read(&file->arena, path, opts, &file->trace, err) != MV_OK) {
        drop(file);
        return err->code;
    }
    *out = file->trace;
    return MV_OK;
}

void mv_kept_files_release(mv_kept_files *kept)
{
    drop(&kept->file[0]);
    drop(&kept->file[1]);
}
