#include "parse/source/sink.h"

#include "base/numbers.h"
#include "parse/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_END 24 /* length of the longest suffix of a temporary name, ".PID.N" */

static const char *name_of(const mv_sink *sink)
{
    return sink->path + sink->at;
}

int mv_sink_descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    uint64_t number;

    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        const char *at = path + length;
        if (strncmp(path, folders[i], length) == 0 && mv_number_take(&at, 10, &number) &&
            number <= INT_MAX && (!*at || (*at == '.' && !strchr(at, '/'))))
            return (int)number;
    }
    return -1;
}

bool mv_sink_is_in_place(const char *path)
{
    return mv_sink_descriptor_of(path) >= 0 || mv_source_is_special(path);
}

/* Opens an output that is written in place. If the path names a descriptor, output continues at the
 * descriptor's current position. */
static int open_in_place(const char *path)
{
    int fd = mv_sink_descriptor_of(path);

    return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC);
}

/* Opens a file without a name, so that nothing remains of it if the program is killed. Returns -1
 * if the file system does not support files without names, or if there is no /proc, which is needed
 * to name the file at the end. */
static int open_nameless(const mv_sink *sink)
{
#ifdef MV_POSIX
    (void)sink;
    return -1;
#else
    char folder[sizeof sink->path];
    const char *name = name_of(sink), *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) + 1 : 0;

    if (access("/proc/self/fd", X_OK) != 0)
        return -1;
    memcpy(folder, name, length);
    memcpy(folder + length, ".", 2);
    return openat(sink->folder, folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
}

/* Makes a temporary file in the target's folder, because only a rename within a file system can
 * replace the target. Tries names until one is free; a long name is cut to leave space for the
 * suffix. */
static int make_temporary(mv_sink *sink, int (*make)(const mv_sink *sink))
{
    const char *name = name_of(sink), *slash = strrchr(name, '/');
    size_t most = (slash ? (size_t)(slash - name) + 1 : 0) + NAME_MAX - LONGEST_END;

    for (unsigned attempt = 0; attempt < 100; attempt++) {
        int made;
        snprintf(sink->temporary, sizeof sink->temporary, "%.*s.%d.%u", (int)most, name,
                 (int)getpid(), attempt);
        made = make(sink);
        if (made >= 0)
            return made;
        if (errno != EEXIST)
            break;
    }
    sink->temporary[0] = 0;
    return -1;
}

static int make_file(const mv_sink *sink)
{
    return openat(sink->folder, sink->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int make_link(const mv_sink *sink)
{
    char nameless[64];

    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fileno(sink->file));
    return linkat(AT_FDCWD, nameless, sink->folder, sink->temporary, AT_SYMLINK_FOLLOW);
}

/* Gives the new file the mode of the file that it will replace. */
static void keep_mode(const mv_sink *sink, int fd)
{
    struct stat old, new;

    if (fstatat(sink->folder, name_of(sink), &old, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(old.st_mode) || fstat(fd, &new) != 0)
        return;
    (void)fchmod(fd,
                 old.st_uid == new.st_uid ? old.st_mode & 0777 : old.st_mode &new.st_mode & 0777);
}

static int open_replacement(mv_sink *sink)
{
    int fd = open_nameless(sink);

    sink->is_nameless = fd >= 0;
    if (fd < 0)
        fd = make_temporary(sink, make_file);
    if (fd >= 0)
        keep_mode(sink, fd);
    return fd;
}

/* Describes the errno of a failed write. The limit for file sizes was set by cli/program.c or by
 * the user. */
static const char *reason(int why)
{
    return why == EFBIG ? "File too large: over 1 GiB plus 1 KiB for each byte of input, or over "
                          "ulimit -f"
                        : strerror(why);
}

static mv_code fail(const mv_sink *sink, const char *why, mv_err *err)
{
    char path[MV_ERR_PATH];

    return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write %s: %s", mv_err_path(sink->path, path),
                   why);
}

static mv_code start(mv_sink *sink, int fd, mv_err *err)
{
    sink->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!sink->file)
        return fail(sink, strerror(errno), err);
    setvbuf(sink->file, NULL, _IOFBF, 1 << 18);
    return MV_OK;
}

static mv_code set_path(mv_sink *sink, int folder, const char *path, mv_err *err)
{
    size_t length = strlen(path);

    *sink = (mv_sink){.folder = folder};
    if (length + 2 > sizeof sink->path)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "output path is too long");
    memcpy(sink->path, path, length + 1);
    return MV_OK;
}

/* Returns true if a path is a folder, or a link to a folder. A rename would replace such a link
 * with the file. */
static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

mv_code mv_sink_open(mv_sink *sink, const char *path, mv_err *err)
{
    if (set_path(sink, AT_FDCWD, path, err) != MV_OK)
        return err->code;
    if (strcmp(path, "-") == 0) {
        sink->file = stdout;
        return MV_OK;
    }
    if (is_folder(path))
        return fail(sink, "Is a directory: name a file in it", err);
    return start(sink, mv_sink_is_in_place(path) ? open_in_place(path) : open_replacement(sink),
                 err);
}

mv_code mv_sink_open_in(mv_sink *sink, int folder, const char *path, mv_err *err)
{
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (set_path(sink, folder, path, err) != MV_OK)
        return err->code;
    sink->at = slash ? (uint32_t)(slash - path) + 1 : 0;
    if (fstatat(folder, name_of(sink), &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISLNK(st.st_mode))
        return fail(sink, "it exists and is not a file", err);
    return start(sink, open_replacement(sink), err);
}

/* Moves the file into place, unless a write has failed. A signal that would end the program is
 * delayed until the temporary name is gone. On failure, returns false and sets errno. */
static bool put_in_place(mv_sink *sink)
{
    int why = sink->failed ? sink->why : 0;
    sigset_t ends, before;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    if (!why && sink->is_nameless && make_temporary(sink, make_link) < 0)
        why = errno;
    if (fclose(sink->file) != 0 && !why)
        why = errno;
    sink->file = NULL;
    if (!why && sink->temporary[0] &&
        renameat(sink->folder, sink->temporary, sink->folder, name_of(sink)) != 0)
        why = errno;
    if (!why)
        sink->temporary[0] = 0;
    mv_sink_abort(sink);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return !why;
}

mv_code mv_sink_commit(mv_sink *sink, mv_err *err)
{
    if (fflush(sink->file) != 0 || ferror(sink->file))
        mv_sink_fail(sink);
    if (sink->file == stdout) {
        sink->file = NULL;
        return sink->failed
                   ? mv_fail(err, MV_IO, MV_NO_OFFSET, "standard output: %s", reason(sink->why))
                   : MV_OK;
    }
    if (put_in_place(sink))
        return MV_OK;
    return fail(sink, reason(errno), err);
}

void mv_sink_abort(mv_sink *sink)
{
    if (sink->file && sink->file != stdout)
        fclose(sink->file);
    sink->file = NULL;
    if (sink->temporary[0])
        unlinkat(sink->folder, sink->temporary, 0);
    sink->temporary[0] = 0;
}
