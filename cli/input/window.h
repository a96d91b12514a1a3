/* The part of a trace selected by --from and --to. */
#ifndef MV_WINDOW_H
#define MV_WINDOW_H

#include "cli/commands.h"

/* The window of one device: from the first event at or after the X of --from to the event before
 * the X of --to (analyze/lives/position.h). It may be empty if another device has events in it.
 * False, with a message, if an X is invalid or no chosen device has an event in the window. */
bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window);

/* The same in a file other than the first; messages name that file. */
bool mv_window_find_in(const mv_cli *cli, const char *file, const mv_trace *trace, uint32_t device,
                       mv_window *window);

#endif
