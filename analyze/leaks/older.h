/* Old live blocks (mv_older in leaks.h): needs only lives and sites. */
#ifndef MV_OLDER_H
#define MV_OLDER_H

#include "analyze/leaks/leak_state.h"

/* Fills w->out->older. False when memory is out. O(n log n). */
bool mv_older_find(mv_leak_state *w);

#endif
