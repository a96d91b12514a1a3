#include "parse/source/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads up to `most` bytes; fewer if the file has become shorter. */
static uint64_t read_bytes(int fd, char *to, uint64_t most)
{
    uint64_t got = 0;

    while (got < most) {
        ssize_t more = read(fd, to + got, most - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        got += (uint64_t)more;
    }
    return got;
}

static mv_code read_open(mv_arena *arena, int fd, const char *path, mv_span *out, mv_err *err)
{
    struct stat st;
    char *text;

    if (fstat(fd, &st) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: not a regular file", path);
    if (st.st_size > (off_t)MV_TEXT_FILE_MOST)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "%s: too large for a text", path);
    text = mv_push_array(arena, char, (uint64_t)st.st_size + 1);
    if (!text)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", path);
    *out = (mv_span){(const uint8_t *)text, read_bytes(fd, text, (uint64_t)st.st_size)};
    return MV_OK;
}

/* Opening a pipe that has no writer would wait forever. */
static int open_quietly(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

mv_code mv_text_file_read(mv_arena *arena, const char *path, mv_span *out, mv_err *err)
{
    int fd = open_quietly(path);
    mv_code code;

    *out = (mv_span){(const uint8_t *)"", 0};
    if (fd < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", path, strerror(errno));
    code = read_open(arena, fd, path, out, err);
    close(fd);
    return code;
}

bool mv_text_file_begins(const char *path, const char *text)
{
    size_t length = strlen(text);
    struct stat st;
    char start[64];
    bool is_so = false;
    int fd;

    if (length > sizeof start || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    fd = open_quietly(path);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        is_so = read_bytes(fd, start, length) == length && memcmp(start, text, length) == 0;
    close(fd);
    return is_so;
}
