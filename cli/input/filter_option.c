#include "cli/input/filter_option.h"

#include "cli/complain.h"

bool mv_filter_option_read(mv_cli *cli, mv_filter *out)
{
    char why[MV_FILTER_WHY];

    *out = (mv_filter){0};
    if (!cli->options.filter || mv_filter_read(&cli->arena, cli->options.filter, out, why))
        return true;
    mv_complain_usage(cli->command->name, "--filter: %s", why);
    return false;
}
