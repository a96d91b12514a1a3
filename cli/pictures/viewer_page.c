#include "cli/pictures/viewer_page.h"

#include <stdlib.h>
#include <string.h>

#include "view/page/page_file.h"
#include "parse/source/base64.h"
#include "viz/scene/markup.h"

/* Where the snapshot goes. */
#define PLACE "<!--snapshot-->"

/* The bytes before and after the place of the snapshot. */
static mv_code read_page(mv_arena *arena, mv_span *head, mv_span *tail, mv_err *err)
{
    const uint8_t *at;
    mv_span page;

    if (mv_page_file_read(arena, &page, err) != MV_OK)
        return err->code;
    at = memmem(page.data, page.length, PLACE, strlen(PLACE));
    if (!at)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET, "memviz.html has no place for a snapshot");
    *head = (mv_span){page.data, (uint64_t)(at - page.data)};
    *tail = (mv_span){at + strlen(PLACE), page.length - head->length - strlen(PLACE)};
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
    mv_span head = {0}, tail = {0};
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
