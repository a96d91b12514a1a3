/* The server: HTTP on 127.0.0.1 by libmicrohttpd, which is loaded when it starts, like SDL
 * (view/sdl/sdl_api.h): no other command loads it. */
#ifndef MV_SERVER_H
#define MV_SERVER_H

#include "cli/serve/answer.h"

typedef struct mv_server mv_server;

/* Finds the library, and listens on `*port`; 0: on a free port, which is stored there. MV_IO, with
 * the remedy, if the port is taken or the library is missing. */
mv_code mv_server_open(mv_arena *arena, uint16_t *port, mv_server **out, mv_err *err);

/* Starts a thread that answers. The site must outlive the server, and belongs to it until then. */
mv_code mv_server_start(mv_server *server, mv_serve_site *site, mv_err *err);

/* Stops the server and cuts off running transfers. Does nothing for NULL. */
void mv_server_stop(mv_server *server);

#endif
