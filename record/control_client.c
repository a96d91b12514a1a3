#include "record/control_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "capture/wire_status.h"
#include "record/watched.h"

enum {
    ANSWER = 64 << 10,
    PATIENCE_S = 600 /* a snapshot of a large recording may take this
                                            * long */
};

/* Reads "/proc/LAUNCHER/fd/N:WORD" as the shim does. False if the page does not belong to this
 * launcher. */
static bool read_page(const char *status, uint32_t *launcher, uint32_t *control)
{
    mv_status_page page;
    const char *colon = strchr(status, ':');
    char path[MV_STATUS_PATH];
    bool is_page = false;
    int fd;

    if (!colon || colon - status >= MV_STATUS_PATH || sscanf(status, "/proc/%u/fd/", launcher) != 1)
        return false;
    snprintf(path, sizeof path, "%.*s", (int)(colon - status), status);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
        is_page = pread(fd, &page, sizeof page, 0) == sizeof page &&
                  page.word == strtoull(colon + 1, NULL, 16);
        close(fd);
    }
    *control = is_page ? page.control : 0;
    return is_page;
}

static mv_code connect_to(uint32_t launcher, uint32_t control, int *link, mv_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t size = sizeof who;

    snprintf(at.sun_path, sizeof at.sun_path, "/proc/%u/fd/%u", launcher, control);
    *link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*link < 0 || connect(*link, (struct sockaddr *)&at, sizeof at) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot reach memviz run (process %u): %s",
                       launcher, strerror(errno));
    if (getsockopt(*link, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
        (who.uid != getuid() && getuid() != 0))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %u is another user's", launcher);
    setsockopt(*link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return MV_OK;
}

static mv_code exchange(mv_arena *arena, int link, const char *line, const char **answer,
                        mv_err *err)
{
    char *text = mv_arena_grow(arena, NULL, ANSWER);
    size_t length = 0;
    ssize_t got = 0;

    if (!text)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (send(link, line, strlen(line), MSG_NOSIGNAL) < 0 || send(link, "\n", 1, MSG_NOSIGNAL) < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "memviz run ended the connection: %s",
                       strerror(errno));
    while (length + 1 < ANSWER && (got = recv(link, text + length, ANSWER - 1 - length, 0)) > 0)
        length += (size_t)got;
    text[length] = 0;
    *answer = text;
    if (length == 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "memviz run did not answer%s%s", got ? ": " : "",
                       got ? strerror(errno) : "");
    return MV_OK;
}

mv_code mv_control_query(mv_arena *arena, uint32_t pid, const char *line, const char **answer,
                         mv_err *err)
{
    uint32_t launcher = 0, control = 0;
    char status[MV_STATUS_PATH + 24];
    int link = -1;

    if (!mv_watched_status(pid, status, sizeof status))
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET,
                       "process %u was not started by memviz run, or has ended", pid);
    if (!read_page(status, &launcher, &control))
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET,
                       "memviz run, which started process %u, has ended", pid);
    if (!control)
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET,
                       "memviz run (process %u) has no socket: it could not make a folder in "
                       "TMPDIR",
                       launcher);
    if (connect_to(launcher, control, &link, err) == MV_OK)
        exchange(arena, link, line, answer, err);
    if (link >= 0)
        close(link);
    return err->code;
}
