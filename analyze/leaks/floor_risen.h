/* A floor that has risen although no line is blamed for it: the line that holds more than
 * before. */
#ifndef MV_FLOOR_RISEN_H
#define MV_FLOOR_RISEN_H

#include "analyze/leaks/leak_state.h"

/* "the floor rises to the end, by 1.93 GiB over 298 steps, of which mm.py:31 to_device holds 1.93
 * GiB". Needs floor.steps. In w->arena; NULL when memory is out. O(n log n). */
const char *mv_floor_risen_why(mv_leak_state *w);

#endif
