#include "cli/report/doubts.h"

#include "cli/input/moment_option.h"
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
        mv_prose_put_item(&cli->out, "%s", doubts->words.text[i]);
    }
}

void mv_doubts_put_at(mv_cli *cli, const mv_lives *lives, uint32_t event, uint32_t first)
{
    bool is_peak = mv_at_is_peak(cli), is_end = event + 1 == lives->events.count;
    mv_doubted about = is_peak && first == 0 ? MV_DOUBTED_PEAK
                       : is_end && !is_peak  ? MV_DOUBTED_END
                                             : MV_DOUBTED_MOMENT;
    mv_peak_doubts doubts;

    mv_peak_doubts_find(&cli->scratch, lives, about, &doubts);
    for (uint32_t i = 0; i < doubts.count; i++) {
        mv_out_text(&cli->out, "          ");
        mv_prose_put(&cli->out, 10, 10, "%s", doubts.text[i]);
    }
}
