/* Back end: a scene as pixels, for files, for the window and for the browser.
 *
 * Areas and strokes are drawn with exact coverage (viz/scene/coverage.h), letters as kept masks
 * (viz/scene/letters.h), and everything is blended in integers: the same scene and font give the
 * same bytes on every machine. Corners of shapes marked crisp are rounded to whole pixels, so that
 * there is no seam between neighbours.
 *
 * A raster that stays open draws only the differences from the previous scene (viz/scene/damage.h),
 * and nothing that a later opaque shape hides (viz/scene/occlusion.h). The picture equals a
 * complete redraw, except for slanted edges where a part begins: those are within 2 of 255. */
#ifndef MV_RASTER_H
#define MV_RASTER_H

#include "viz/scene/damage.h"
#include "viz/scene/text_raster.h"

#define MV_IMAGE_MOST 16384 /* pixels on a side */

/* Hatching, along x + y: lines 1.2 wide, 10 apart. Their coverage of a pixel, of 255, depends only
 * on x + y. */
#define MV_HATCH_PERIOD 10
extern const uint8_t mv_hatch[MV_HATCH_PERIOD];

typedef enum {
    MV_PIXELS_RGBA, /* the first byte is red: PNG, a browser's canvas */
    MV_PIXELS_BGRA  /* the first byte is blue: most displays */
} mv_pixel_order;

typedef struct {
    uint32_t width, height;
    uint8_t *pixels; /* [height][width][4] premultiplied colours, alpha last */
} mv_image;

typedef struct {
    mv_font_choice font;
    mv_pixel_order order;
} mv_raster_opts;

typedef struct mv_raster mv_raster;

/* NULL when out of memory. The raster's memory counts against `budget`. */
mv_raster *mv_raster_open(mv_budget *budget, const mv_raster_opts *opts);
void mv_raster_close(mv_raster *raster); /* NULL is allowed */

/* The result of drawing a scene. */
typedef struct {
    mv_image image;             /* owned by the raster; valid until its next call */
    uint32_t count;             /* number of rectangles drawn; 0: no differences */
    const mv_pixel_rect *drawn; /* [count] disjoint */
} mv_raster_frame;

/* Draws the scene at its shown size (viz/scene/scene.h), at least one pixel and at most
 * MV_IMAGE_MOST on a side: MV_LIMIT if larger. Time: the pixels that differ, times the visible
 * shapes covering them, and all shapes with their points once. */
mv_code mv_raster_next(mv_raster *raster, const mv_scene *scene, mv_raster_frame *out, mv_err *err);

/* Draws a single picture; `arena` keeps the pixels. */
mv_code mv_raster_draw(mv_arena *arena, const mv_scene *scene, const mv_raster_opts *opts,
                       mv_image *out, mv_err *err);

/* Pixels of a scene, as a separate image. */
mv_code mv_image_of_pixels(mv_arena *arena, const mv_pixels *from, mv_image *out, mv_err *err);

#endif
