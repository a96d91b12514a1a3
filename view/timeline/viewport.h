/* The part of the timeline that is shown in a box of pixels, and how it moves.
 *
 *     event 8,407.5 ──► position on the clock (viz/core/timescale.h) ──► pixel
 *
 * Windows are stored as event numbers, so that another clock shows the same events. Event numbers
 * may have fractions here: 8.5 is halfway between the positions of events 8 and 9. The heap after
 * event E is shown from the position of E to the position of E + 1. */
#pragma once

#include "analyze/lives/position.h"
#include "viz/core/timescale.h"
#include "viz/scene/scene.h"

/* A window of events [from, to). */
typedef struct {
    double from, to;
} mv_stretch;

/* Convert an event number with a fraction to a position on the clock, and back. If several events
 * are at the position, the last one is returned. */
double mv_stretch_place(const mv_timescale *scale, double event);
double mv_stretch_event(const mv_timescale *scale, double place);

/* Returns the window, corrected if it is empty, reversed, outside the trace or too narrow. */
mv_stretch mv_stretch_valid(const mv_timescale *scale, mv_stretch shown);

/* Returns a window that is `factor` times as wide. The event at `x`, a fraction of the width from 0
 * to 1, stays at the same pixel, as long as the window stays within the trace. */
mv_stretch mv_stretch_zoom(const mv_timescale *scale, mv_stretch shown, double x, double factor);

/* Returns the window moved by `by` times its width, within the limits of the trace. */
mv_stretch mv_stretch_pan(const mv_timescale *scale, mv_stretch shown, double by);

/* Returns the window with a margin of `margin` times its width on both sides. */
mv_stretch mv_stretch_around(const mv_timescale *scale, mv_stretch shown, double margin);

/* Returns a window between the two windows; `share` is from 0 to 1. An event that is at the same
 * pixel in both windows stays there. */
mv_stretch mv_stretch_between(const mv_timescale *scale, mv_stretch from, mv_stretch to,
                              double share);

typedef struct {
    const mv_timescale *scale;
    mv_box box;   /* box of the plot, in whole pixels */
    double x, dx; /* position of the left edge on the clock, and width of a pixel */
    double y, dy; /* bytes at the lower edge, and height of a pixel in bytes */
} mv_viewport;

mv_viewport mv_viewport_make(const mv_timescale *scale, mv_box box, mv_stretch shown, double y_from,
                             double y_to);

float mv_viewport_x(const mv_viewport *v, double event);
float mv_viewport_y(const mv_viewport *v, double bytes);
double mv_viewport_event(const mv_viewport *v, float x);

/* Returns the moment shown at x, like mv_timescale_moment, as if every moment were visible. */
uint32_t mv_viewport_moment(const mv_viewport *v, float x);

/* Returns the moments [first, end) of a pixel column: the moments after each event in it or, if
 * there are none, the moment that lasts throughout the column. `first` may be MV_BEFORE. All
 * columns together contain all events. */
mv_window mv_viewport_column(const mv_viewport *v, uint32_t column);

/* Returns the left border of a column as an event number with a fraction. Without events, the
 * picture is one event wide. */
double mv_viewport_border(const mv_viewport *v, uint32_t column);

/* Returns the events [first, end) that are shown. The heap after `first` is shown at the left
 * edge. */
mv_window mv_viewport_events(const mv_viewport *v);

/* Returns a round number of bytes above `most`, with some room to spare. It is the same for similar
 * values, so that panning does not keep changing the height. */
double mv_viewport_top(uint64_t most);
