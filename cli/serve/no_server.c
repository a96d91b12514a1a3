/* Replaces the server if memviz was built without libmicrohttpd's headers. */
#include "cli/serve/server.h"

mv_code mv_server_start(mv_arena *arena, mv_serve_site *site, uint16_t *port, mv_server **out,
                        mv_err *err)
{
    (void)arena, (void)site, (void)port;
    *out = NULL;
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "this memviz was built without libmicrohttpd: install libmicrohttpd-dev and "
                   "build again, or see convert IN OUT.html");
}

void mv_server_stop(mv_server *server)
{
    (void)server;
}
