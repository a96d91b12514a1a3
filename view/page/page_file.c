#include "view/page/page_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse/source/source.h"

#ifndef MV_INSTALLED_PAGE_FOLDER
#define MV_INSTALLED_PAGE_FOLDER "../share/memviz"
#endif

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
    static const char *const places[] = {"", "../../web/", MV_INSTALLED_PAGE_FOLDER "/"};
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
