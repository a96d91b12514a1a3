/* A page's files cannot be mapped into memory, so they are read instead. */
#include "parse/source/mapping.h"

bool mv_mapping_open(int fd, uint64_t bytes, mv_mapping *out)
{
    (void)fd, (void)bytes;
    *out = (mv_mapping){0};
    return false;
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
