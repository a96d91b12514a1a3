/* What a command may still do once its files are known. */
#ifndef MV_CONFINE_PLACES_H
#define MV_CONFINE_PLACES_H

#include "cli/commands.h"

/* Confines this process (cli/confine/confine.h) to what is left for the command to do: it writes
 * its outputs. Not `run`, which starts programs, and not a window, whose drivers do as they like.
 * MEMVIZ_CONFINE=off confines nothing. */
mv_confine_fn mv_confine_command;

#endif
