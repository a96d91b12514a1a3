/* The last frame as text for a screen reader: its parts, and where a click activates each part.
 *
 *     tab <TAB> 1 <TAB> 812 <TAB> 503 <TAB> Reports
 *     legend <TAB> 0 <TAB> 901 <TAB> 120 <TAB> train.py:62 forward, 24.0 MiB, 9 %
 *     row <TAB> 0 <TAB> 400 <TAB> 540 <TAB> LEAK, train.py:62 forward, 2.00 MiB a step
 *     status <TAB> 0 <TAB> 0 <TAB> 0 <TAB> event 8,407 of 8,945
 *
 * There is one line for each part of the frame. It contains the part's group, 1 if the part is
 * selected, the pixel to click, and the strings of the part in reading order. The groups are
 * toolbar, picture, legend, tab, heading, row and status. A status cannot be clicked. Covered parts
 * are omitted. */
#pragma once

#include "view/chrome/chrome.h"

/* Returns the lines, which stay valid until the next frame; "" without a device, or when out of
 * memory. O(parts x strings). */
const char *mv_view_spoken(mv_view *view);
