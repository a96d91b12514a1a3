/* The area of a stroke, which a pen of some width covers when it is drawn along a line. Corners are
 * mitred as in SVG (and cut where the tip would extend farther than twice the width), and ends are
 * cut off straight. */
#pragma once

#include "viz/scene/coverage.h"
#include "viz/scene/scene.h"

typedef struct {
    double width; /* width, in the units of the points */
    bool is_closed;
    bool is_dashed; /* dashes are 7 units long, and the gaps between them 4 */
} mv_stroke;

/* Adds the area of a stroke. `points` are in pixels of the picture. */
void mv_stroke_add(mv_coverage *out, const mv_point *points, uint32_t count,
                   const mv_stroke *stroke);

/* Returns the nearest mv_coverage unit, clamped to MV_FAR_PIXELS; 0 for NaN. */
int32_t mv_stroke_unit(double pixels);
