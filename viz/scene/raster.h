/* Back end: draws a scene as pixels, for files, for the window and for the browser.
 *
 * Areas and strokes are drawn with exact coverage (viz/scene/coverage.h), and letters as cached
 * masks (viz/scene/letters.h). Everything is blended in integers, so the same scene and font give
 * the same bytes on every machine. Corners of shapes marked as crisp are rounded to whole pixels,
 * so that there is no seam between neighbours.
 *
 * A raster that stays open draws only the differences from the previous scene (viz/scene/damage.h),
 * and nothing that a later opaque shape hides (viz/scene/occlusion.h). The picture is the same as a
 * complete redraw, except that slanted edges at the border of a redrawn part may differ by up to 2
 * of 255. */
#pragma once

#include "viz/scene/damage.h"
#include "viz/scene/text_raster.h"

#define MV_IMAGE_MOST 16384 /* maximum width and height, in pixels */

typedef enum {
    MV_PIXELS_RGBA, /* the first byte is red, as in PNG and in a browser's canvas */
    MV_PIXELS_BGRA  /* the first byte is blue, as on most displays */
} mv_pixel_order;

typedef struct {
    uint32_t width, height;
    uint8_t *pixels; /* [height][width][4] colours premultiplied with alpha, which is the last
                        byte */
} mv_image;

typedef struct {
    mv_font_choice font;
    mv_pixel_order order;
} mv_raster_opts;

typedef struct mv_raster mv_raster;

/* Returns NULL when out of memory. The raster's memory counts against `budget`. */
mv_raster *mv_raster_open(mv_budget *budget, const mv_raster_opts *opts);
void mv_raster_close(mv_raster *raster); /* `raster` may be NULL */

/* What was drawn for a scene. */
typedef struct {
    mv_image image;             /* the picture, which the raster owns; valid until the next call */
    uint32_t count;             /* number of rectangles drawn; 0: the scene did not change */
    const mv_pixel_rect *drawn; /* [count] rectangles that do not overlap */
} mv_raster_frame;

/* Draws the scene at its shown size (viz/scene/scene.h), which must be at least one pixel in each
 * direction. Returns MV_LIMIT if the size is more than MV_IMAGE_MOST. The time is proportional to
 * the number of pixels that differ, times the number of visible shapes that cover them, plus the
 * number of all shapes and points. */
mv_code mv_raster_next(mv_raster *raster, const mv_scene *scene, mv_raster_frame *out, mv_err *err);

/* Draws a single picture. `arena` keeps the pixels. */
mv_code mv_raster_draw(mv_arena *arena, const mv_scene *scene, const mv_raster_opts *opts,
                       mv_image *out, mv_err *err);

/* Copies pixels of a scene to a separate image. */
mv_code mv_image_of_pixels(mv_arena *arena, const mv_pixels *from, mv_image *out, mv_err *err);
