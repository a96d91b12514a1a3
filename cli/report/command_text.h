/* Builds command lines that a report suggests, for people and scripts to run. */
#pragma once

#include "base/arena.h"

/* Returns a command line such as "memviz leaks --device 1 'my run.pickle'", quoted for a shell
 * where needed. `options` is "" or, for example, "--device 1". If `command` is "", the command line
 * is `memviz FILE`. Returns NULL if memory runs out. */
const char *mv_command_text(mv_arena *arena, const char *command, const char *options,
                            const char *path);
