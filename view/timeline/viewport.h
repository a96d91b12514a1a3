/* What part of the timeline is shown in a box of pixels, and how it moves.
 *
 *     event 8,407.5 ──► place on the clock (viz/core/timescale.h) ──► pixel
 *
 * Windows are kept in events, so that another clock shows the same events. Events are fractions
 * here: 8.5 is half way from where event 8 stands to where event 9 does. The heap after event E is
 * shown from where E stands to where E + 1 does. */
#ifndef MV_VIEWPORT_H
#define MV_VIEWPORT_H

#include "analyze/lives/position.h"
#include "viz/core/timescale.h"
#include "viz/scene/scene.h"

/* A window of events [from, to). */
typedef struct {
    double from, to;
} mv_stretch;

/* The place of a fraction of an event, and back: the last event that stands there. */
double mv_stretch_place(const mv_timescale *scale, double event);
double mv_stretch_event(const mv_timescale *scale, double place);

/* Put right where it is empty, reversed, outside of the trace or too narrow for anybody. */
mv_stretch mv_stretch_valid(const mv_timescale *scale, mv_stretch shown);

/* `factor` times as wide, with what is at `x` (a share of its width, 0 to 1) staying there as far
 * as the trace goes. */
mv_stretch mv_stretch_zoom(const mv_timescale *scale, mv_stretch shown, double x, double factor);

/* Moved by `by` of its own width, as far as the trace goes. */
mv_stretch mv_stretch_pan(const mv_timescale *scale, mv_stretch shown, double by);

/* With `margin` of its own width on both sides. */
mv_stretch mv_stretch_around(const mv_timescale *scale, mv_stretch shown, double margin);

/* On the way from one to the other: `share` 0 to 1. What both show at the same pixel stays there.
 */
mv_stretch mv_stretch_between(const mv_timescale *scale, mv_stretch from, mv_stretch to,
                              double share);

typedef struct {
    const mv_timescale *scale;
    mv_box box;   /* of the plot; whole pixels */
    double x, dx; /* place on the clock at the left edge, and of a pixel */
    double y, dy; /* bytes at the lower edge, and of a pixel */
} mv_viewport;

mv_viewport mv_viewport_make(const mv_timescale *scale, mv_box box, mv_stretch shown, double y_from,
                             double y_to);

float mv_viewport_x(const mv_viewport *v, double event);
float mv_viewport_y(const mv_viewport *v, double bytes);
double mv_viewport_event(const mv_viewport *v, float x);
double mv_viewport_bytes(const mv_viewport *v, float y); /* 0 or more */

/* The moment that is shown at x, as if every moment could be seen; see mv_timescale_moment. */
uint32_t mv_viewport_moment(const mv_viewport *v, float x);

/* The moments [first, end) of a pixel column: those of events that stand in it, and where none
 * does, the one that lasts. `first` may be MV_BEFORE. All columns have all events between them. */
mv_window mv_viewport_column(const mv_viewport *v, uint32_t column);

/* The events [first, end) that are shown, `first` from the one that lasts at the left edge on. */
mv_window mv_viewport_events(const mv_viewport *v);

/* A round number of bytes that `most` fits below, with some room: the same for most that are near,
 * so that panning does not change the height all the time. */
double mv_viewport_top(uint64_t most);

#endif
