#include "view/page/page_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/resource_path.h"
#include "parse/source/source.h"

#ifndef MV_INSTALLED_PAGE_FOLDER
#define MV_INSTALLED_PAGE_FOLDER "../share/memviz"
#endif

static bool find_page(char path[2 * PATH_MAX])
{
    static const char *const places[] = {"memviz.html", "../../web/memviz.html",
                                         MV_INSTALLED_PAGE_FOLDER "/memviz.html"};
    const char *given = getenv("MEMVIZ_PAGE");

    if (given && *given) {
        snprintf(path, 2 * PATH_MAX, "%s", given);
        return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (mv_resource_path(path, 2 * PATH_MAX, places[i]) && access(path, R_OK) == 0)
            return true;
    return false;
}

bool mv_page_file_is_there(void)
{
    char path[2 * PATH_MAX];

    return find_page(path);
}

mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err)
{
    char path[2 * PATH_MAX];
    mv_source source = {0};
    mv_err why;
    mv_span rest;
    mv_code code;

    if (!find_page(path))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", MV_PAGE_FILE_ADVICE);
    code = mv_source_open(arena, path, &source, &why);
    if (code != MV_OK)
        mv_fail(err, code, MV_NO_OFFSET, "%.100s: %s", path, why.detail);
    else
        code = mv_source_rest(&source, &rest, err);
    if (code == MV_OK) {
        *page = (mv_span){(uint8_t *)mv_arena_text(arena, (const char *)rest.data, rest.length),
                          rest.length};
        if (!page->data)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    }
    mv_source_close(&source);
    return code;
}
