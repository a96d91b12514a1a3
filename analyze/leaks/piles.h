/* Blocks that pile up over several steps and are freed all at once, again and again: not a leak,
 * but part of the peak.
 *
 *     allocated       /|    /|    /|       blocks of one line, or of several lines that go together
 *                  / / |/ / |/ / | /
 *     steps        1 2 3 4 5 6 7 8 9
 *
 * A *bulk* is a group of four or more blocks of a line that are freed with no allocation in
 * between. They were born in steps that are two or more apart, and each outlived its own step. If
 * the stacks or the places of the frees show Python's garbage collector, reference cycles held the
 * blocks. Otherwise the program may have emptied a list. docs/leaks.md has the rules. */
#ifndef MV_PILES_H
#define MV_PILES_H

#include "analyze/leaks/leak_state.h"

/* Fills w->bulks and the piles of w->out; blocks that are freed again and again do not count as a
 * rise of the floor. Needs steps and floor. False when out of memory. O(n log n). */
bool mv_piles_find(mv_leak_state *w);

#endif
