/* The part of the timeline shown in a box of pixels, and its movements.
 *
 *     event 8,407.5 ──► place on the clock (viz/core/timescale.h) ──► pixel
 *
 * Windows are kept in events, so that another clock shows the same events. Events are fractions
 * here: 8.5 is halfway between the places of events 8 and 9. The heap after event E is shown from
 * the place of E to the place of E + 1. */
#ifndef MV_VIEWPORT_H
#define MV_VIEWPORT_H

#include "analyze/lives/position.h"
#include "viz/core/timescale.h"
#include "viz/scene/scene.h"

/* A window of events [from, to). */
typedef struct {
    double from, to;
} mv_stretch;

/* The place of a fraction of an event, and back: the last event at that place. */
double mv_stretch_place(const mv_timescale *scale, double event);
double mv_stretch_event(const mv_timescale *scale, double place);

/* Corrects a window that is empty, reversed, outside the trace or too narrow. */
mv_stretch mv_stretch_valid(const mv_timescale *scale, mv_stretch shown);

/* `factor` times as wide; the event at `x` (a share of its width, 0 to 1) stays there, within the
 * limits of the trace. */
mv_stretch mv_stretch_zoom(const mv_timescale *scale, mv_stretch shown, double x, double factor);

/* Moved by `by` times its width, within the limits of the trace. */
mv_stretch mv_stretch_pan(const mv_timescale *scale, mv_stretch shown, double by);

/* With a margin of `margin` times its width on both sides. */
mv_stretch mv_stretch_around(const mv_timescale *scale, mv_stretch shown, double margin);

/* Between the two windows: `share` 0 to 1. An event that is at the same pixel in both windows stays
 * there. */
mv_stretch mv_stretch_between(const mv_timescale *scale, mv_stretch from, mv_stretch to,
                              double share);

typedef struct {
    const mv_timescale *scale;
    mv_box box;   /* of the plot; whole pixels */
    double x, dx; /* place on the clock at the left edge, and width of a pixel */
    double y, dy; /* bytes at the lower edge, and height of a pixel */
} mv_viewport;

mv_viewport mv_viewport_make(const mv_timescale *scale, mv_box box, mv_stretch shown, double y_from,
                             double y_to);

float mv_viewport_x(const mv_viewport *v, double event);
float mv_viewport_y(const mv_viewport *v, double bytes);
double mv_viewport_event(const mv_viewport *v, float x);

/* The moment shown at x, as if every moment were visible; see mv_timescale_moment. */
uint32_t mv_viewport_moment(const mv_viewport *v, float x);

/* The moments [first, end) of a pixel column: after the events in it, or if there are none, the
 * moment that lasts. `first` may be MV_BEFORE. All columns together contain all events. */
mv_window mv_viewport_column(const mv_viewport *v, uint32_t column);

/* The left border of a column as a place in events. Without events the picture is one event
 * wide. */
double mv_viewport_border(const mv_viewport *v, uint32_t column);

/* The events [first, end) shown; `first` is in effect at the left edge. */
mv_window mv_viewport_events(const mv_viewport *v);

/* A round number of bytes above `most`, with some room: the same for similar values, so that
 * panning does not keep changing the height. */
double mv_viewport_top(uint64_t most);

#endif
