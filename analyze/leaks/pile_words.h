/* Writes sentences about piles (piles.h). */
#pragma once

#include "analyze/leaks/leaks.h"

/* Sets the fields every, evidence and advice; the strings are allocated in `arena`. `kinds` comes
 * from mv_frame_kinds. Returns false when out of memory. */
bool mv_pile_report(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds, mv_pile *pile);

/* Writes "at the peak 780 MiB of 3.00 GiB, 25 %; freed all at once every 40 steps, 7 times",
 * truncated to fit. Returns `out`. */
const char *mv_pile_text(const mv_pile *pile, char *out, size_t size);

const char *mv_pile_cause_name(mv_pile_cause cause); /* "reference_cycle", "unknown" */
