/* A command's picture as a page (viz/html/html.h): what opens in a browser where no viewer is at
 * hand.
 *
 *     if (mv_page_is_named(cli->options.output))
 *         return mv_page_run(cli, MV_PAGE_STATE, "end"); */
#ifndef MV_PAGE_H
#define MV_PAGE_H

#include "cli/commands.h"
#include "viz/html/html.h"

/* Whether a page is written to what is named so. */
bool mv_page_is_named(const char *path);

/* Reads the file, writes the page of its devices to -o or FILE.html, and reports. It opens on
 * `view`, at the moment of --at or, where that is not given, `moment`; with moment NULL the view
 * is one of a window of time: --at is wrong usage then. Returns the exit status. */
int mv_page_run(mv_cli *cli, mv_page_view view, const char *moment);

#endif
