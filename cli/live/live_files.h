/* Finds the live files that a command line names, by path or by process. */
#pragma once

#include "cli/commands.h"

/* Replaces process IDs among the command's files with these processes' live files, whose names are
 * allocated in `arena`. If a file with such a name exists, it takes precedence over the process.
 * Returns false, with a message, if a process has no live file, or if `is_followed` is set and a
 * file is not a live file. */
bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed);
