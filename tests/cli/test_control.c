/* The launcher's socket (record/control.h) with hostile clients. The launcher must never wait for a
 * client, and must refuse other users. */
#include "record/control.h"

#include <dirent.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixture/fixture_test.h"

typedef struct {
    mv_run_status status;
    mv_control control;
    uint32_t lines;
} server;

static bool echo(void *user, const char *line, int link, char *answer)
{
    (void)link;
    ((server *)user)->lines++;
    snprintf(answer, MV_CONTROL_ANSWER, "got %.100s\n", line);
    return true;
}

static void close_server(void *of)
{
    server *s = of;

    mv_control_close(&s->control);
    cr_expect_eq(s->status.page->control, 0);
    mv_run_status_close(&s->status);
}

/* The server is open until the test ends, or until mvt_end_now. */
static server *open_server(void)
{
    server *s = mv_push_struct(mvt_memory(), server);

    mv_run_status_open(&s->status);
    mv_control_open(&s->control, &s->status, echo, s);
    cr_assert_geq(s->control.socket, 0);
    cr_assert_eq(s->status.page->control, (uint32_t)s->control.name);
    mvt_at_end(close_server, s);
    return s;
}

static int connect_client(const server *s)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "/proc/%d/fd/%u", (int)getpid(),
             s->status.page->control);
    cr_assert_eq(connect(link, (struct sockaddr *)&at, sizeof at), 0, "%s", strerror(errno));
    return link;
}

static void say(int link, const char *text)
{
    cr_assert_eq(send(link, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Serves until the client has an answer or has been dropped. */
static void expect_answer(server *s, int link, const char *answer)
{
    char text[256] = "";
    ssize_t got;

    do
        mv_control_serve(&s->control);
    while ((got = recv(link, text, sizeof text - 1, 0)) < 0 && errno == EAGAIN);
    text[got > 0 ? got : 0] = 0;
    cr_assert_str_eq(text, answer);
    close(link);
}

static uint32_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;

    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

Test(control, a_line_is_answered_even_in_pieces)
{
    server *s = open_server();
    int link = connect_client(s);
    say(link, "sta");
    mv_control_serve(&s->control);
    cr_expect_eq(s->lines, 0);
    say(link, "tus\n");
    expect_answer(s, link, "got status\n");
    link = connect_client(s);
    cr_assert_eq(send(link, "mark a\0b\n", 9, 0), 9);
    expect_answer(s, link, "got mark a\n");
}

Test(control, silent_clients_do_not_keep_others_out)
{
    uint32_t before = open_files();
    int links[200], link;

    server *s = open_server();
    for (int i = 0; i < 200; i++)
        links[i] = connect_client(s);
    link = connect_client(s);
    say(link, "status\n");
    expect_answer(s, link, "got status\n");
    cr_expect_eq(s->lines, 1);
    for (int i = 0; i < 200; i++)
        close(links[i]);
    mvt_end_now(s);
    cr_expect_eq(open_files(), before);
}

Test(control, two_hundred_clients_are_answered)
{
    server *s = open_server();
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) {
            int link = connect_client(s);
            say(link, "status\n");
            _exit(0);
        }
        cr_assert_gt(child, 0);
    }
    while (s->lines < 200)
        mv_control_serve(&s->control);
    while (wait(NULL) > 0)
        ;
}

Test(control, an_endless_line_is_refused)
{
    static char text[MV_CONTROL_LINE];

    memset(text, 'x', sizeof text - 1);
    server *s = open_server();
    int link = connect_client(s);
    say(link, text);
    expect_answer(s, link, "error the request is too long\n");
    cr_expect_eq(s->lines, 0);
}

Test(control, another_user_is_refused)
{
    int status;

    if (getuid() != 0)
        return; /* only root can become another user */
    server *s = open_server();
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int link = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(at.sun_path, sizeof at.sun_path, "/proc/%d/fd/%u", (int)getppid(),
                 s->status.page->control);
        if (setuid(65534) != 0)
            _exit(2);
        _exit(connect(link, (struct sockaddr *)&at, sizeof at) != 0 && errno == EACCES ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
}

Test(control, without_a_free_descriptor_no_client_is_polled_for)
{
    server s = {.control = {.socket = 5, .is_full = true}};
    struct pollfd fds[MV_CONTROL_FDS];
    int64_t most = 1000;

    cr_expect_eq(mv_control_fds(&s.control, fds, &most), 0);
    cr_expect_leq(most, MV_CONTROL_PATIENCE_MS);
}
