/* Takes the place of the server if memviz was built without libmicrohttpd's headers. */
#include "cli/serve/server.h"

mv_code mv_server_open(mv_arena *arena, uint16_t *port, mv_server **out, mv_err *err)
{
    (void)arena, (void)port;
    *out = NULL;
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "this memviz was built without libmicrohttpd: install libmicrohttpd-dev and "
                   "rebuild, or use memviz convert IN OUT.html");
}

mv_code mv_server_start(mv_server *server, mv_serve_site *site, mv_err *err)
{
    (void)server, (void)site;
    return err->code;
}

void mv_server_stop(mv_server *server)
{
    (void)server;
}
