#include "cli/serve/server.h"

#include "cli/serve/peer.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_CONNECTIONS = 64,
    SECONDS_OF_SILENCE = 30,
    BYTES_OF_CONNECTION = 32 << 10, /* memory for a connection, half of it for a request's
                                     * headers */
    BYTES_OF_FILE = 64 << 10        /* maximum number of bytes read at once */
};

static const char library[] = "libmicrohttpd.so.12";

#define FUNCTIONS(X)                 \
    X(start_daemon)                  \
    X(stop_daemon)                   \
    X(lookup_connection_value)       \
    X(create_response_from_buffer)   \
    X(create_response_from_callback) \
    X(add_response_header)           \
    X(queue_response)                \
    X(destroy_response)

struct mv_server {
#define FIELD(name) __typeof__(&MHD_##name) name;
    FUNCTIONS(FIELD)
#undef FIELD
    int listening;
    mv_peers peers;
    struct MHD_Daemon *daemon; /* NULL: the server was not started */
    mv_serve_site *site;
};

static mv_code load(mv_server *server, mv_err *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *found;
    bool is_whole = handle;

#define FIND(name)                                       \
    found = handle ? dlsym(handle, "MHD_" #name) : NULL; \
    is_whole = is_whole && found;                        \
    memcpy(&server->name, &found, sizeof found);
    FUNCTIONS(FIND)
#undef FIND
    if (is_whole)
        return MV_OK;
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "serve needs libmicrohttpd (%s): apt-get install libmicrohttpd12, or use memviz "
                   "convert IN OUT.html",
                   library);
}

/* ---- requests ---------------------------------------------------------------------------- */

/* A range of a file that is being sent. */
typedef struct {
    int fd;
    uint64_t first;
} sent_file;

/* If a file becomes shorter during the transfer, the connection is ended, because the promised
 * bytes cannot be sent. libmicrohttpd's own sendfile(2) would wait for the missing bytes and use a
 * whole CPU. */
static ssize_t read_file(void *user, uint64_t at, char *bytes, size_t room)
{
    const sent_file *file = user;
    ssize_t got;

    do
        got = pread(file->fd, bytes, room, (off_t)(file->first + at));
    while (got < 0 && errno == EINTR);
    return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void end_file(void *user)
{
    close(((sent_file *)user)->fd);
    free(user);
}

/* Makes the response that sends a file, which is closed now on failure, or otherwise after it was
 * sent. */
static struct MHD_Response *response_of_file(const mv_server *server, const mv_serve_answer *answer)
{
    sent_file *file = malloc(sizeof *file);
    struct MHD_Response *response = NULL;

    if (file) {
        *file = (sent_file){answer->fd, answer->first};
        response = server->create_response_from_callback(answer->count, BYTES_OF_FILE, read_file,
                                                         file, end_file);
    }
    if (!response) {
        close(answer->fd);
        free(file);
    }
    return response;
}

static struct MHD_Response *response_of(const mv_server *server, const mv_serve_answer *answer)
{
    struct MHD_Response *response;

    if (answer->fd >= 0 && answer->count)
        return response_of_file(server, answer);
    if (answer->fd >= 0)
        close(answer->fd);
    response = server->create_response_from_buffer(
        answer->bytes.length, (void *)(uintptr_t)answer->bytes.data,
        answer->is_own ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response && answer->is_own)
        free((void *)(uintptr_t)answer->bytes.data);
    return response;
}

/* Returns the length of the request target, including the query. answer_request receives it as
 * *state. */
static void *measure(void *user, const char *asked, struct MHD_Connection *connection)
{
    (void)user, (void)connection;
    return (void *)strlen(asked); // NOLINT: a number
}

/* Returns false if the target contains a NUL, which would make it appear to end there.
 * libmicrohttpd keeps the request line in a single buffer, with a NUL after the target and blanks
 * up to the version, so any other character there belongs to the target. Returns true if the two
 * are not in the same buffer. */
static bool is_whole(const char *path, size_t length, const char *version)
{
    uintptr_t from = (uintptr_t)path + length, to = (uintptr_t)version;

    if (to <= from || to - from > BYTES_OF_CONNECTION)
        return true;
    for (const char *at = path + length + 1; at < version; at++)
        if (*at != ' ')
            return false;
    return true;
}

static enum MHD_Result answer_request(void *user, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *upload, size_t *upload_bytes, void **state)
{
    const mv_server *server = user;
#define HEADER(name) server->lookup_connection_value(connection, MHD_HEADER_KIND, name)
    mv_serve_request request = {.method = method,
                                .path = is_whole(path, (size_t)*state, version) ? path : "",
                                .host = HEADER("Host"),
                                .origin = HEADER("Origin"),
                                .range = HEADER("Range"),
                                .if_range = HEADER("If-Range")};
#undef HEADER
    mv_serve_answer answer;
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)upload, (void)upload_bytes;
    mv_serve_answer_make(server->site, &request, &answer);
    response = response_of(server, &answer);
    if (!response)
        return MHD_NO;
    for (const char *const *header = mv_serve_headers; *header; header += 2)
        server->add_response_header(response, header[0], header[1]);
    if (answer.type)
        server->add_response_header(response, "Content-Type", answer.type);
    for (uint32_t i = 0; i < answer.headers; i++)
        server->add_response_header(response, answer.header[i].name, answer.header[i].value);
    result = server->queue_response(connection, answer.status, response);
    server->destroy_response(response);
    return result;
}

/* Other users can reach 127.0.0.1, too. Their connections are refused, so that they cannot use up
 * all connections. */
static enum MHD_Result admit(void *user, const struct sockaddr *address, socklen_t length)
{
    mv_server *server = user;
    struct sockaddr_in from;

    if (length < sizeof from || address->sa_family != AF_INET)
        return MHD_NO;
    memcpy(&from, address, sizeof from);
    return mv_peer_is_foreign(&server->peers, &from) ? MHD_NO : MHD_YES;
}

/* Each path has exactly one form, so %2e is not a dot. */
static size_t leave_escapes(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user, (void)connection;
    return strlen(text);
}

/* libmicrohttpd asks for memory before each wait, and asks again at once if it received none. */
static void take_breath(void *user, const char *message, va_list args)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    (void)user, (void)args;
    if (strstr(message, "llocat"))
        nanosleep(&pause, NULL);
}

/* ---- start and stop ---------------------------------------------------------------------- */

/* Opens a listening socket that only this machine can reach. Returns -1, with errno set, if the
 * port is not available. */
static int listen_here(uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

    if (fd < 0)
        return -1;
    /* Allows the port of a server that ended a moment ago to be reused. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        int failed = errno;
        close(fd);
        errno = failed;
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

mv_code mv_server_open(mv_arena *arena, uint16_t *port, mv_server **out, mv_err *err)
{
    mv_server *server = mv_push_struct(arena, mv_server);

    *out = NULL;
    if (!server)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "server");
    if (load(server, err) != MV_OK)
        return err->code;
    server->listening = listen_here(port);
    if (server->listening < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "port %u of 127.0.0.1: %s", *port,
                       strerror(errno));
    mv_peers_open(&server->peers, *port);
    *out = server;
    return MV_OK;
}

mv_code mv_server_start(mv_server *server, mv_serve_site *site, mv_err *err)
{
    server->site = site;
    server->daemon = server->start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, admit, server, answer_request, server,
        MHD_OPTION_LISTEN_SOCKET, server->listening, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SECONDS_OF_SILENCE,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BYTES_OF_CONNECTION,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK, measure,
        NULL, MHD_OPTION_EXTERNAL_LOGGER, take_breath, NULL, MHD_OPTION_END);
    return server->daemon ? MV_OK : mv_fail(err, MV_IO, MV_NO_OFFSET, "libmicrohttpd cannot start");
}

void mv_server_stop(mv_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        server->stop_daemon(server->daemon);
    else
        close(server->listening);
    mv_peers_close(&server->peers);
}
