/* Parses the expression of --filter. */
#ifndef MV_FILTER_OPTION_H
#define MV_FILTER_OPTION_H

#include "analyze/filter/filter.h"
#include "cli/commands.h"

/* Parses the expression. Without --filter, the filter has no terms. If the expression is wrong,
 * prints a message and returns false, which is wrong usage. */
bool mv_filter_option_read(mv_cli *cli, mv_filter *out);

#endif
