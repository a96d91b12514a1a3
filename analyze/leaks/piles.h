/* Finds blocks that pile up over several steps and are freed all at once, again and again. They are
 * not a leak, but they are part of the peak.
 *
 *     allocated       /|    /|    /|       blocks of one line, or of several lines
 *                  / / |/ / |/ / | /       whose blocks are freed together
 *     steps        1 2 3 4 5 6 7 8 9
 *
 * A *bulk* is a group of four or more blocks of a line that are freed with no allocation in
 * between. They must come from steps that are at least two apart, and each block must have outlived
 * its own step. If the stacks of the frees, or the places where the blocks were freed, show that
 * Python's garbage collector ran, the blocks were held by reference cycles. Otherwise the program
 * may have emptied a list. docs/leaks.md has the rules. */
#pragma once

#include "analyze/leaks/leak_state.h"

/* Fills w->bulks and the piles of w->out. Blocks that are freed again and again are marked as
 * explained, so they do not count as a rise of the floor. Requires that steps and floor are set.
 * Returns false when out of memory. O(n log n). */
bool mv_piles_find(mv_leak_state *w);
