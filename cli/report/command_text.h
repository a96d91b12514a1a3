/* Command lines that a report names, for people and scripts to run. */
#ifndef MV_COMMAND_TEXT_H
#define MV_COMMAND_TEXT_H

#include "base/arena.h"

/* "memviz leaks --device 1 'my run.pickle'": quoted for a shell if needed. `options` is "" or
 * "--device 1"; `command` "" is the first look at a file. NULL if memory runs out. */
const char *mv_command_text(mv_arena *arena, const char *command, const char *options,
                            const char *path);

#endif
