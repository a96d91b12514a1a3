#include "cli/serve/container_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse/live/read_live.h"
#include "parse/writers.h"

/* ---- a container already ----------------------------------------------------------------- */

/* The file that a running capture writes is not a container yet. */
static bool is_container(mv_budget *budget, const char *path)
{
    mv_err ignored = {0};
    mv_source source = {0};
    mv_span all;
    mv_arena arena;
    bool is = false;

    mv_arena_init(&arena, budget);
    if (mv_source_open_file(&arena, path, &source, &ignored) == MV_OK &&
        strcmp(mv_source_compression(&source), "none") == 0 && mv_source_need(&source, 64) &&
        mv_snapshot_probe((mv_span){source.at, (uint64_t)(source.end - source.at)}))
        is = mv_source_rest(&source, &all, &ignored) == MV_OK && !mv_live_probe(all) &&
             mv_source_check(&source, &ignored) == MV_OK;
    mv_source_close(&source);
    mv_arena_release(&arena);
    return is;
}

static mv_code open_original(const char *path, mv_container_file *out, mv_err *err)
{
    struct stat st;

    out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (out->fd < 0 || fstat(out->fd, &st) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(ESTALE));
    out->bytes = (uint64_t)st.st_size;
    out->is_original = true;
    return MV_OK;
}

/* ---- a conversion ------------------------------------------------------------------------ */

/* Reading counts as the first half of the work, and writing as the second. */
typedef struct {
    mv_progress_fn *show;
    void *user;
    uint64_t before;
} half;

static void show_half(void *user, uint64_t done, uint64_t total)
{
    half *h = user;

    h->show(h->user, h->before + (total ? done * 500 / total : 0), 1000);
}

static mv_code write_container(mv_arena *scratch, const mv_trace *trace, half *h,
                               mv_container_file *out, mv_err *err)
{
    mv_write_opts opts = {.progress = show_half, .user = h};
    int writing = fcntl(out->fd, F_DUPFD_CLOEXEC, 0);
    mv_sink sink = {.file = writing < 0 ? NULL : fdopen(writing, "wb")};
    mv_code code;

    if (!sink.file)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    code = mv_snapshot_write(scratch, trace, &opts, &sink, err);
    if ((fclose(sink.file) != 0 || sink.failed) && code == MV_OK)
        code = mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    out->bytes = sink.bytes;
    return code;
}

static mv_code convert(mv_budget *budget, const char *path, half *h, mv_container_file *out,
                       mv_err *err)
{
    mv_read_opts opts = {.progress = show_half, .user = h, .files_only = true};
    mv_arena arena, scratch;
    mv_trace trace;
    mv_code code;

    out->fd = memfd_create("memviz", MFD_CLOEXEC);
    if (out->fd < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    mv_arena_init(&arena, budget);
    mv_arena_init(&scratch, budget);
    code = mv_trace_read(&arena, path, &opts, &trace, err);
    h->before = 500;
    if (code == MV_OK)
        code = write_container(&scratch, &trace, h, out, err);
    mv_arena_release(&scratch);
    mv_arena_release(&arena);
    return code;
}

mv_code mv_container_file_make(mv_budget *budget, const char *path, mv_progress_fn *progress,
                               void *user, mv_container_file *out, mv_err *err)
{
    half h = {.show = progress, .user = user};
    mv_code code;

    *out = (mv_container_file){.fd = -1};
    code = is_container(budget, path) ? open_original(path, out, err)
                                      : convert(budget, path, &h, out, err);
    if (code != MV_OK && out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    return code;
}
