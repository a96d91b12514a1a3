/* The path of `view --bench panzoom`: a user's first seconds with a trace, with the same inputs for
 * the same number of frames.
 *
 *     0 %      overview
 *     5 %      dive: the wheel, above the peak, down to single events
 *     35 %     pan there, to both sides
 *     55 %     zoom out halfway, scrub the cursor
 *     75 %     search, highlight, isolate, clear
 *     85 %     out, to the overview again */
#ifndef MV_PANZOOM_H
#define MV_PANZOOM_H

#include "view/frame/view.h"

/* The inputs before frame `frame` of `frames`. */
void mv_panzoom_step(mv_view *view, uint32_t frame, uint32_t frames);

#endif
