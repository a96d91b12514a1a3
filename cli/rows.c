#include "cli/rows.h"

uint64_t mv_rows_wanted(const mv_cli *cli, uint64_t text_rows)
{
    if (mv_option_given(&cli->options, MV_HAS(LIMIT)))
        return cli->options.limit ? cli->options.limit : UINT64_MAX;
    return mv_option_given(&cli->options, MV_HAS(JSON)) ? UINT64_MAX : text_rows;
}

void mv_rows_put_hidden(mv_out *out, uint64_t rows, uint64_t limit)
{
    if (rows <= limit)
        return;
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "  %llu more; --limit 0 shows all\n", (unsigned long long)(rows - limit));
    mv_out_style(out, MV_STYLE_NONE);
}
