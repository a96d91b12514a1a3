/* The lines of code that grew while the events of a bounded recording were folded: from the fact
 * folded_lines_D (capture/wire_folded.h), by culprit. */
#ifndef MV_LEAKS_FOLDED_LINES_H
#define MV_LEAKS_FOLDED_LINES_H

#include "analyze/leaks/leak_state.h"

/* Fills in out->grown; has_grown stays false where the fact is missing, damaged, or has too few
 * spans. False: memory is out. */
bool mv_folded_lines_find(mv_leak_state *w);

#endif
