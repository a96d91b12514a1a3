/* Runs the program: parses a command line and executes its command. It prints its own messages,
 * frees its resources and does not exit, so that a process can run it repeatedly, as mcp, the web
 * page and fuzz targets do. */
#pragma once

#include "cli/commands.h"

struct mv_kept_files; /* cli/input/kept_files.h */

/* Runs the command line that starts at argv[1] and returns the exit status. May reorder the words.
 * `kept` contains files that earlier commands have read; NULL: none. */
int mv_program(int argc, char **argv, struct mv_kept_files *kept);

/* Runs the program in a process that does nothing else, so commands that read files may confine the
 * process. */
int mv_program_alone(int argc, char **argv, mv_confine_fn *confine);
