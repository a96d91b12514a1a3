#include "cli/report/device_rest.h"

#include "analyze/lives/position.h"
#include "cli/report/prose.h"

mv_code mv_rest_find(mv_cli *cli, uint32_t device, int64_t time_us, uint64_t held,
                     mv_device_rest *out, mv_err *err)
{
    return cli->whole
               ? mv_device_rest_find(&cli->arena, cli->whole, device, time_us, held, out, err)
               : MV_OK;
}

const char *mv_rest_text(mv_cli *cli, const mv_device_rest *rest)
{
    return cli->whole ? mv_device_rest_text(&cli->arena, rest, cli->whole_start_us) : NULL;
}

void mv_rest_put(mv_cli *cli, const mv_device_rest *rest)
{
    const char *text = mv_rest_text(cli, rest);

    if (!text)
        return;
    mv_out_text(&cli->out, "  ");
    mv_prose_put(&cli->out, 2, 4, "%s", text);
}
