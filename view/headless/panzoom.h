/* The path of `view --bench panzoom`: what a user might do in the first seconds with a trace. The
 * inputs depend only on the number of frames.
 *
 *     0 %      overview
 *     5 %      dive: the wheel, above the peak, down to single events
 *     35 %     pan there, to both sides
 *     55 %     zoom out halfway, scrub the cursor
 *     75 %     search, highlight, isolate, clear
 *     85 %     out, to the overview again */
#pragma once

#include "view/frame/view.h"

/* Sends the view the inputs that come before frame `frame` of `frames`. */
void mv_panzoom_step(mv_view *view, uint32_t frame, uint32_t frames);
