/* Finds parts of a scene that are hidden because large opaque rectangles and images cover them.
 * Drawing in software spends most of a frame on pixels, and scenes often contain backgrounds and
 * coarse pictures that later shapes cover. */
#pragma once

#include "viz/scene/pixel_rect.h"
#include "viz/scene/scene.h"

enum { MV_MOST_COVERS = 64, MV_MOST_PIECES = 64 };

typedef struct {
    uint32_t shape;     /* index of the shape in the scene */
    mv_pixel_rect rect; /* pixels that the shape covers completely */
} mv_cover;

typedef struct {
    uint32_t count;
    mv_cover all[MV_MOST_COVERS]; /* covers in scene order; if a scene has too many, only the first
                                     ones */
} mv_occlusion;

/* Adds the shape, which is visible in `box`, if it is a cover. Shapes must be added in scene order.
 * scale_x and scale_y are the number of pixels per pixel of the scene. */
void mv_occlusion_add(mv_occlusion *occlusion, const mv_scene *scene, uint32_t shape,
                      mv_pixel_rect box, double scale_x, double scale_y);

/* Finds the parts of a rectangle that are not hidden by any cover after `shape` in the scene. If
 * `shape` is MV_BACKGROUND, all covers count. Returns the number of parts. */
#define MV_BACKGROUND UINT32_MAX
uint32_t mv_occlusion_rest(const mv_occlusion *occlusion, uint32_t shape, mv_pixel_rect rect,
                           mv_pixel_rect pieces[MV_MOST_PIECES]);
