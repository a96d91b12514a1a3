/* A page has no files next to it. JavaScript adds the page's own source as a file. */
#include "view/page/page_file.h"

#include "base/resource_path.h"
#include "web/system/files.h"

bool mv_resource_path(char *path, size_t size, const char *name)
{
    (void)path;
    (void)size;
    (void)name;
    return false;
}

bool mv_page_file_is_there(void)
{
    return mv_file_find(MV_FILE_PAGE);
}

mv_code mv_page_file_read(mv_arena *arena, mv_span *page, mv_err *err)
{
    const mv_file *file = mv_file_find(MV_FILE_PAGE);
    uint8_t *bytes = file ? mv_push_array(arena, uint8_t, file->length) : NULL;
    uint32_t got;

    if (!file)
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "pages cannot be written from a page of memviz serve");
    if (!bytes || !mv_file_read(file, 0, bytes, (uint32_t)file->length, &got))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    *page = (mv_span){bytes, got};
    return MV_OK;
}
