/* Decides how many rows of a list are shown, and prints how many are hidden. */
#pragma once

#include "cli/commands.h"

/* Returns how many rows to show in each list. This is the value of --limit if it was given.
 * Otherwise JSON and CSV show all rows, and text shows `text_rows`, or fewer if the report would
 * not fit on the terminal. The report contains `lists` such lists and `others` further lines. */
uint64_t mv_rows_wanted(const mv_cli *cli, uint64_t text_rows, uint32_t lists, uint32_t others);

/* Prints " 12 more; --limit 0 shows all" if the list is longer than the limit. */
void mv_rows_put_hidden(mv_out *out, uint64_t rows, uint64_t limit);
