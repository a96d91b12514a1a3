/* libFuzzer target: any bytes from a client.
 *
 * Bytes that begin with { or [ are sent as lines to `mcp`, whose tools run on small real files.
 * Other bytes are requests to `serve`, in which TOKEN stands for its token and @N for file N with
 * its version. The first request is parsed directly, and all of them are sent over a connection to
 * a server on 127.0.0.1.
 *
 * Checked: each answer is complete and well formed, only the served files are sent, and a foreign
 * Host or Origin gets a 404. Each answer from mcp must be one line of JSON with its request's
 * id. */
#include "base/texts.h"
#include "cli/commands.h"
#include "cli/mcp/protocol.h"
#include "cli/serve/server.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/check_output.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_INPUT = 16384, MOST_ANSWER = 4 << 20, PATIENCE_MS = 100000 };

#define TOKEN  "0123456789abcdef0123456789abcdef"
#define SECRET "what is in no served file"

/* ---- mcp --------------------------------------------------------------------------------- */

static bool is_outside(char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strncmp(words[i], "--", 2) != 0 &&
            (strchr(words[i], '/') || strcmp(words[i], "..") == 0))
            return true;
    return false;
}

static mv_span copy_of(mv_arena *arena, mv_span bytes)
{
    const char *copy = mv_arena_text(arena, (const char *)bytes.data, bytes.length);

    return (mv_span){(const uint8_t *)copy, copy ? bytes.length : 0};
}

/* An mv_mcp_run_fn like the one in cmd_mcp.c, but in this process. */
static mv_code run(void *user, mv_arena *arena, char **words, int count, bool wants_picture,
                   mv_mcp_ran *out, mv_err *err)
{
    const char *all[MVT_MOST_WORDS];
    int used = 0;

    (void)user, (void)err;
    *out = (mv_mcp_ran){.status = MV_EXIT_FAILED};
    if (count + 3 > MVT_MOST_WORDS || is_outside(words, count))
        return MV_OK;
    for (int i = 0; i < count; i++) {
        all[used++] = words[i];
        if (i == 0) {
            all[used++] = "--max-memory=64M";
            all[used++] = "--max-disk=0";
        }
        if (i == 0 && wants_picture)
            all[used++] = "--output=p.png";
    }
    mvt_ran ran = mvt_program_words(NULL, all, used, (mv_span){(const uint8_t *)"", 0}, NULL);
    mvt_check_messages(ran.status, ran.err);
    out->status = ran.status;
    out->messages = copy_of(arena, ran.err);
    if (!wants_picture) {
        out->out = copy_of(arena, ran.out);
    } else if (ran.status == MV_EXIT_DONE) {
        mv_span picture = mvt_folder_read("p.png");
        out->out = copy_of(arena, picture);
        free((void *)(uintptr_t)picture.data);
    }
    mvt_memory_tidy();
    return MV_OK;
}

static void answer_line(mv_mcp *mcp, mv_span line)
{
    static mv_out out;
    char *text = NULL;
    size_t length = 0;
    cJSON *answer, *request;

    out = (mv_out){.sink.file = open_memstream(&text, &length)};
    if (!out.sink.file)
        return;
    mv_mcp_answer(mcp, line, &out);
    mv_out_flush(&out);
    if (fclose(out.sink.file) != 0)
        mvt_stop("the answer was not written");
    if (length > 0) {
        if (memchr(text, '\n', length) != text + length - 1)
            mvt_stop("an answer of several lines");
        answer = mvt_check_json("answer", (mv_span){(const uint8_t *)text, length});
        request = cJSON_ParseWithLength((const char *)line.data, line.length);
        if (cJSON_IsObject(answer)) {
            /* Checks the answer to one message: the request's id, and a result or an error. */
            /* If a request contains a key twice, the first one counts. */
            const cJSON *asked = cJSON_GetObjectItemCaseSensitive(request, "id");
            const cJSON *id = cJSON_GetObjectItemCaseSensitive(answer, "id");
            const cJSON *result = cJSON_GetObjectItemCaseSensitive(answer, "result");
            const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
            if (!cJSON_IsObject(answer) || !id || !result == !error)
                mvt_stop("an answer without an id, or not with one of result and error");
            if (result && !cJSON_Compare(id, asked, 1))
                mvt_stop("the answer has another id");
            if (error && !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(error, "code")))
                mvt_stop("an error without a code");
        }
        cJSON_Delete(answer);
        cJSON_Delete(request);
    }
    free(text);
}

static void talk(mv_span in)
{
    mv_mcp mcp = {.run = run, .budget.limit = UINT64_C(256) << 20};
    const uint8_t *at = in.data, *end = in.data + in.length;

    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        answer_line(&mcp, (mv_span){at, (uint64_t)(stop - at)});
        at = stop + 1;
    }
    if (mcp.budget.used != 0)
        mvt_stop("memory that was not released");
}

static struct {
    mv_budget budget;
    mv_arena arena;
    mv_serve_site site;
    mv_server *server;
    uint16_t port;
    mv_served_files_list list;
    mv_span first, page; /* contents of the first file and of the page */
} served;

/* The leak sanitizer's check, in builds that have it. About once in a hundred thousand inputs it
 * misses state that only a thread of libmicrohttpd or of the served files refers to, so it runs
 * while there is no such thread. */
int __lsan_is_turned_off(void);                                   // NOLINT
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void); // NOLINT

int __lsan_is_turned_off(void) // NOLINT
{
    return served.site.served != NULL;
}

static void end_server(void)
{
    static unsigned ends;

    if (!served.site.served)
        return;
    mv_server_stop(served.server);
    mv_served_files_close(served.site.served);
    mv_arena_release(&served.arena);
    free((void *)(uintptr_t)served.first.data);
    memset(&served, 0, sizeof served);
    if (++ends % 256 == 0 && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
        mvt_stop("a server, or an input before, left memory");
}

/* Returns a header's value in the text, up to its line end, or NULL if there is no such header. */
static const char *header_of(const char *text, const char *name, char value[256])
{
    size_t length = strlen(name);

    for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
        line++;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        line += length + 1;
        line += strspn(line, " ");
        snprintf(value, 256, "%.*s", (int)strcspn(line, "\r\n"), line);
        return value;
    }
    return NULL;
}

static bool is_here(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (unsigned i = 0; host && i < sizeof names / sizeof *names; i++) {
        const char *port = host + strlen(names[i]);
        if (strncasecmp(host, names[i], strlen(names[i])) == 0 &&
            (!*port || (*port == ':' && !port[1 + strspn(port + 1, "0123456789")])))
            return true;
    }
    return false;
}

static void ask_once(const char *text)
{
    char method[16] = "", path[512] = "", host[256], range[256], if_range[256], origin[256];
    mv_serve_request request = {.method = method,
                                .path = path,
                                .host = header_of(text, "Host", host),
                                .range = header_of(text, "Range", range),
                                .if_range = header_of(text, "If-Range", if_range),
                                .origin = header_of(text, "Origin", origin)};
    mv_byte_range bytes = mv_byte_range_read(request.range, strlen(text));
    mv_serve_answer answer;

    sscanf(text, "%15s %511s", method, path);
    if (bytes.status == 200
            ? bytes.first != 0 || bytes.count != strlen(text)
            : bytes.status == 206 && (bytes.count == 0 || bytes.first + bytes.count > strlen(text)))
        mvt_stop("range %s of %zu bytes", request.range, strlen(text));
    mv_serve_answer_make(&served.site, &request, &answer);
    if (answer.status != 404 && (!is_here(request.host) || !strstr(path, TOKEN)))
        mvt_stop("answered to %s", request.host);
    if (answer.status != 404 && request.origin &&
        (strncmp(origin, "http://", 7) != 0 || !is_here(origin + 7)))
        mvt_stop("answered to a page of %s", origin);
    for (uint32_t i = 0; i < answer.headers; i++)
        mvt_check_text("a header", mv_text_span(answer.header[i].value));
    if (answer.type && strstr(answer.type, "json"))
        cJSON_Delete(mvt_check_json("list", answer.bytes));
    if (answer.fd >= 0) {
        /* Checks a body that is part of a file: of the served file, or of its container. */
        bool is_original = false;
        uint8_t *part = malloc(answer.count + 1);
        struct stat st;
        for (uint32_t j = 0; j < answer.headers; j++)
            is_original |= strcmp(answer.header[j].name, "Content-Disposition") == 0;
        if (!part || fstat(answer.fd, &st) != 0 || answer.first > (uint64_t)st.st_size ||
            answer.count > (uint64_t)st.st_size - answer.first ||
            pread(answer.fd, part, answer.count, (off_t)answer.first) != (ssize_t)answer.count)
            mvt_stop("a part that the file does not have");
        if (is_original && (st.st_size != (off_t)served.first.length ||
                            memcmp(part, served.first.data + answer.first, answer.count) != 0))
            mvt_stop("another file than the one that is served");
        if (!is_original && answer.first == 0 && answer.count >= 4 &&
            memcmp(part, MV_WIRE_MAGIC, 4) != 0)
            mvt_stop("no container");
        free(part);
        close(answer.fd);
    }
    if (answer.is_own)
        free((void *)(uintptr_t)answer.bytes.data);
}

/* ---- serve: a connection ------------------------------------------------------------------ */

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(served.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        mvt_stop("cannot connect: %s", strerror(errno));
    return fd;
}

/* Reads everything that the server sends until it closes the connection, which it does after the
 * client's last request, long before its idle timeout. `is_whole` is false if the connection was
 * reset. */
static size_t listen_to(int fd, char *text, bool *is_whole)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    for (;;) {
        /* Waits twice, because a machine that stood still for that long has used up only the first
         * wait. */
        if (poll(&wait, 1, PATIENCE_MS) != 1 && poll(&wait, 1, PATIENCE_MS) != 1)
            mvt_stop("the server waits for more than all, after %zu bytes", length);
        ssize_t got = read(fd, text + length, MOST_ANSWER - length);
        if (got <= 0 || (length += (size_t)got) == MOST_ANSWER) {
            *is_whole = got == 0;
            return length;
        }
    }
}

static void connect_once(const char *text, size_t length, size_t cut)
{
    static char answers[MOST_ANSWER];
    int fd = dial();
    bool is_whole;

    if (send(fd, text, cut, MSG_NOSIGNAL) == (ssize_t)cut)
        (void)!send(fd, text + cut, length - cut, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    size_t said = listen_to(fd, answers, &is_whole);
    close(fd);
    if (memmem(answers, said, SECRET, strlen(SECRET)))
        mvt_stop("a file that is not served was sent");
    if (is_whole) {
        /* The answers follow one another: a status line, headers, and a body of the length in the
         * headers. The answer to HEAD has no body. If Content-Length is not a number, libmicrohttpd
         * 0.9.75 sends the head of its 400 twice. */
        bool has_head = memmem(text, length, "HEAD", 4);
        const char *at = answers, *end = answers + said;
        while (at < end) {
            const char *head = memmem(at, (size_t)(end - at), "\r\n\r\n", 4), *body;
            char copy[4096], value[256];
            unsigned status = 0;
            if (!head)
                mvt_stop("an answer without an end of its headers: %.100s", at);
            snprintf(copy, sizeof copy, "%.*s", (int)(head + 2 - at), at);
            if (sscanf(copy, "HTTP/1.%*1[01] %3u ", &status) != 1 || status < 100 || status > 599)
                mvt_stop("no status line: %.100s", copy);
            body = head + 4;
            size_t bytes = header_of(copy, "Content-Length", value) ? strtoull(value, NULL, 10) : 0;
            if (!header_of(copy, "Content-Length", value) && status >= 200 && status != 304)
                mvt_stop("an answer without a length: %s", copy);
            if (bytes > (size_t)(end - body)) {
                if (!has_head)
                    mvt_stop("a body of %zu bytes, not of %zu: %s", (size_t)(end - body), bytes,
                             copy);
                bytes = 0;
            } else if ((has_head || status == 400) && end - body >= 7 &&
                       memcmp(body, "HTTP/1.", 7) == 0) {
                bytes = 0;
            }
            at = body + bytes;
        }
    }
}

/* Returns the input with TOKEN and @N replaced, allocated with malloc and NUL-terminated. */
static char *expand(mv_span in, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    for (uint64_t i = 0; out && i < in.length; i++) {
        if (in.length - i >= 5 && memcmp(in.data + i, "TOKEN", 5) == 0) {
            fputs(TOKEN, out);
            i += 4;
        } else if (in.length - i >= 2 && in.data[i] == '@') {
            fprintf(out, "%c/%llx", in.data[++i],
                    served.list.count ? (unsigned long long)served.list.files[0].version : 0);
        } else {
            fputc(in.data[i], out);
        }
    }
    if (!out || fclose(out) != 0)
        abort();
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_span in = {data, size < MOST_INPUT ? size : MOST_INPUT};
    size_t length;

    mvt_memory_copy("a.pickle", "releases/ring_of_one.pickle");
    mvt_memory_copy("b.bin", "captures/plain_oom.bin");
    if (size > 0 && (data[0] == '{' || data[0] == '[')) {
        end_server(); /* its threads open files, which would be counted as the program's */
        talk(in);
        return 0;
    }
    if (!served.site.served) {
        mvt_memory_file("secret", mv_text_span(SECRET));
        static const char *paths[1];
        static char path[128];
        static bool is_ended_at_exit;
        static const char page[] = "<!doctype html><html>page</html>\n";
        mv_err err = {.offset = MV_NO_OFFSET};
        snprintf(path, sizeof path, "%s/a.pickle", mvt_memory_folder());
        paths[0] = path;
        served.first = mvt_folder_read(path);
        served.budget.limit = UINT64_C(256) << 20;
        mv_arena_init(&served.arena, &served.budget);
        served.site.budget = &served.budget;
        served.site.page = served.page = mv_text_span(page);
        memcpy(served.site.token, TOKEN, sizeof TOKEN);
        snprintf(served.site.host, sizeof served.site.host, "node\x1b[1m");
        if (mv_served_files_open(&served.arena, paths, 1, 1 << 20, &served.site.served, &err) !=
                MV_OK ||
            mv_served_files_look(served.site.served, &served.arena, &served.list, &err) != MV_OK)
            mvt_stop("the files cannot be served: %s", err.detail);
        if (mv_server_open(&served.arena, &served.port, &served.server, &err) != MV_OK ||
            mv_server_start(served.server, &served.site, &err) != MV_OK)
            mvt_stop("the server does not start: %s", err.detail);
        if (!is_ended_at_exit)
            is_ended_at_exit = atexit(end_server) == 0;
    }
    char *text = expand(in, &length);
    ask_once(text);
    connect_once(text, length, length ? (size_t)text[0] * 7 % length : 0);
    free(text);
    return 0;
}
