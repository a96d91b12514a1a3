/* Finds the part of a trace that --from and --to select. */
#pragma once

#include "cli/commands.h"

/* Finds the window on one device: from the first event at or after the X of --from to the event
 * before the X of --to (analyze/lives/position.h). The window may be empty if a different device
 * has events in it. Returns false, with a message, if an X is invalid or no selected device has an
 * event in the window. */
bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window);

/* Like mv_window_find, but for a file other than the first. Messages name that file. */
bool mv_window_find_in(const mv_cli *cli, const char *file, const mv_trace *trace, uint32_t device,
                       mv_window *window);
