#include "base/resource_path.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

static bool own_path(char path[PATH_MAX])
{
#ifdef __APPLE__
    uint32_t size = PATH_MAX;

    return _NSGetExecutablePath(path, &size) == 0;
#else
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[length > 0 ? length : 0] = 0;
    return length > 0;
#endif
}

bool mv_resource_path(char *path, size_t size, const char *name)
{
    char self[PATH_MAX], *slash;

    if (!own_path(self))
        return false;
    slash = strrchr(self, '/');
    if (!slash)
        return false;
    slash[1] = 0;
    return (size_t)snprintf(path, size, "%s%s", self, name) < size;
}
