#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/duration.h"

/* ---- the socket -------------------------------------------------------------------------- */

/* Binds the socket to a name in `folder`, keeps a descriptor of this name, and removes the name. */
static bool bind_in(mv_control *c, const char *folder)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    bool is_bound =
        (size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/ctl", folder) < sizeof at.sun_path &&
        bind(c->socket, (struct sockaddr *)&at, sizeof at) == 0;

    if (!is_bound)
        return false;
    chmod(at.sun_path, 0600);
    c->name = open(at.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    unlink(at.sun_path);
    return c->name >= 0 && listen(c->socket, SOMAXCONN) == 0;
}

static bool open_socket(mv_control *c)
{
    const char *temporary = getenv("TMPDIR");
    char folder[80];
    bool is_open;

    if (!temporary || *temporary != '/' || strlen(temporary) > 50)
        temporary = "/tmp";
    snprintf(folder, sizeof folder, "%s/memviz.XXXXXX", temporary);
    c->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || !mkdtemp(folder))
        return false;
    is_open = bind_in(c, folder);
    rmdir(folder);
    return is_open;
}

void mv_control_open(mv_control *control, mv_run_status *status, mv_control_answer *answer,
                     void *user)
{
    *control =
        (mv_control){.status = status, .socket = -1, .name = -1, .answer = answer, .user = user};
    if (!status->page)
        return;
    if (!open_socket(control))
        mv_control_close(control);
    else
        atomic_store(&status->page->control, (uint32_t)control->name);
}

static void drop_client(mv_control *c, uint32_t i)
{
    close(c->clients[i].link);
    if (i != --c->count)
        c->clients[i] = c->clients[c->count];
}

void mv_control_close(mv_control *control)
{
    if (control->status && control->status->page)
        atomic_store(&control->status->page->control, 0);
    while (control->count)
        drop_client(control, 0);
    if (control->name >= 0)
        close(control->name);
    if (control->socket >= 0)
        close(control->socket);
    control->socket = control->name = -1;
}

/* ---- clients ----------------------------------------------------------------------------- */

static bool is_same_user(int link)
{
    struct ucred who;
    socklen_t size = sizeof who;

    return getsockopt(link, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == getuid() || who.uid == 0);
}

static void accept_clients(mv_control *c)
{
    c->is_full = false;
    while (c->socket >= 0 && c->count < MV_CONTROL_CLIENTS) {
        int link = accept4(c->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (link < 0) {
            c->is_full = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
            return;
        }
        if (!is_same_user(link)) {
            close(link);
            continue;
        }
        c->clients[c->count].link = link;
        c->clients[c->count].since_ms = mv_now_ms();
        c->clients[c->count++].length = 0;
    }
}

/* Sends the answer. The socket's buffer has room for any answer; a client that has disconnected
 * does not receive it. */
static void send_answer(int link, const char *answer)
{
    if (send(link, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
    shutdown(link, SHUT_WR);
}

static void answer_line(mv_control *c, mv_control_client *client)
{
    char answer[MV_CONTROL_ANSWER] = "";

    if (c->answer(c->user, client->line, client->link, answer))
        send_answer(client->link, answer);
}

/* Reads from a client. Returns whether the client is kept, because its line has not yet arrived
 * completely. */
static bool read_line(mv_control *c, mv_control_client *client)
{
    size_t room = sizeof client->line - 1 - client->length;
    ssize_t got = recv(client->link, client->line + client->length, room, MSG_DONTWAIT);
    char *end;

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    client->length += (size_t)got;
    client->line[client->length] = 0;
    end = memchr(client->line, '\n', client->length);
    if (end) {
        *end = 0;
        answer_line(c, client);
        return false;
    }
    if (client->length + 1 == sizeof client->line)
        send_answer(client->link, "error the request is too long\n");
    return got > 0 && client->length + 1 < sizeof client->line;
}

uint32_t mv_control_fds(const mv_control *control, struct pollfd fds[MV_CONTROL_FDS],
                        int64_t *most_ms)
{
    uint32_t count = 0;

    if (control->socket >= 0 && !control->is_full && control->count < MV_CONTROL_CLIENTS)
        fds[count++] = (struct pollfd){.fd = control->socket, .events = POLLIN};
    for (uint32_t i = 0; i < control->count; i++)
        fds[count++] = (struct pollfd){.fd = control->clients[i].link, .events = POLLIN};
    if ((control->count || control->is_full) && *most_ms > MV_CONTROL_PATIENCE_MS / 10)
        *most_ms = MV_CONTROL_PATIENCE_MS / 10;
    return count;
}

void mv_control_serve(mv_control *control)
{
    accept_clients(control);
    for (uint32_t i = control->count; i-- > 0;) {
        mv_control_client *client = &control->clients[i];
        if (!read_line(control, client) || mv_now_ms() - client->since_ms > MV_CONTROL_PATIENCE_MS)
            drop_client(control, i);
    }
}
