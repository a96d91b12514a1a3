/* What is old and still alive (mv_older in leaks.h): needs lives and sites alone. */
#pragma once

#include "analyze/leaks/leak_state.h"

/* Fills w->out->older. False when memory is out. O(n log n). */
bool mv_older_find(mv_leak_state *w);
