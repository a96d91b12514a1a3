#include "cli/report/rows.h"

/* Lines that a list needs in addition to its rows: an empty line, the headings, and the number of
 * hidden rows. The shell prompt takes one more line of the terminal. */
#define LIST_LINES 3
#define LEAST_ROWS 3

/* Returns how many rows of each list fit on the terminal. */
static uint64_t rows_that_fit(uint32_t rows, uint32_t lists, uint32_t others)
{
    uint32_t taken = 1 + others + lists * LIST_LINES;
    uint32_t each = rows > taken ? (rows - taken) / lists : 0;

    return each > LEAST_ROWS ? each : LEAST_ROWS;
}

uint64_t mv_rows_wanted(const mv_cli *cli, uint64_t text_rows, uint32_t lists, uint32_t others)
{
    uint64_t fit = cli->out.rows ? rows_that_fit(cli->out.rows, lists, others) : UINT64_MAX;

    if (mv_option_given(&cli->options, MV_HAS(LIMIT)))
        return cli->options.limit ? cli->options.limit : UINT64_MAX;
    if (mv_option_given(&cli->options, MV_HAS(JSON) | MV_HAS(CSV)))
        return UINT64_MAX;
    return fit < text_rows ? fit : text_rows;
}

void mv_rows_put_hidden(mv_out *out, uint64_t rows, uint64_t limit)
{
    if (rows <= limit)
        return;
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "  %llu more; --limit 0 shows all\n", (unsigned long long)(rows - limit));
    mv_out_style(out, MV_STYLE_NONE);
}
