/* A page's files have no folders, so a path in a session means the file with that name. */
#include "parse/source/same_file.h"

#include <string.h>

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool mv_is_same_file(const char *input, const char *output)
{
    return strcmp(input, "-") != 0 && strcmp(name_of(input), name_of(output)) == 0;
}
