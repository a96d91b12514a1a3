/* The server as a whole, over sockets: access, whole files and parts of files, and files that
 * change, are damaged or disappear. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/serve/fixture_server.h"

/* ---- the list and the page --------------------------------------------------------------- */

/* The names of the listed files, a line each. */
static const char *names_in(const cJSON *list)
{
    const char *names = "";
    const cJSON *file;

    cJSON_ArrayForEach(file, mvt_member(list, "files"))
        names = mvt_format("%s%s\n", names, mvt_json_text(file, "name"));
    return names;
}

static const char *path_of(const mvt_server *server, const char *name, const char *what)
{
    return mvt_served_path(mvt_served_row(mvt_served(server), name), what);
}

Test(serve, a_folder_is_listed_by_the_types_of_its_files)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "mkdir run run/deep; cp $SNAPS/gpt_train.pickle run/rank10.pickle; "
                          "cp run/rank10.pickle run/rank2; cp run/rank10.pickle run/deep/x; "
                          "gzip -c run/rank2 >run/rank3.log; cp run/rank2 run/.hidden; "
                          "echo text >run/train.py; echo '<html>' >run/index.html; "
                          "mkfifo run/pipe; ln -s rank2 run/rank1; ln -s gone run/broken");
    mvt_server server = mvt_serve(folder, "run");
    const cJSON *list = mvt_served(&server);
    cr_expect_str_eq(names_in(list), "rank1\nrank2\nrank3.log\nrank10.pickle\n");
    cr_expect_eq(mvt_json_number(list, "left_out"), 0);
}

/* Returns the list once all of its files have been read. */
static const cJSON *read_list(const mvt_server *server)
{
    for (;;) {
        const cJSON *list = mvt_served(server), *row;
        bool is_read = true;
        cJSON_ArrayForEach(row, mvt_member(list, "files"))
            is_read = is_read && strcmp(mvt_json_text(row, "state"), "waiting") != 0;
        if (is_read)
            return list;
        usleep(5000);
    }
}

Test(serve, the_list_has_peak_verdict_and_damage)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder,
                  "mkdir run; cp $SNAPS/leak_in_training.pickle run/leak; "
                  "$MEMVIZ convert -q $SNAPS/mlp_train.pickle run/hurt.bin; "
                  "printf 1234 | dd of=run/hurt.bin bs=1 seek=3000 conv=notrunc 2>/dev/null; "
                  "echo '<html>' >run/page.pickle");
    mvt_server server = mvt_serve(folder, "run");
    const cJSON *list = read_list(&server);
    const cJSON *row = mvt_served_row(list, "leak");
    cr_expect_str_eq(mvt_json_text(row, "state"), "read");
    cr_expect_str_eq(mvt_json_text(row, "kind"), "LEAK");
    cr_expect_eq(mvt_json_number(row, "peak_allocated"), 269234176);
    cr_expect_eq(mvt_json_number(row, "peak_reserved"), 304087040);
    cr_expect_str_eq(mvt_json_text(row, "bound"), "at least");
    cr_expect(cJSON_IsNull(mvt_member(row, "damaged")));
    row = mvt_served_row(list, "hurt.bin");
    cr_expect_str_eq(mvt_json_text(row, "state"), "read");
    cr_expect(strstr(mvt_json_text(row, "damaged"), "chunk"), "%s", mvt_json_text(row, "damaged"));
    row = mvt_served_row(list, "page.pickle");
    cr_expect_str_eq(mvt_json_text(row, "state"), "unreadable");
    cr_expect_gt(strlen(mvt_json_text(row, "why")), 10);
}

Test(serve, files_of_several_folders_keep_their_folders)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "mkdir b a; cp $SNAPS/gpt_train.pickle a/r0; cp a/r0 b/r0; cp a/r0 c");
    mvt_server server = mvt_serve(folder, "b/ c a b/r0");
    cr_expect_str_eq(names_in(mvt_served(&server)), "b/r0\nc\na/r0\n");
}

Test(serve, a_folder_common_to_all_files_is_not_part_of_their_names)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");

    cr_expect_str_eq(names_in(mvt_served(&server)), "gpt_train.pickle\n");
    server = mvt_serve(mvt_serve_folder(), "$SNAPS/mlp_train.pickle $SNAPS/gpt_train.pickle");
    cr_expect_str_eq(names_in(mvt_served(&server)), "mlp_train.pickle\ngpt_train.pickle\n");
}

Test(serve, names_are_not_markup)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "mkdir run; cp $SNAPS/gpt_train.pickle 'run/a\"<b>\r\n%%00\xc3\xa9'; "
                          "printf 'x' >\"run/$(printf 'z\\377')\"");
    mvt_server server = mvt_serve(folder, "run");
    const cJSON *list = mvt_served(&server);
    const cJSON *row = mvt_served_row(list, "a\"<b>\r\n%00\xc3\xa9");
    cr_assert_not_null(row);
    mvt_reply reply = mvt_get(&server, mvt_served_path(row, "originals"));
    cr_expect_eq(reply.status, 200);
    cr_expect_str_eq(mvt_reply_header(&reply, "Content-Disposition"),
                     "attachment; filename*=UTF-8''a%22%3Cb%3E%0D%0A%2500%C3%A9");
}

Test(serve, the_page_may_connect_to_its_server_alone)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    mvt_reply page = mvt_get(&server, "/"), folder = mvt_get(&server, ""),
              list = mvt_get(&server, "/files");

    cr_assert_eq(page.status, 200);
    cr_expect_not_null(strstr(page.body, "content=\"default-src 'none'; connect-src 'self'; "
                                         "script-src 'sha256-x'\""));
    cr_expect_not_null(strstr(page.body, "<script type=\"text/plain\" id=\"served\"></script>"));
    cr_expect_null(strstr(page.body, "<!--snapshot-->"));
    cr_expect_str_eq(mvt_reply_header(&page, "Content-Type"), "text/html; charset=utf-8");
    cr_expect_str_eq(mvt_reply_header(&page, "Cache-Control"), "no-store");
    cr_expect_str_eq(mvt_reply_header(&page, "Referrer-Policy"), "no-referrer");
    cr_expect_str_eq(mvt_reply_header(&page, "X-Content-Type-Options"), "nosniff");
    cr_expect_str_eq(mvt_reply_header(&page, "Cross-Origin-Resource-Policy"), "same-origin");
    cr_expect_null(mvt_reply_header(&page, "Access-Control-Allow-Origin"));
    cr_expect_str_eq(mvt_reply_header(&page, "Content-Security-Policy"), "frame-ancestors 'none'");
    cr_expect_str_eq(mvt_reply_header(&list, "Content-Security-Policy"),
                     "default-src 'none'; sandbox; frame-ancestors 'none'");
    cr_expect_eq(folder.status, 301);
    cr_expect_str_eq(mvt_reply_header(&folder, "Location") + strlen(server.base), "/");
}

/* ---- files ------------------------------------------------------------------------------- */

/* A container that was made for the page must have the file's contents. */
static void expect_contents(const char *folder, const mvt_reply *reply, const char *file)
{
    const char *got = mvt_temp_file((mv_span){(const uint8_t *)reply->body, reply->length});

    mvt_in_folder(folder, "test \"$($MEMVIZ dump %s)\" = \"$($MEMVIZ dump %s)\"", got, file);
}

Test(serve, a_pickle_is_sent_as_a_container)
{
    const char *folder = mvt_serve_folder();
    static const char *const rows[] = {"files.0", "files.1"};

    mvt_in_folder(folder, "$MEMVIZ convert -q $SNAPS/gpt_train.pickle a.bin");
    mv_span converted = mvt_file(mvt_memory(), mvt_format("%s/a.bin", folder));
    mvt_server server = mvt_serve(folder, "$SNAPS/gpt_train.pickle a.bin");
    for (int i = 0; i < 2; i++) { /* a container is sent unchanged */
        const cJSON *row = mvt_member(mvt_served(&server), rows[i]);
        mvt_reply reply = mvt_get_made(&server, mvt_served_path(row, "files"));
        cr_assert_eq(reply.status, 200);
        expect_contents(folder, &reply, "a.bin");
        cr_expect(i == 0 || (reply.length == converted.length &&
                             memcmp(reply.body, converted.data, converted.length) == 0));
        cr_expect_str_eq(mvt_reply_header(&reply, "Accept-Ranges"), "bytes");
    }
}

static void expect_part(const mvt_server *server, const char *path, const char *range,
                        mv_span whole, uint64_t first, uint64_t count)
{
    mvt_reply reply = mvt_get_with(server, path, mvt_format("Range: bytes=%s\r\n", range));
    const char *said =
        mvt_format("bytes %llu-%llu/%llu", (unsigned long long)first,
                   (unsigned long long)(first + count - 1), (unsigned long long)whole.length);

    cr_assert_eq(reply.status, 206, "%s: %u", range, reply.status);
    cr_assert_eq(reply.length, count, "%s: %zu bytes", range, reply.length);
    cr_expect_eq(memcmp(reply.body, whole.data + first, count), 0, "%s", range);
    cr_expect_str_eq(mvt_reply_header(&reply, "Content-Range"), said);
}

Test(serve, an_unchanged_file_is_sent_in_parts)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    const char *path = path_of(&server, "gpt_train.pickle", "originals"), *tag;
    mv_span whole = mvt_file(mvt_memory(), mvt_snapshot("gpt_train"));
    mvt_reply reply = mvt_get(&server, path);

    cr_assert_eq(reply.status, 200);
    cr_assert_eq(reply.length, whole.length);
    cr_expect_eq(memcmp(reply.body, whole.data, whole.length), 0);
    cr_expect_str_eq(mvt_reply_header(&reply, "Content-Disposition"),
                     "attachment; filename*=UTF-8''gpt_train.pickle");
    tag = mvt_reply_header(&reply, "ETag");
    expect_part(&server, path, "0-0", whole, 0, 1);
    expect_part(&server, path, "1000-", whole, 1000, whole.length - 1000);
    expect_part(&server, path, "-7", whole, whole.length - 7, 7);
    expect_part(&server, path, "5-999999999999", whole, 5, whole.length - 5);
    reply = mvt_get_with(&server, path, "Range: bytes=999999999-\r\n");
    cr_expect_eq(reply.status, 416);
    cr_expect_eq(reply.length, 0);
    cr_expect_str_eq(mvt_reply_header(&reply, "Content-Range"),
                     mvt_format("bytes */%llu", (unsigned long long)whole.length));
    /* A part belongs to the file with which the browser started. If that file has changed, the
     * whole new file is sent. */
    const char *headers = mvt_format("Range: bytes=0-0\r\nIf-Range: %s\r\n", tag);
    cr_expect_eq(mvt_get_with(&server, path, headers).status, 206);
    reply = mvt_get_with(&server, path, "Range: bytes=0-0\r\nIf-Range: \"0\"\r\n");
    cr_expect_eq(reply.status, 200);
    cr_expect_eq(reply.length, whole.length);
}

static mvt_reply ask(const mvt_server *server, const char *method, const char *path,
                     const char *host)
{
    const char *request =
        mvt_format("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, path, host);

    return mvt_send(server, request, strlen(request));
}

Test(serve, head_is_get_without_a_body)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");

    read_list(&server); /* from now on it does not change */
    const char *paths[] = {"/", "/files", path_of(&server, "gpt_train.pickle", "originals")};
    for (int i = 0; i < 3; i++) {
        mvt_reply get = mvt_get(&server, paths[i]);
        const char *path = mvt_format("%s%s", server.base, paths[i]);
        mvt_reply head = ask(&server, "HEAD", path, "localhost");
        cr_expect_eq(head.status, 200, "%s", paths[i]);
        cr_expect_eq(head.length, 0, "%s", paths[i]);
        cr_expect_str_eq(mvt_reply_header(&head, "Content-Length"),
                         mvt_reply_header(&get, "Content-Length"));
    }
}

Test(serve, a_damaged_file_is_one_line)
{
    const char *folder = mvt_serve_folder();
    mvt_reply reply;

    mvt_in_folder(folder, "head -c 1000 $SNAPS/gpt_train.pickle >cut.pickle; echo hello >no.txt");
    mvt_server server = mvt_serve(folder, "cut.pickle no.txt");
    for (int i = 0; i < 2; i++) { /* the second time the answer is known */
        reply = mvt_get_made(&server, path_of(&server, "cut.pickle", "files"));
        cr_expect_eq(reply.status, 422);
        cr_expect_str_eq(reply.body,
                         "byte 1000: input ends inside a record: the pickle ends before STOP; "
                         "copy it again, or wait until it is written\n",
                         "%s", reply.body);
    }
    reply = mvt_get_made(&server, path_of(&server, "no.txt", "files"));
    cr_expect_eq(reply.status, 422);
    cr_expect_not_null(strstr(reply.body, "not a format that memviz reads"), "%s", reply.body);
}

Test(serve, a_file_that_changes_is_another_version)
{
    const char *folder = mvt_serve_folder(), *old, *now;

    mvt_in_folder(folder, "mkdir run; cp $SNAPS/gpt_train.pickle run/a");
    mvt_server server = mvt_serve(folder, "run");
    const cJSON *row = mvt_served_row(mvt_served(&server), "a");
    old = mvt_served_path(row, "files");
    cr_assert_eq(mvt_get_made(&server, old).status, 200);
    mvt_in_folder(folder, "cp $SNAPS/mlp_train.pickle run/a");
    mvt_reply reply = mvt_get(&server, old);
    cr_expect_eq(reply.status, 409);
    cr_expect_str_eq(reply.body, "the file has changed since it was listed\n");
    cr_expect_eq(mvt_get(&server, mvt_served_path(row, "originals")).status, 409);
    now = path_of(&server, "a", "files");
    cr_expect_str_neq(now, old);
    reply = mvt_get_made(&server, now);
    cr_assert_eq(reply.status, 200);
    expect_contents(folder, &reply, "$SNAPS/mlp_train.pickle");
    /* The old file is gone, and a new one has taken its place. */
    mvt_in_folder(folder, "mv run/a run/b");
    cr_expect_eq(mvt_get(&server, now).status, 410);
    cr_expect_null(mvt_served_row(mvt_served(&server), "a"));
    cr_expect_eq(mvt_get_made(&server, path_of(&server, "b", "files")).status, 200);
}

Test(serve, a_file_that_shrinks_while_it_is_sent_ends_the_connection, .timeout = 250)
{
    const char *folder = mvt_serve_folder(), *path;
    const struct timeval patience = {.tv_sec = 200};
    static char part[1 << 16], request[512];
    ssize_t got;

    /* The file is larger than socket buffers, so the server is in the middle of sending it. */
    mvt_in_folder(folder, "cp $SNAPS/gpt_train.pickle a; head -c 40000000 /dev/zero >>a");
    mvt_server server = mvt_serve(folder, "a");
    path = path_of(&server, "a", "originals");
    snprintf(request, sizeof request, "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", server.base,
             path);
    int fd = mvt_connect(&server);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    cr_assert_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    cr_assert_gt(read(fd, part, 9), 0);
    mvt_in_folder(folder, "truncate -s 1000 a");
    do
        got = read(fd, part, sizeof part);
    while (got > 0);
    cr_expect_eq(got, 0, "the server waits for missing bytes");
    close(fd);
    cr_expect_eq(mvt_get(&server, "/").status, 200);
}

Test(serve, a_file_that_is_not_a_snapshot_is_not_sent)
{
    const char *folder = mvt_serve_folder(), *path;

    mvt_in_folder(folder, "mkdir run; cp $SNAPS/gpt_train.pickle run/a; echo secret >secret");
    mvt_server server = mvt_serve(folder, "run");
    path = path_of(&server, "a", "originals");
    mvt_in_folder(folder, "ln -sf ../secret run/a");
    cr_expect_eq(mvt_get(&server, path).status, 409);
    cr_expect_null(mvt_served_row(mvt_served(&server), "a"));
}

Test(serve, every_request_without_the_token_gets_the_same_404)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    mvt_reply nothing = ask(&server, "GET", "/", "127.0.0.1"), reply;
    char *wrong = mvt_format("%s", server.base);
    const char *rests[] = {"", "/", "/files", "/files/0/0"}, *path;

    cr_assert_eq(nothing.status, 404);
    wrong[32] = wrong[32] == '0' ? '1' : '0'; /* the last digit */
    for (unsigned i = 0; i < 4; i++) {
        path = mvt_format("%s%s", wrong, rests[i]);
        reply = ask(&server, "GET", path, "127.0.0.1");
        cr_expect_eq(reply.status, 404, "%s", path);
        cr_expect_str_eq(reply.body, nothing.body);
        cr_expect_eq(ask(&server, "DELETE", path, "127.0.0.1").status, 404);
        path = mvt_format("%s%s", server.base, rests[i]);
        cr_expect_eq(ask(&server, "GET", path, "evil.example").status, 404, "%s", path);
        cr_expect_neq(ask(&server, "GET", path, "localhost:9").status, 404, "%s", path);
    }
    path = mvt_format("%s/../../etc/passwd", server.base);
    cr_expect_eq(ask(&server, "GET", path, "127.0.0.1").status, 404);
    path = mvt_format("%s/%%66iles", server.base);
    cr_expect_eq(ask(&server, "GET", path, "127.0.0.1").status, 404);
    path = mvt_format("%s/", server.base);
    cr_expect_eq(ask(&server, "POST", path, "127.0.0.1").status, 405);
    cr_expect_eq(ask(&server, "OPTIONS", path, "127.0.0.1").status, 405);
}

Test(serve, no_two_addresses_are_alike)
{
    mvt_server a = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    mvt_server b = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");

    cr_expect_str_neq(a.base, b.base);
    cr_expect_eq(strlen(a.base), 33);
    cr_expect_neq(a.port, b.port);
    cr_expect_eq(ask(&b, "GET", a.base, "127.0.0.1").status, 404);
}

Test(serve, it_listens_on_this_machine_alone)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    char row[128], line[256];
    FILE *sockets = fopen("/proc/net/tcp", "r");
    int found = 0;

    snprintf(row, sizeof row, ":%04X 00000000:0000 0A", server.port); /* 0A: listening */
    while (fgets(line, sizeof line, sockets))
        if (strstr(line, row)) {
            cr_expect_not_null(strstr(line, " 0100007F:"), "%s", line);
            found++;
        }
    fclose(sockets);
    cr_expect_eq(found, 1);
}

/* ---- many clients, clumsy clients ---------------------------------------------------------- */

Test(serve, many_clients_are_served_at_once, .timeout = 250)
{
    enum { MANY = 50 };
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    const char *path = path_of(&server, "gpt_train.pickle", "originals");
    mv_span whole = mvt_file(mvt_memory(), mvt_snapshot("gpt_train"));
    const char *request = mvt_format(
        "GET %s%s HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n", server.base, path);
    char part[64 << 10];
    int fd[MANY];

    for (int i = 0; i < MANY; i++) {
        fd[i] = mvt_connect(&server);
        cr_assert_eq(send(fd[i], request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    }
    for (int i = 0; i < MANY; i++) {
        uint64_t bytes = 0;
        ssize_t got;
        while ((got = read(fd[i], part, sizeof part)) > 0)
            bytes += (uint64_t)got;
        close(fd[i]);
        cr_expect_gt(bytes, whole.length);
    }
}

Test(serve, incomplete_requests_block_no_other_client, .timeout = 250)
{
    enum { MANY = 40 };
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    static const char *const halves[] = {
        "G", "GET /", "GET / HTTP/1.1\r\nHost: x",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"};
    int fd[MANY];

    for (int i = 0; i < MANY; i++) {
        const char *half = halves[i % 4];
        fd[i] = mvt_connect(&server);
        cr_assert_eq(send(fd[i], half, strlen(half), MSG_NOSIGNAL), (ssize_t)strlen(half));
    }
    cr_expect_eq(mvt_get(&server, "/").status, 200);
    cr_expect_eq(mvt_serve_end(&server, SIGTERM), 0); /* with all of them open */
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
}

/* Otherwise 64 of these clients would take all connections until the idle timeout. */
Test(serve, an_end_within_a_request_ends_the_connection, .timeout = 250)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\nHEAD / HTTP/1.0\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};

    for (unsigned i = 0; i < sizeof requests / sizeof *requests; i++)
        for (size_t length = 0; length <= strlen(requests[i]); length++) {
            int fd = mvt_connect(&server);
            char part[4096];
            cr_assert_eq(send(fd, requests[i], length, MSG_NOSIGNAL), (ssize_t)length);
            shutdown(fd, SHUT_WR);
            while (read(fd, part, sizeof part) > 0)
                continue;
            close(fd);
        }
}

Test(serve, bytes_that_are_not_http_do_no_harm, .timeout = 250)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    static char large[100000];
    static const struct {
        const char *bytes;
        size_t length;
    } all[] = {
        {"\r\n\r\n\r\n\r\n", 8},
        {"\0\0\0\0\r\n\r\n", 8},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15},
        {"GET\r\n\r\n", 7},
        {"GET / HTTP/9.9\r\n\r\n", 18},
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", 56},
        {large, sizeof large},
    };

    memset(large, 'a', sizeof large);
    memcpy(large, "GET /", 5);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        int fd = mvt_connect(&server);
        char part[4096];

        send(fd, all[i].bytes, all[i].length, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        for (ssize_t got; (got = read(fd, part, sizeof part - 1)) > 0;) {
            part[got] = 0;
            cr_expect_null(strstr(part, " 200 "), "%u: %s", i, part);
        }
        close(fd);
        cr_expect_eq(mvt_get(&server, "/").status, 200, "after %u", i);
    }
}

/* A query does not belong to the path; a NUL and the bytes after it do. Since 1.0 libmicrohttpd
 * itself rejects a NUL. */
Test(serve, a_path_does_not_end_at_a_nul, .timeout = 250)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    static const struct {
        const char *after;
        size_t length;
        bool is_found;
    } all[] = {{"", 0, true},      {"?x=1", 4, true}, {"\0", 1, false},
               {"\0?x", 3, false}, {"\0x", 2, false}, {"?\0x", 3, false}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        char line[512];
        int length = snprintf(line, sizeof line, "GET %s/", server.base);

        memcpy(line + length, all[i].after, all[i].length);
        length += (int)all[i].length;
        length += snprintf(line + length, sizeof line - (size_t)length,
                           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        cr_expect_eq(mvt_send(&server, line, (size_t)length).status == 200, all[i].is_found, "%u",
                     i);
    }
}

Test(serve, interrupts_end_the_server_properly)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    for (int i = 0; i < 3; i++) {
        mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
        /* The same applies while a container is being made. */
        mvt_get(&server, path_of(&server, "gpt_train.pickle", "files"));
        cr_expect_eq(mvt_serve_end(&server, signals[i]), 0);
    }
}

Test(serve, the_server_writes_no_file)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "mkdir run tmp; cp $SNAPS/gpt_train.pickle run/a");
    setenv("TMPDIR", "tmp", 1);
    mvt_server server = mvt_serve(folder, "run");
    cr_assert_eq(mvt_get_made(&server, path_of(&server, "a", "files")).status, 200);
    mvt_in_folder(folder, "test \"$(find . | sort | tr '\\n' ' ')\" = '. ./run ./run/a ./tmp '");
    cr_expect_eq(mvt_serve_end(&server, SIGINT), 0);
    mvt_in_folder(folder, "test \"$(find . | sort | tr '\\n' ' ')\" = '. ./run ./run/a ./tmp '");
}

Test(serve, files_that_cannot_be_served_are_reported)
{
    mvt_server server = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
    const char *taken = mvt_format("$MEMVIZ serve --port %u .", server.port);
    const mvt_expected_run all[] = {
        {"$MEMVIZ serve", 2, NULL, "expected FILE|FOLDER..."},
        {"$MEMVIZ serve -", 2, NULL, "standard input cannot be served"},
        {"$MEMVIZ serve no.pickle", 1, NULL, "no.pickle: No such file or directory"},
        {"mkfifo p; $MEMVIZ serve p", 1, NULL, "p: not a file or a folder"},
        {"$MEMVIZ serve --port 65536 .", 2, NULL, "--port 65536"},
        {"MEMVIZ_PAGE=no.html $MEMVIZ serve .", 1, NULL, "no.html: No such file"},
        {"echo x >x.html; MEMVIZ_PAGE=x.html $MEMVIZ serve .", 1, NULL,
         "is not this version's page"},
        {taken, 1, NULL, "of 127.0.0.1: Address already in use"},
        {"echo >libmicrohttpd.so.12; LD_LIBRARY_PATH=. $MEMVIZ serve .", 1, NULL,
         "apt-get install libmicrohttpd12"}};

    MVT_EXPECT_RUNS("export MEMVIZ_PAGE=" MVT_SERVE_PAGE "; %s", all);
}

Test(serve, the_text_is_an_address_and_an_ssh_line)
{
    mvt_serve_folder();
    mvt_run run = mvt_sh(
        "export MEMVIZ_PAGE=" MVT_SERVE_PAGE
        "; mkdir run; cp $SNAPS/gpt_train.pickle run; $MEMVIZ serve run >out & "
        "until [ \"$(tail -n 1 out)\" = 'Ctrl+C ends it.' ]; do kill -0 $! && sleep 0.02; done; "
        "kill -TERM $!; wait; "
        "sed -E 's/[0-9a-f]{32}/TOKEN/; s/[0-9]{4,5}/PORT/g; s/PORT [^ ]*$/PORT HOST/' out");
    cr_expect_str_eq(run.out,
                     "http://127.0.0.1:PORT/TOKEN/\n"
                     "1 snapshot, 577 KiB. From your own machine, open the same address after\n"
                     "  ssh -L PORT:127.0.0.1:PORT HOST\n"
                     "Ctrl+C ends it.\n",
                     "%s%s", run.out, run.err);
}
