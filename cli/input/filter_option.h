/* The words of --filter. */
#ifndef MV_FILTER_OPTION_H
#define MV_FILTER_OPTION_H

#include "analyze/filter/filter.h"
#include "cli/commands.h"

/* Reads them, if they were given: else the filter has no term. False, with a message, when they
 * are wrong: that is wrong usage. To be released by mv_filter_release in any case. */
bool mv_filter_option_read(mv_cli *cli, mv_filter *out);

#endif
