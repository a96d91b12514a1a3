/* The leak report in one line, for the title of a picture. */
#ifndef MV_VERDICT_H
#define MV_VERDICT_H

#include "analyze/leaks/leaks.h"

/* "leak: train.py:62 forward keeps 2.00 MiB a step, 48.0 MiB at the end", or why there is none,
 * and what the step that was under way holds.
 * `kinds` from mv_frame_kinds, or NULL. Cut to fit; returns `out`. */
const char *mv_verdict_line(const mv_trace *trace, const uint8_t *kinds, const mv_leaks *leaks,
                            char *out, size_t size);

#endif
