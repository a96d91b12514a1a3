/* A page's files have no path, only a name. */
#include <stdlib.h>

char *realpath(const char *path, char *out)
{
    (void)path, (void)out;
    return NULL;
}
