/* Parses the expression of --filter. */
#pragma once

#include "analyze/filter/filter.h"
#include "cli/commands.h"

/* Parses the expression. Without --filter, the filter has no terms. If the expression is wrong,
 * prints a message and returns false, which is wrong usage. */
bool mv_filter_option_read(mv_cli *cli, mv_filter *out);
