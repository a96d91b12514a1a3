/* Back end: a scene as pixels.
 *
 * Areas, strokes and letters are drawn with exact coverage (viz/scene/coverage.h) and blended in
 * whole numbers: the same scene and font give the same bytes on every machine. Corners of shapes
 * marked crisp are moved to whole pixels instead, so that neighbours leave no seam. */
#ifndef MV_RASTER_H
#define MV_RASTER_H

#include "viz/scene/scene.h"
#include "viz/scene/text_raster.h"

#define MV_IMAGE_MOST 16384 /* pixels to a side */

/* Hatching, along x + y: lines 1.2 wide, 10 apart. How much of a pixel they cover, of 255, depends
 * only on x + y. */
#define MV_HATCH_PERIOD 10
extern const uint8_t mv_hatch[MV_HATCH_PERIOD];

typedef struct {
    uint32_t width, height;
    uint8_t *pixels; /* [height][width][4] red, green, blue, alpha; colours multiplied by alpha */
} mv_image;

typedef struct {
    mv_font_choice font;
} mv_raster_opts;

/* Pixels of a scene, as an image of their own. */
mv_code mv_image_of_pixels(mv_arena *arena, const mv_pixels *from, mv_image *out, mv_err *err);

/* The scene at the size it is shown (viz/scene/scene.h), at least one pixel and at most
 * MV_IMAGE_MOST to a side: MV_LIMIT if larger. `arena` keeps the pixels. Time: the painted pixels,
 * each as often as shapes cover it. */
mv_code mv_raster_draw(mv_arena *arena, const mv_scene *scene, const mv_raster_opts *opts,
                       mv_image *out, mv_err *err);

#endif
