/* The server: HTTP on 127.0.0.1 by libmicrohttpd, which is looked up when it starts, as SDL is
 * (view/sdl/sdl_api.h): no other command loads it. */
#ifndef MV_SERVER_H
#define MV_SERVER_H

#include "cli/serve/answer.h"

typedef struct mv_server mv_server;

/* Finds the library, and listens on `*port`, or where that is 0 on a free one, which it becomes.
 * MV_IO, with what to do, when the port is taken or the library is not there. */
mv_code mv_server_open(mv_arena *arena, uint16_t *port, mv_server **out, mv_err *err);

/* Starts a thread that answers. The site must outlive the server, and is its own meanwhile. */
mv_code mv_server_start(mv_server *server, mv_serve_site *site, mv_err *err);

/* What is being sent is cut off. Safe with NULL. */
void mv_server_stop(mv_server *server);

#endif
