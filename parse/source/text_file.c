#include "parse/source/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads up to `most` bytes, or fewer if the file became shorter. On failure, returns false and sets
 * errno. */
static bool read_bytes(int fd, char *to, uint64_t most, uint64_t *got)
{
    ssize_t more;

    *got = 0;
    while (*got < most && (more = read(fd, to + *got, most - *got)) != 0) {
        if (more < 0 && errno != EINTR)
            return false;
        if (more > 0)
            *got += (uint64_t)more;
    }
    return true;
}

static mv_code read_open(mv_arena *arena, int fd, mv_span *out, mv_err *err)
{
    struct stat st;
    uint64_t length;
    char *text;

    if (fstat(fd, &st) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", "not a regular file");
    if (st.st_size > (off_t)MV_TEXT_FILE_MOST)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "%s", "too large for a text");
    text = mv_push_array(arena, char, (uint64_t)st.st_size + 1);
    if (!text)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "text");
    if (!read_bytes(fd, text, (uint64_t)st.st_size, &length))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    *out = (mv_span){(const uint8_t *)text, length};
    return MV_OK;
}

/* Opens a file without waiting, because opening a pipe that has no writer would wait forever. */
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
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    code = read_open(arena, fd, out, err);
    close(fd);
    return code;
}

bool mv_text_file_begins(const char *path, const char *text)
{
    uint64_t length = strlen(text), got;
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
        is_so = read_bytes(fd, start, length, &got) && got == length &&
                memcmp(start, text, length) == 0;
    close(fd);
    return is_so;
}
