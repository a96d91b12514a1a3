#include "tests/serve/fixture_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

const char *mvt_serve_folder(void)
{
    setenv("MEMVIZ_PAGE", MVT_SERVE_PAGE, 1);
    return mvt_temp_folder();
}

void mvt_in_folder(const char *folder, const char *format, ...)
{
    char command[2048];
    va_list args;
    int length = snprintf(command, sizeof command, "cd '%s' && SNAPS=%s; MEMVIZ=%s; ", folder,
                          MV_TESTDATA "/snapshots", MV_PROGRAM);

    va_start(args, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, args);
    va_end(args);
    cr_assert_eq(system(command), 0, "%s", command);
}

static void end_child(void *what)
{
    pid_t child = (pid_t)(intptr_t)what;

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

mvt_server mvt_serve(const char *folder, const char *arguments)
{
    const char *command = mvt_format("exec %s serve --json %s", MV_PROGRAM, arguments);
    mvt_server server = {.folder = folder};
    char text[4096];
    size_t length = 0;
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    server.child = fork();
    cr_assert_geq(server.child, 0);
    if (server.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that times out cannot end the server itself */
        if (chdir(folder) != 0 || dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(125);
        setenv("SNAPS", MV_TESTDATA "/snapshots", 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(126);
    }
    close(ends[1]);
    mvt_at_end(end_child, (void *)(intptr_t)server.child);
    while (length + 1 < sizeof text && (length == 0 || text[length - 1] != '\n')) {
        ssize_t got = read(ends[0], text + length, sizeof text - 1 - length);
        cr_assert_gt(got, 0, "serve %s has ended", arguments);
        length += (size_t)got;
    }
    text[length] = 0;
    close(ends[0]);
    const cJSON *said = mvt_json_of(text);
    server.port = (uint16_t)mvt_json_number(said, "port");
    snprintf(server.url, sizeof server.url, "%s", mvt_json_text(said, "url"));
    const char *at = strchr(server.url + strlen("http://"), '/');
    cr_assert_not_null(at);
    snprintf(server.base, sizeof server.base, "%.*s", (int)strlen(at) - 1, at);
    return server;
}

int mvt_serve_end(mvt_server *server, int signal)
{
    int state;

    kill(server->child, signal);
    cr_assert_eq(waitpid(server->child, &state, 0), server->child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

int mvt_connect(const mvt_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

mvt_reply mvt_send(const mvt_server *server, const char *bytes, size_t length)
{
    int fd = mvt_connect(server);
    char *text = NULL, *end;
    size_t size;
    FILE *all = open_memstream(&text, &size);
    char part[64 << 10];
    mvt_reply reply = {0};
    ssize_t got;

    cr_assert_eq(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
    while ((got = read(fd, part, sizeof part)) > 0)
        fwrite(part, 1, (size_t)got, all);
    close(fd);
    fclose(all);
    mvt_at_end(free, text);
    end = memmem(text, size, "\r\n\r\n", 4);
    if (!end || sscanf(text, "HTTP/1.%*d %u", &reply.status) != 1)
        return reply; /* closed without an answer */
    end[2] = 0;
    reply.head = text;
    reply.body = end + 4;
    reply.length = size - (size_t)(reply.body - text);
    return reply;
}

mvt_reply mvt_get_with(const mvt_server *server, const char *path, const char *headers)
{
    const char *request =
        mvt_format("GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n%s\r\n",
                   server->base, path, server->port, headers);

    return mvt_send(server, request, strlen(request));
}

mvt_reply mvt_get(const mvt_server *server, const char *path)
{
    return mvt_get_with(server, path, "");
}

mvt_reply mvt_get_made(const mvt_server *server, const char *path)
{
    mvt_reply reply = mvt_get(server, path);

    while (reply.status == 202) {
        usleep(10000);
        reply = mvt_get(server, path);
    }
    return reply;
}

cJSON *mvt_served(const mvt_server *server)
{
    mvt_reply reply = mvt_get(server, "/files");

    cr_assert_eq(reply.status, 200);
    return mvt_json_of(reply.body);
}

const cJSON *mvt_served_row(const cJSON *list, const char *name)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, mvt_member(list, "files")) {
        if (strcmp(mvt_json_text(row, "name"), name) == 0)
            return row;
    }
    return NULL;
}

const char *mvt_served_path(const cJSON *row, const char *what)
{
    cr_assert_not_null(row);
    return mvt_format("/%s/%.0f/%s", what, mvt_json_number(row, "id"),
                      mvt_json_text(row, "version"));
}

const char *mvt_reply_header(const mvt_reply *reply, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = reply->head; line; line = strstr(line, "\r\n")) {
        line += strncmp(line, "\r\n", 2) == 0 ? 2 : 0;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1 + strspn(line + length + 1, " ");
            return mv_arena_text(mvt_memory(), value, strcspn(value, "\r"));
        }
    }
    return NULL;
}
