/* The rights that a command keeps once its files are known. */
#ifndef MV_CONFINE_PLACES_H
#define MV_CONFINE_PLACES_H

#include "cli/commands.h"

/* Confines this process (cli/confine/confine.h) to the command's remaining work: writing its
 * outputs. Exceptions: `run`, which starts programs, and a window, whose drivers need arbitrary
 * calls. MEMVIZ_CONFINE=off disables confinement. */
mv_confine_fn mv_confine_command;

#endif
