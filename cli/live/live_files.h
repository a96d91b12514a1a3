/* Live files named on a command line, by their path or by their process. */
#ifndef MV_LIVE_FILES_H
#define MV_LIVE_FILES_H

#include "cli/commands.h"

/* Replaces the numbers of processes among the command's files by their live files, in `arena`. A file
 * with such a name comes first. False, with a message: a process has none; or, if they are to be
 * followed, a file is not a live file. */
bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed);

#endif
