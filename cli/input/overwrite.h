/* An output that is also an input is rejected before anything is read or written. */
#ifndef MV_OVERWRITE_H
#define MV_OVERWRITE_H

#include "cli/commands.h"

/* Whether an output of the command line (-o, --shot, the second file of convert, standard output)
 * is a file that the command reads, even under another name. Then prints a message. */
bool mv_overwrite_is_asked(const mv_command *command, const mv_options *options);

/* Checks an output whose name the command itself chose. */
bool mv_overwrite_by(const mv_cli *cli, const char *output);

#endif
