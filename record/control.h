/* The launcher's socket, through which the user of a run sends requests (`memviz ctl`).
 *
 *     client                                  launcher
 *     connect to /proc/LAUNCHER/fd/N
 *     "mark epoch 3\n"              ──►
 *                                   ◄──       "ok\n", then the end
 *
 * The socket has no name that others could find, guess or occupy, because it is bound in a folder
 * that only this user can enter, and both are removed before its descriptor number is published.
 * Clients open the socket through the launcher's descriptor N, whose number is in the page of
 * capture/wire_status.h. The kernel lets only the same user (and root) look up this descriptor, and
 * each client is checked again when it connects (SO_PEERCRED). So no file is left behind, however
 * the launcher ends.
 *
 * The launcher never waits for a client. A client that sends nothing, sends slowly, does not read,
 * or connects together with two hundred others therefore costs only a descriptor, for at most
 * MV_CONTROL_PATIENCE_MS. */
#pragma once

#include <poll.h>
#include <stddef.h>

#include "record/run_status.h"

enum {
    MV_CONTROL_CLIENTS = 16, /* largest number of clients at the same time; further clients wait in
                              * the kernel's queue */
    MV_CONTROL_FDS = MV_CONTROL_CLIENTS + 1,
    MV_CONTROL_LINE = 8192, /* maximum length of a request, enough for a verb and a path */
    MV_CONTROL_ANSWER = 8192,
    MV_CONTROL_PATIENCE_MS = 1000
};

/* Answers a request. `line` is the request without its line end, and `answer` receives one or more
 * lines. Returns false if another process answers through the connection `link`, which is then
 * closed here. */
typedef bool mv_control_answer(void *user, const char *line, int link,
                               char answer[MV_CONTROL_ANSWER]);

typedef struct {
    int link;
    int64_t since_ms;
    size_t length;
    char line[MV_CONTROL_LINE];
} mv_control_client;

typedef struct {
    mv_run_status *status;
    int socket, name; /* `name` is the descriptor of the socket's file in /proc; -1: there is no
                       * socket */
    mv_control_answer *answer;
    void *user;
    uint32_t count;
    bool is_full; /* no descriptor was free, so new clients wait */
    mv_control_client clients[MV_CONTROL_CLIENTS];
} mv_control;

/* Opens the socket. If there is no page or no temporary folder, there is no socket. */
void mv_control_open(mv_control *control, mv_run_status *status, mv_control_answer *answer,
                     void *user);
void mv_control_close(mv_control *control);

/* Fills `fds` with the descriptors to wait for, and returns their number. *most_ms is lowered to
 * the longest time that the caller may wait. */
uint32_t mv_control_fds(const mv_control *control, struct pollfd fds[MV_CONTROL_FDS],
                        int64_t *most_ms);

/* Reads and answers the requests that have arrived, without waiting. */
void mv_control_serve(mv_control *control);
