/* Decides which rights a command keeps once its files are known. */
#ifndef MV_CONFINE_PLACES_H
#define MV_CONFINE_PLACES_H

#include "cli/commands.h"

/* Confines this process (cli/confine/confine.h), so that it can only write its command's outputs.
 * `run` is not confined because it starts programs, and neither is a window, because its drivers
 * need arbitrary system calls. MEMVIZ_CONFINE=off disables confinement. */
mv_confine_fn mv_confine_command;

#endif
