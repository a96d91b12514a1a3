/* The launcher's socket for requests from the user of a run: `memviz ctl`.
 *
 *     client                                  launcher
 *     connect to /proc/LAUNCHER/fd/N
 *     "mark epoch 3\n"              ──►
 *                                   ◄──       "ok\n", then the end
 *
 * The socket has no name that others could find, guess or occupy: it is bound in a folder that only
 * this user can enter, and both are removed before its number is
 * published. It is opened through the
 * launcher's descriptor N, which is in the page of capture/wire_status.h; the kernel lets only the
 * same user (and root) look it up, and whoever connects is checked again (SO_PEERCRED). So no file
 * stays however the launcher ends.
 *
 * A client that sends nothing, sends slowly, does not read, or comes with two hundred others costs
 * a descriptor for at most MV_CONTROL_PATIENCE_MS: the launcher never waits for one. */
#ifndef MV_CONTROL_H
#define MV_CONTROL_H

#include <poll.h>
#include <stddef.h>

#include "record/run_status.h"

enum {
    MV_CONTROL_CLIENTS = 16, /* at once; others wait in the kernel's queue */
    MV_CONTROL_FDS = MV_CONTROL_CLIENTS + 1,
    MV_CONTROL_LINE = 8192, /* a request: a verb and a path fit */
    MV_CONTROL_ANSWER = 8192,
    MV_CONTROL_PATIENCE_MS = 1000
};

/* Answers a request, a line without its end: text in lines. False: another process answers on the
 * link, which is closed here. */
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
    int socket, name; /* -1: no socket; `name` is its descriptor in /proc */
    mv_control_answer *answer;
    void *user;
    uint32_t count;
    bool is_full; /* no descriptor was free: new clients wait */
    mv_control_client clients[MV_CONTROL_CLIENTS];
} mv_control;

/* Without a page or a temporary folder there is no socket. */
void mv_control_open(mv_control *control, mv_run_status *status, mv_control_answer *answer,
                     void *user);
void mv_control_close(mv_control *control);

/* Fills in the descriptors to wait for, and returns their number. *most_ms is lowered to the time to wait at most. */
uint32_t mv_control_fds(const mv_control *control, struct pollfd fds[MV_CONTROL_FDS],
                        int64_t *most_ms);

/* Takes and answers what has arrived, without waiting. */
void mv_control_serve(mv_control *control);

#endif
