#include "cli/report/residual.h"

#include "cli/report/prose.h"

mv_code mv_residual_find(mv_cli *cli, const mv_lives *lives, mv_residual *out, mv_err *err)
{
    *out = (mv_residual){lives->doubts.residual, mv_residual_text(&cli->arena, lives)};
    return out->text ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "residual");
}

void mv_residual_put(mv_cli *cli, const mv_residual *residual)
{
    if (!*residual->text)
        return;
    mv_out_text(&cli->out, "  ");
    mv_prose_put(&cli->out, 2, 4, "%s", residual->text);
}
