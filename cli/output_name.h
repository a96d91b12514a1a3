/* The name of a report's file: an ending that promises something else than what is written misleads
 * whoever opens it. */
#ifndef MV_OUTPUT_NAME_H
#define MV_OUTPUT_NAME_H

#include "cli/commands.h"

/* Whether -o, if it was given, names a file as the command writes it: a report is no page, picture
 * or folded stacks unless the command says so, .json with --json alone, and .csv with --csv.
 * Commands that write a file of their own choose by its name themselves. False: with a message. */
bool mv_output_name_fits(const mv_command *command, const mv_options *options);

#endif
