#include "parse/source/same_file.h"

#include "parse/source/sink.h"

#include <sys/stat.h>
#include <unistd.h>

static bool look_at(const char *name, int descriptor, struct stat *st)
{
    int status = descriptor >= 0 ? fstat(descriptor, st) : stat(name, st);

    return status == 0 && S_ISREG(st->st_mode);
}

static bool is_standard(const char *name)
{
    return strcmp(name, "-") == 0;
}

bool mv_is_same_file(const char *input, const char *output)
{
    struct stat in, out;

    return look_at(input, is_standard(input) ? STDIN_FILENO : -1, &in) &&
           look_at(output, is_standard(output) ? STDOUT_FILENO : mv_sink_descriptor_of(output),
                   &out) &&
           in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}
