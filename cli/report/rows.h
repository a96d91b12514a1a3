/* The number of shown rows of a list, and a line with the number of hidden rows. */
#ifndef MV_ROWS_H
#define MV_ROWS_H

#include "cli/commands.h"

/* --limit, or without it: all rows in JSON and CSV, and in text `text_rows`, or fewer if the report
 * would not fit the terminal. The report has that many `lists`, and `others` further lines. */
uint64_t mv_rows_wanted(const mv_cli *cli, uint64_t text_rows, uint32_t lists, uint32_t others);

/* " 12 more; --limit 0 shows all", if the list is longer than the limit. */
void mv_rows_put_hidden(mv_out *out, uint64_t rows, uint64_t limit);

#endif
