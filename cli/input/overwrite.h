/* Outputs that are inputs: refused before anything is read or written. */
#ifndef MV_OVERWRITE_H
#define MV_OVERWRITE_H

#include "cli/commands.h"

/* Whether what the command line names as outputs (-o, --shot, the second file of convert, standard
 * output) is one of the files that the command reads, under whatever name; the message is out
 * then. */
bool mv_overwrite_is_asked(const mv_command *command, const mv_options *options);

/* The same for one output whose name the command makes itself. */
bool mv_overwrite_by(const mv_cli *cli, const char *output);

#endif
