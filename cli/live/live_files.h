/* Live files named on a command line, by their path or by their process. */
#ifndef MV_LIVE_FILES_H
#define MV_LIVE_FILES_H

#include "cli/commands.h"

/* Replaces process IDs among the command's files with the live files of these processes, in
 * `arena`. A file with such a name takes precedence. False, with a message, if a process has no
 * live file, or, with `is_followed`, if a file is not a live file. */
bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed);

#endif
