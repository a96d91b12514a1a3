/* Decides which rights a command keeps once its files are known. */
#pragma once

#include "cli/commands.h"

/* Confines this process (cli/confine/confine.h), so that it can only write its command's outputs.
 * `run` is not confined because it starts programs, and neither is a window, because its drivers
 * need arbitrary system calls. MEMVIZ_CONFINE=off disables confinement. */
mv_confine_fn mv_confine_command;
