/* Rejects an output that is also an input, before anything is read or written. */
#pragma once

#include "cli/commands.h"

/* Whether an output on the command line (-o, --shot, the second file of convert, standard output)
 * is also a file that the command reads, possibly under another name. If so, prints a message. */
bool mv_overwrite_is_asked(const mv_command *command, const mv_options *options);

/* Like mv_overwrite_is_asked, for an output whose name the command itself chose. */
bool mv_overwrite_by(const mv_cli *cli, const char *output);
