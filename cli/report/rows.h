/* How many rows of a list are shown, and a line that says how many are not. */
#ifndef MV_ROWS_H
#define MV_ROWS_H

#include "cli/commands.h"

/* --limit; where it is not given all rows in JSON, and `text_rows` in text, or fewer where the
 * report would not fit the terminal: it has that many `lists`, and `others` further lines. */
uint64_t mv_rows_wanted(const mv_cli *cli, uint64_t text_rows, uint32_t lists, uint32_t others);

/* "  12 more; --limit 0 shows all", where there are more rows than the limit. */
void mv_rows_put_hidden(mv_out *out, uint64_t rows, uint64_t limit);

#endif
