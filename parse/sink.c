#include "parse/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool to_stdout(const mv_sink *sink)
{
    return strcmp(sink->path, "-") == 0;
}

/* Something that cannot be replaced by a rename, such as /dev/null or a named pipe. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* A file without a name: should the program be killed, nothing is left of it. -1 where the file
 * system, or a machine without /proc (which names it at last), has none. */
static int open_nameless(const char *path)
{
    char folder[sizeof((mv_sink *)0)->path];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;

    if (access("/proc/self/fd", X_OK) != 0)
        return -1;
    memcpy(folder, path, length);
    memcpy(folder + length, ".", 2);
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* mkstemp makes private files; the result should be as readable as any other new file. */
static int open_named(mv_sink *sink)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    snprintf(sink->temporary, sizeof sink->temporary, "%s.XXXXXX", sink->path);
    fd = mkstemp(sink->temporary);
    if (fd < 0)
        sink->temporary[0] = 0;
    else
        (void)fchmod(fd, 0666 & ~mask);
    return fd;
}

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err)
{
    size_t length = strlen(path);
    int fd;

    *sink = (mv_sink){0};
    if (length + 2 > sizeof sink->path)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "output path is too long");
    memcpy(sink->path, path, length + 1);
    if (to_stdout(sink)) {
        sink->file = stdout;
        return MV_OK;
    }
    if (is_special(path)) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        fd = open_nameless(path);
        sink->is_nameless = fd >= 0;
        if (fd < 0)
            fd = open_named(sink);
    }
    sink->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!sink->file)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write %s: %s", path, strerror(errno));
    setvbuf(sink->file, NULL, _IOFBF, 1 << 18);
    return MV_OK;
}

/* Gives the nameless file a name beside the target, which only a rename can replace. */
static bool give_name(mv_sink *sink)
{
    char link[64];

    if (!sink->is_nameless)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(sink->file));
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(sink->temporary, sizeof sink->temporary, "%s.%d.%u", sink->path, (int)getpid(),
                 attempt);
        if (linkat(AT_FDCWD, link, AT_FDCWD, sink->temporary, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    sink->temporary[0] = 0;
    return false;
}

void mv_sink_write(mv_sink *sink, const void *data, uint64_t bytes)
{
    if (sink->failed || bytes == 0)
        return;
    if (fwrite(data, 1, bytes, sink->file) != bytes)
        sink->failed = true;
    sink->bytes += bytes;
}

void mv_sink_printf(mv_sink *sink, const char *format, ...)
{
    va_list args;
    int length;

    if (sink->failed)
        return;
    va_start(args, format);
    length = vfprintf(sink->file, format, args);
    va_end(args);
    if (length < 0)
        sink->failed = true;
    else
        sink->bytes += (uint64_t)length;
}

mv_code mv_sink_commit(mv_sink *sink, mv_err *err)
{
    bool failed = sink->failed;
    int why = errno;

    if (fflush(sink->file) != 0 || ferror(sink->file)) {
        failed = true;
        why = errno;
    }
    if (to_stdout(sink)) {
        sink->file = NULL;
        return failed ? mv_fail(err, MV_IO, MV_NO_OFFSET, "standard output: %s", strerror(why))
                      : MV_OK;
    }
    if (!failed && !give_name(sink)) {
        failed = true;
        why = errno;
    }
    if (fclose(sink->file) != 0 && !failed) {
        failed = true;
        why = errno;
    }
    sink->file = NULL;
    if (!failed && sink->temporary[0] && rename(sink->temporary, sink->path) != 0) {
        failed = true;
        why = errno;
    }
    if (failed) {
        mv_sink_abort(sink);
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write %s: %s", sink->path, strerror(why));
    }
    sink->temporary[0] = 0;
    return MV_OK;
}

void mv_sink_abort(mv_sink *sink)
{
    if (sink->file && sink->file != stdout)
        fclose(sink->file);
    sink->file = NULL;
    if (sink->temporary[0])
        unlink(sink->temporary);
    sink->temporary[0] = 0;
}
