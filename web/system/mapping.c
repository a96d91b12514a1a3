/* A file of a page is in memory, and stays as it is while it is open: nothing has to be mapped. */
#include "parse/source/mapping.h"

#include "web/system/files.h"

bool mv_mapping_open(int fd, uint64_t bytes, mv_mapping *out)
{
    const mv_file *file = mv_file_of(fd);

    *out = (mv_mapping){0};
    if (!file || bytes > file->length)
        return false;
    *out = (mv_mapping){.data = file->bytes, .bytes = bytes};
    return true;
}

bool mv_mapping_is_torn(const mv_mapping *mapping)
{
    (void)mapping;
    return false;
}

void mv_mapping_close(mv_mapping *mapping)
{
    *mapping = (mv_mapping){0};
}
