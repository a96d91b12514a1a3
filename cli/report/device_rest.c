#include "cli/report/device_rest.h"

#include "analyze/levels/levels.h"
#include "cli/report/prose.h"

bool mv_rest_is_wanted(const mv_cli *cli)
{
    return cli->as_read && strcmp(cli->level, mv_level_name(MV_LEVEL_ALL)) == 0;
}

mv_code mv_rest_find(mv_cli *cli, uint32_t device, int64_t time_us, uint64_t held,
                     mv_device_rest *out, mv_err *err)
{
    return mv_rest_is_wanted(cli)
               ? mv_device_rest_find(&cli->arena, cli->as_read, device, time_us, held, out, err)
               : MV_OK;
}

const char *mv_rest_text(mv_cli *cli, const mv_device_rest *rest)
{
    return mv_rest_is_wanted(cli) ? mv_device_rest_text(&cli->arena, rest, cli->start_us) : NULL;
}

void mv_rest_put(mv_cli *cli, const mv_device_rest *rest)
{
    const char *text = mv_rest_text(cli, rest);

    if (!text)
        return;
    mv_prose_put_item(&cli->out, "%s", text);
}
