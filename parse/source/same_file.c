#include "parse/source/same_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool look_at(const char *name, int standard, struct stat *st)
{
    int status = strcmp(name, "-") == 0 ? fstat(standard, st) : stat(name, st);

    return status == 0 && S_ISREG(st->st_mode);
}

bool mv_is_same_file(const char *input, const char *output)
{
    struct stat in, out;

    return look_at(input, STDIN_FILENO, &in) && look_at(output, STDOUT_FILENO, &out) &&
           in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}
