/* The rights that a command keeps once its files are known. */
#pragma once

#include "cli/commands.h"

/* Confines this process (cli/confine/confine.h) to the command's remaining work: writing its
 * outputs. Not `run`, which starts programs, and not a window, whose drivers need arbitrary calls.
 * MEMVIZ_CONFINE=off disables confinement. */
mv_confine_fn mv_confine_command;
