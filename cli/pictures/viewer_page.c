#include "cli/pictures/viewer_page.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse/source/base64.h"
#include "parse/source/source.h"
#include "viz/scene/markup.h"

/* Where the snapshot goes. */
#define PLACE "<!--snapshot-->"

#ifndef MV_INSTALLED_PAGE_FOLDER
#define MV_INSTALLED_PAGE_FOLDER "../share/memviz"
#endif

/* ---- the page without a snapshot --------------------------------------------------------- */

/* The folder of the program, with a slash at its end. */
static void own_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    folder[length > 0 ? length : 0] = 0;
    slash = strrchr(folder, '/');
    if (slash)
        slash[1] = 0;
}

static bool find_page(char path[2 * PATH_MAX])
{
    static const char *const places[] = {"../../web/", MV_INSTALLED_PAGE_FOLDER "/"};
    const char *given = getenv("MEMVIZ_PAGE");
    char folder[PATH_MAX];

    if (given && *given) {
        snprintf(path, 2 * PATH_MAX, "%s", given);
        return true;
    }
    own_folder(folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, 2 * PATH_MAX, "%s%smemviz.html", folder, places[i]);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* The bytes before and after the place of the snapshot. */
static mv_code read_page(mv_arena *arena, mv_span *head, mv_span *tail, mv_err *err)
{
    char path[2 * PATH_MAX];
    mv_source source = {0};
    mv_span page, copy;
    const uint8_t *at;
    mv_code code;

    if (!find_page(path))
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "memviz.html is not there: scripts/web makes it (docs/web.md)");
    code = mv_source_open(arena, path, &source, err);
    if (code == MV_OK)
        code = mv_source_rest(&source, &page, err);
    copy = (mv_span){0};
    if (code == MV_OK) {
        copy = (mv_span){(uint8_t *)mv_arena_text(arena, (const char *)page.data, page.length),
                         page.length};
        if (!copy.data)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    }
    mv_source_close(&source);
    if (code != MV_OK)
        return code;
    at = memmem(copy.data, copy.length, PLACE, strlen(PLACE));
    if (!at)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET, "%.60s has no place for a snapshot", path);
    *head = (mv_span){copy.data, (uint64_t)(at - copy.data)};
    *tail = (mv_span){at + strlen(PLACE), copy.length - head->length - strlen(PLACE)};
    return MV_OK;
}

/* ---- the snapshot ------------------------------------------------------------------------ */

/* The container as bytes of malloc, which the caller frees; NULL, with an error, when it fails. */
static char *container_of(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          size_t *length, mv_err *err)
{
    char *bytes = NULL;
    mv_sink sink = {.file = open_memstream(&bytes, length)};
    mv_code code = MV_NOMEM;

    if (sink.file) {
        code = mv_snapshot_write(scratch, trace, opts, &sink, err);
        if ((fclose(sink.file) != 0 || sink.failed) && code == MV_OK)
            code = MV_NOMEM;
    }
    if (code == MV_OK)
        return bytes;
    if (code == MV_NOMEM)
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    free(bytes);
    return NULL;
}

static void put(mv_sink *sink, const char *text)
{
    mv_sink_write(sink, text, strlen(text));
}

mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                             mv_sink *sink, mv_err *err)
{
    mv_span head, tail;
    size_t length = 0;
    char *bytes;

    if (read_page(scratch, &head, &tail, err) != MV_OK)
        return err->code;
    bytes = container_of(scratch, trace, opts, &length, err);
    if (!bytes)
        return err->code;
    mv_sink_write(sink, head.data, head.length);
    put(sink, "<script type=\"text/plain\" id=\"snapshot\" data-name=\"");
    mv_markup_write(sink, MV_MARKUP_HTML, opts->name ? opts->name : "snapshot");
    put(sink, "\">");
    mv_base64_write(sink, (const uint8_t *)bytes, length);
    put(sink, "</script>");
    mv_sink_write(sink, tail.data, tail.length);
    free(bytes);
    return MV_OK;
}
