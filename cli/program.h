/* The program: from the command line to a command. It prints its messages, frees its resources and
 * does not exit, so a process can run it again, as mcp, the page and fuzz targets do. */
#ifndef MV_PROGRAM_H
#define MV_PROGRAM_H

#include "cli/commands.h"

struct mv_kept_files; /* cli/input/kept_files.h */

/* Runs the command line that starts at argv[1], whose words it may reorder, and returns the exit
 * status. `kept` contains files that earlier commands have read; NULL: none. */
int mv_program(int argc, char **argv, struct mv_kept_files *kept);

/* Runs the program in a process that does nothing else: commands that read files confine it. */
int mv_program_alone(int argc, char **argv, mv_confine_fn *confine);

#endif
