#include "cli/live/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/serve/peer.h"

enum { MOST_REQUEST = 4096, LABEL = 512 };

/* ---- text -------------------------------------------------------------------------------- */

static void put_raw(FILE *out, const char *text, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        if (text[i] == '"' || text[i] == '\\')
            fputc('\\', out);
        fputc(text[i], out);
    }
}

/* Writes a label's value between double quotes. Hidden characters and invalid UTF-8 become \xNN,
 * with the backslash doubled as the format requires. */
static void put_label(FILE *out, const char *name, const char *value)
{
    mv_span text = {(const uint8_t *)value, strlen(value)};
    mv_escaped piece;

    fprintf(out, "%s=\"", name);
    for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_WORD, &piece);) {
        put_raw(out, (const char *)piece.plain.data, piece.plain.length);
        put_raw(out, piece.escape, piece.length);
    }
    fputc('"', out);
}

static void put_fact(FILE *out, const mv_trace *trace, const char *key)
{
    const char *value = mv_fact_find(trace, key);

    fputc(',', out);
    put_label(out, key, value ? value : "");
}

/* Writes "name{device="0",pid="812",rank="0"", to which more labels can be appended. */
static void begin(FILE *out, const char *name, const mv_top_device *d)
{
    fprintf(out, "%s{device=\"%u\"", name, d->device);
    put_fact(out, &d->file->trace, "pid");
    put_fact(out, &d->file->trace, "rank");
}

static void put_bytes(FILE *out, const char *name, const mv_top_device *d, uint64_t bytes)
{
    if (bytes == MV_NO_BYTES)
        return;
    begin(out, name, d);
    fprintf(out, "} %" PRIu64 "\n", bytes);
}

static uint64_t reserved_of(const mv_top_device *d)
{
    return d->is_missing_reserved ? MV_NO_BYTES : d->reserved;
}

static void put_help(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

#define PUT_ALL(name, help, value)                                                 \
    do {                                                                           \
        put_help(out, name, help);                                                 \
        for (uint32_t i = 0; i < report->count; i++)                               \
            put_bytes(out, name, &report->devices[i], value(&report->devices[i])); \
    } while (0)
#define USED(d)      (d)->ledger.used
#define TOTAL(d)     (d)->ledger.total
#define ALLOCATED(d) (d)->allocated

static void put_libraries(FILE *out, const mv_top_report *report)
{
    put_help(out, "memviz_library_bytes", "Memory that CUDA calls of a library hold.");
    for (uint32_t i = 0; i < report->count; i++)
        for (uint32_t k = 0; k < report->devices[i].library_count; k++) {
            const mv_top_library *row = &report->devices[i].libraries[k];
            begin(out, "memviz_library_bytes", &report->devices[i]);
            fputc(',', out);
            put_label(out, "library", row->name);
            fprintf(out, "} %" PRIu64 "\n", row->bytes);
        }
}

/* Writes a series for each line of code. Lines of code that have the same label form a single
 * series. */
static void put_lines(FILE *out, const mv_top_report *report, const char *name, bool is_growth)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const mv_top_device *d = &report->devices[i];
        for (uint32_t k = 0; k < d->top.count && k < report->limit; k++) {
            const mv_top_line *line = &d->top.lines[k];
            char label[LABEL], rank[16];
            mv_culprit_label(&d->file->trace, d->file->kinds, line->stack, label, sizeof label);
            begin(out, name, d);
            fputc(',', out);
            put_label(out, "line", label);
            snprintf(rank, sizeof rank, "%u", k + 1);
            fputc(',', out);
            put_label(out, "place", rank);
            fprintf(out, "} %" PRId64 "\n", is_growth ? line->grown : (int64_t)line->bytes);
        }
    }
}

void mv_metrics_put(FILE *out, const mv_top_report *report)
{
    PUT_ALL("memviz_used_bytes", "Memory in use on the device.", USED);
    PUT_ALL("memviz_total_bytes", "Memory of the device.", TOTAL);
    PUT_ALL("memviz_allocated_bytes", "Allocated bytes.", ALLOCATED);
    PUT_ALL("memviz_reserved_bytes", "Bytes that the allocator holds.", reserved_of);
    put_libraries(out, report);
    put_help(out, "memviz_line_bytes", "Bytes of the lines of code that hold most.");
    put_lines(out, report, "memviz_line_bytes", false);
    put_help(out, "memviz_line_grown_bytes", "Growth of these bytes over the last five minutes.");
    put_lines(out, report, "memviz_line_grown_bytes", true);
    put_help(out, "memviz_leak", "Verdict: 1 leak, 0 clean; missing while it is unknown.");
    for (uint32_t i = 0; i < report->count; i++) {
        if (report->devices[i].verdict == MV_VERDICT_UNKNOWN)
            continue;
        begin(out, "memviz_leak", &report->devices[i]);
        fprintf(out, "} %d\n", report->devices[i].verdict == MV_VERDICT_LEAK);
    }
}

/* ---- HTTP -------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_ending;

static void note_end(int number)
{
    (void)number;
    is_ending = 1;
}

static mv_code fail_to_listen(const char *where, mv_err *err)
{
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "--metrics %s: %s", where, strerror(errno));
}

/* Removes a socket that a killed process left behind. */
static void remove_left(const struct sockaddr_un *at)
{
    int link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    if (link >= 0 && lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(link, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED)
        unlink(at->sun_path);
    if (link >= 0)
        close(link);
}

static mv_code listen_at_path(const char *path, int *out, mv_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    mode_t mask;
    bool is_bound;

    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof at.sun_path)
        return fail_to_listen(path, err);
    memcpy(at.sun_path, path, strlen(path));
    remove_left(&at);
    *out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mask = umask(0177);
    is_bound = *out >= 0 && bind(*out, (struct sockaddr *)&at, sizeof at) == 0;
    umask(mask);
    if (!is_bound || listen(*out, SOMAXCONN) != 0)
        return fail_to_listen(path, err);
    return MV_OK;
}

static mv_code listen_at_port(const char *where, uint16_t port, int *out, mv_err *err)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;

    *out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*out >= 0)
        setsockopt(*out, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (*out < 0 || bind(*out, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(*out, SOMAXCONN) != 0)
        return fail_to_listen(where, err);
    return MV_OK;
}

/* Whether a complete request for a page arrived before the socket's timeout. */
static bool read_request(int link)
{
    char request[MOST_REQUEST];
    size_t length = 0;
    ssize_t got = 1;

    request[0] = 0;
    while (!strstr(request, "\r\n\r\n") && length + 1 < sizeof request && got > 0) {
        got = recv(link, request + length, sizeof request - 1 - length, 0);
        length += got > 0 ? (size_t)got : 0;
        request[length] = 0;
    }
    return strncmp(request, "GET ", 4) == 0 && strstr(request, "\r\n\r\n");
}

static void send_all(int link, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(link, data, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        data += sent;
        length -= (size_t)sent;
    }
}

/* Answers one request. Returns false if the body could not be written. */
static bool answer(int link, mv_metrics_fn *text, void *user)
{
    struct timeval second = {.tv_sec = 1};
    size_t length = 0;
    char *body = NULL, head[160];
    FILE *out;
    bool is_made = true;
    int head_length;

    setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(link, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    if (!read_request(link))
        return true;
    out = open_memstream(&body, &length);
    if (out) {
        is_made = text(user, out);
        fclose(out);
    }
    head_length = snprintf(head, sizeof head,
                           "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                           is_made ? "200 OK" : "503 Service Unavailable", is_made ? length : 0);
    send_all(link, head, (size_t)head_length);
    send_all(link, body, is_made ? length : 0);
    free(body);
    return is_made;
}

static mv_code serve(int listening, mv_peers *peers, mv_metrics_fn *text, void *user, mv_err *err)
{
    struct pollfd here = {.fd = listening, .events = POLLIN};

    while (!is_ending) {
        struct sockaddr_in from = {0};
        socklen_t size = sizeof from;
        bool goes_on;
        int link;
        if (poll(&here, 1, 1000) <= 0)
            continue;
        link = accept4(listening, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
        if (link < 0)
            continue;
        goes_on = (peers && mv_peer_is_foreign(peers, &from)) || answer(link, text, user);
        close(link);
        if (!goes_on)
            return mv_fail(err, MV_IO, MV_NO_OFFSET,
                           "the recording cannot be read any longer: its run has ended");
    }
    return MV_OK;
}

mv_code mv_metrics_serve(const char *where, mv_metrics_fn *text, void *user, mv_err *err)
{
    struct sigaction note = {.sa_handler = note_end}, before[2];
    int listening = -1;
    bool is_bound;
    mv_peers peers;
    uint64_t port;

    if (mv_number_read(where, &port)) {
        if (port == 0 || port > UINT16_MAX)
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "--metrics %s: a port is 1 to 65535", where);
        listen_at_port(where, (uint16_t)port, &listening, err);
    } else {
        listen_at_path(where, &listening, err);
        port = 0;
    }
    is_bound = err->code == MV_OK;
    is_ending = 0;
    sigaction(SIGINT, &note, &before[0]);
    sigaction(SIGTERM, &note, &before[1]);
    if (port)
        mv_peers_open(&peers, (uint16_t)port);
    if (is_bound)
        serve(listening, port ? &peers : NULL, text, user, err);
    if (port)
        mv_peers_close(&peers);
    else if (is_bound)
        unlink(where);
    if (listening >= 0)
        close(listening);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    return err->code;
}
