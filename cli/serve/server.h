/* The server: HTTP on 127.0.0.1. It uses libmicrohttpd, which is loaded when the server starts, as
 * SDL is by the viewer (view/sdl/sdl_api.h). No other command loads it. */
#pragma once

#include "cli/serve/answer.h"

typedef struct mv_server mv_server;

/* Loads the library and listens on `*port`. If `*port` is 0, picks a free port and stores it there.
 * Fails with MV_IO, and a message that names the remedy, if the port is taken or the library is
 * missing. */
mv_code mv_server_open(mv_arena *arena, uint16_t *port, mv_server **out, mv_err *err);

/* Starts a thread that answers requests. The site must outlive the server, and only the server may
 * use it until then. */
mv_code mv_server_start(mv_server *server, mv_serve_site *site, mv_err *err);

/* Stops the server and aborts running transfers. Does nothing for NULL. */
void mv_server_stop(mv_server *server);
