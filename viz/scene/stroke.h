/* The area of a stroke: a pen of some width drawn along a line. Corners are mitred as in SVG (cut
 * where the tip would extend further than twice the width), ends are cut off straight. */
#ifndef MV_STROKE_H
#define MV_STROKE_H

#include "viz/scene/coverage.h"
#include "viz/scene/scene.h"

typedef struct {
    double width; /* in the units of the points */
    bool is_closed;
    bool is_dashed; /* 7 drawn, 4 not */
} mv_stroke;

/* `points` are in the picture's pixels. */
void mv_stroke_add(mv_coverage *out, const mv_point *points, uint32_t count,
                   const mv_stroke *stroke);

/* The nearest mv_coverage unit, clamped to MV_FAR_PIXELS; 0 for NaN. */
int32_t mv_stroke_unit(double pixels);

#endif
