/* The last frame as text, for a screen reader: its parts, and the place of a click on each.
 *
 *     tab <TAB> 1 <TAB> 812 <TAB> 503 <TAB> Reports
 *     legend <TAB> 0 <TAB> 901 <TAB> 120 <TAB> train.py:62 forward, 24.0 MiB, 9 %
 *     row <TAB> 0 <TAB> 400 <TAB> 540 <TAB> LEAK, train.py:62 forward, 2.00 MiB a step
 *     status <TAB> 0 <TAB> 0 <TAB> 0 <TAB> event 8,407 of 8,945
 *
 * A line for each part of the frame: its group, 1 if it is chosen, the pixel where a click acts,
 * and its texts as they are read. Groups: toolbar, picture, legend, tab, heading, row, status; status
 * has no place. Covered parts are omitted. */
#ifndef MV_SPOKEN_H
#define MV_SPOKEN_H

#include "view/chrome/chrome.h"

/* The lines, until the next frame; "" without a device, or when out of memory. O(parts x texts). */
const char *mv_view_spoken(mv_view *view);

#endif
