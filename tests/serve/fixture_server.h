/* Starts `memviz serve` and sends it requests over a plain socket:
 *
 *     mvt_server s = mvt_serve(mvt_serve_folder(), "$SNAPS/gpt_train.pickle");
 *     mvt_reply r = mvt_get(&s, "/files");
 *     cr_assert_eq(r.status, 200); */
#pragma once

#include <sys/types.h>

#include "tests/fixture/fixture_json.h"

typedef struct {
    pid_t child;
    uint16_t port;
    char url[128];
    char base[64];      /* "/TOKEN" */
    const char *folder; /* the folder it serves, empty at first */
} mvt_server;

typedef struct {
    unsigned status;
    char *head; /* status line and headers */
    char *body; /* NUL-terminated */
    size_t length;
} mvt_reply;

#define MVT_SERVE_PAGE MV_SOURCE_DIR "/tests/serve/page.html"

/* Returns an empty folder to serve from. From now on, $MEMVIZ_PAGE is the served page. */
const char *mvt_serve_folder(void);

/* Runs a shell command in a folder: "cp $SNAPS/gpt_train.pickle a.pickle". The command
 * must succeed. */
void mvt_in_folder(const char *folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Starts the server in that folder, with these shell arguments, and waits until it prints its
 * address. The server is stopped at the end of the test. */
mvt_server mvt_serve(const char *folder, const char *arguments);

/* Sends a signal and waits for the server to end. Returns its exit status, or 128 + signal if a
 * signal ended it. */
int mvt_serve_end(mvt_server *server, int signal);

/* Sends the bytes, and reads until the server closes the connection. */
mvt_reply mvt_send(const mvt_server *server, const char *bytes, size_t length);
int mvt_connect(const mvt_server *server);

/* Sends a GET for a path, which follows the token, with more headers ("Range: bytes=0-1\r\n") or
 * "". */
mvt_reply mvt_get_with(const mvt_server *server, const char *path, const char *headers);
mvt_reply mvt_get(const mvt_server *server, const char *path);

/* Return the list, the list's row with this name (or NULL), and the path of that row's
 * container. */
cJSON *mvt_served(const mvt_server *server);
const cJSON *mvt_served_row(const cJSON *list, const char *name);
const char *mvt_served_path(const cJSON *row, const char *what);

/* Returns a header's value, allocated in the test's memory, or NULL if there is no such header. */
const char *mvt_reply_header(const mvt_reply *reply, const char *name);

/* Repeats a GET until the status is no longer 202, for at most a minute. */
mvt_reply mvt_get_made(const mvt_server *server, const char *path);
