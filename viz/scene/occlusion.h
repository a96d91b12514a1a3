/* Finds hidden parts of a scene, covered by its large opaque rectangles and images. Software
 * drawing spends most of a frame on pixels, and a scene paints backgrounds and coarse pictures that
 * later shapes cover. */
#ifndef MV_OCCLUSION_H
#define MV_OCCLUSION_H

#include "viz/scene/pixel_rect.h"
#include "viz/scene/scene.h"

enum { MV_MOST_COVERS = 64, MV_MOST_PIECES = 64 };

typedef struct {
    uint32_t shape;     /* in the scene */
    mv_pixel_rect rect; /* pixels that it covers completely */
} mv_cover;

typedef struct {
    uint32_t count;
    mv_cover all[MV_MOST_COVERS]; /* in scene order; only the first ones if there are more */
} mv_occlusion;

/* Adds the shape, which is visible in `box`, if it is a cover. Shapes come in scene order. scale_x,
 * scale_y: pixels for one pixel of the scene. */
void mv_occlusion_add(mv_occlusion *occlusion, const mv_scene *scene, uint32_t shape,
                      mv_pixel_rect box, double scale_x, double scale_y);

/* The parts of a rectangle that no cover after `shape` in the scene hides (with MV_BACKGROUND: no
 * cover at all). Returns how many. */
#define MV_BACKGROUND UINT32_MAX
uint32_t mv_occlusion_rest(const mv_occlusion *occlusion, uint32_t shape, mv_pixel_rect rect,
                           mv_pixel_rect pieces[MV_MOST_PIECES]);

#endif
