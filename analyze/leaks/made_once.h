/* Blocks that lines make once or twice: buffers, copies, the best result so far. Each raises the
 * floor, and several of them may look like a trend, but none of them grows. */
#ifndef MV_MADE_ONCE_H
#define MV_MADE_ONCE_H

#include "analyze/leaks/leak_state.h"

/* Sets w->out->floor.rises without them. Needs floor. False when memory is out. O(n log n). */
bool mv_made_once_explain(mv_leak_state *w);

#endif
