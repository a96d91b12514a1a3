/* The part of a trace that --from and --to leave. */
#ifndef MV_WINDOW_H
#define MV_WINDOW_H

#include "analyze/lives/position.h"
#include "cli/commands.h"

/* The window of one device, which begins at the first event at or behind X of --from and ends
 * before that of --to (analyze/lives/position.h). It may be empty where another device has events
 * in it. False, with a message, when an X means nothing, or no device that was asked for has an
 * event there. */
bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window);

#endif
