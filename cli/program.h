/* The program: from the command line to a command. It prints its messages, frees what it took and
 * does not exit, so a process can run it again: mcp does, the page, and fuzz targets. */
#ifndef MV_PROGRAM_H
#define MV_PROGRAM_H

#include "cli/commands.h"

struct mv_kept_files; /* cli/input/kept_files.h */

/* Runs the command line argv[1] and on, whose words it may reorder, and returns the exit status.
 * `kept` has files that earlier commands have read; NULL: there are none. */
int mv_program(int argc, char **argv, struct mv_kept_files *kept);

/* The same for a process that does nothing else: commands that read files are confined by it. */
int mv_program_alone(int argc, char **argv, mv_confine_fn *confine);

#endif
