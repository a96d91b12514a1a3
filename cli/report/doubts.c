#include "cli/report/doubts.h"

#include "cli/report/prose.h"

mv_code mv_doubts_find(mv_cli *cli, const mv_lives *lives, mv_doubted about, mv_doubts *out,
                       mv_err *err)
{
    *out = (mv_doubts){.history = lives->history,
                       .residual = lives->doubts.residual,
                       .inexact_blocks = lives->doubts.inexact_blocks};
    return mv_peak_doubts_find(&cli->arena, lives, about, &out->words)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "doubts");
}

void mv_doubts_put(mv_cli *cli, const mv_doubts *doubts)
{
    for (uint32_t i = 0; i < doubts->words.count; i++) {
        mv_out_text(&cli->out, "  ");
        mv_prose_put(&cli->out, 2, 4, "%s", doubts->words.text[i]);
    }
}
