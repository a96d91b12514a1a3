/* An output file is written under its final name, because only the page can see its files. If
 * writing fails, the file is removed. */
#include "parse/source/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The page offers the file for download. */
__attribute__((import_module("page"), import_name("written"))) extern void
page_written(const char *name, uint32_t length);

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err)
{
    char cut[MV_ERR_PATH];

    *sink = (mv_sink){0};
    snprintf(sink->path, sizeof sink->path, "%s", path);
    sink->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (!sink->file)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write %s: %s", mv_err_path(path, cut),
                       strerror(errno));
    return MV_OK;
}

mv_code mv_sink_commit(mv_sink *sink, mv_err *err)
{
    bool failed = sink->failed, is_file = sink->file != stdout;
    char cut[MV_ERR_PATH];

    if (fflush(sink->file) != 0 || ferror(sink->file))
        failed = true;
    if (is_file && fclose(sink->file) != 0)
        failed = true;
    sink->file = NULL;
    if (!failed && is_file)
        page_written(sink->path, (uint32_t)strlen(sink->path));
    if (!failed)
        return MV_OK;
    unlink(sink->path);
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write %s: %s", mv_err_path(sink->path, cut),
                   mv_code_text(MV_NOMEM));
}

void mv_sink_abort(mv_sink *sink)
{
    if (!sink->file || sink->file == stdout) {
        sink->file = NULL;
        return;
    }
    fclose(sink->file);
    sink->file = NULL;
    unlink(sink->path);
}
