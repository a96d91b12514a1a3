/* The name of a report's file: a suffix that does not match the contents misleads its readers. */
#ifndef MV_OUTPUT_NAME_H
#define MV_OUTPUT_NAME_H

#include "cli/commands.h"

/* Whether the name in -o, if given, matches the output: a report is not a page, picture or folded
 * stacks unless the command supports that, .json needs --json, and .csv needs --csv. Commands that
 * write other files choose the format by the name themselves. False: with a message. */
bool mv_output_name_fits(const mv_command *command, const mv_options *options);

#endif
